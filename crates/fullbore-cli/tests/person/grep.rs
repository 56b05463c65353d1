//! `grep` and `rg`: the same bytes and the same exit status, over difficult files. The tests are skipped without an
//! `rg` of version 15 or later in `FULLBORE_RG` or the path.

use crate::peer::Pair;
use crate::support::*;

/// Pseudo-random numbers, the same in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % limit
    }
}

fn text(numbers: &mut Numbers, lines: usize, end: &[u8]) -> Vec<u8> {
    let words =
        ["needle", "Needle", "hay", "stack", "\u{e9}t\u{e9}", "x", "foo(bar)", "running fast", "1234"];
    let mut text = Vec::new();
    for _ in 0..lines {
        for word in 0..numbers.below(8) {
            text.extend_from_slice(if word > 0 { b" " } else { b"" });
            text.extend_from_slice(words[numbers.below(words.len())].as_bytes());
        }
        text.extend_from_slice(end);
    }
    text
}

fn utf_16(text: &str) -> Vec<u8> {
    [0xfeff].into_iter().chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect()
}

/// A directory of difficult files.
fn corpus() -> TestDir {
    let directory = TestDir::new();
    let numbers = &mut Numbers(5);
    let write = |name: &str, parts: &[&[u8]]| {
        let path = directory.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, parts.concat()).unwrap();
    };
    let mut lines = |count| text(numbers, count, b"\n");
    write("empty", &[]);
    write("plain", &[&lines(50)]);
    write("nonl", &[&lines(5), b"needle last"]);
    write("bad", &[&lines(5), b"\xff\xfe needle \x80\n", &lines(5)]);
    write("nul_first", &[b"\0", &lines(30)]);
    write("nul_mid", &[&lines(30), b"a needle \0 b\n", &lines(30)]);
    write("nul_late", &[&lines(4000), b"zz\0zz\n", &lines(400)]);
    write("nul_later", &[&lines(60_000), b"zz\0needle\n", &lines(4000)]);
    write("big", &[&lines(80_000)]);
    write("utf16", &[&utf_16("needle\nhay\nneedle x\n")]);
    write("big_utf16", &[&utf_16(&"needle\nhay\nfoo x\n".repeat(50_000))]);
    write("utf8_mark", &[b"\xef\xbb\xbf", &lines(20)]);
    write("big_mark", &[b"\xef\xbb\xbf", &lines(60_000)]);
    write("long", &[&vec![b'a'; 3_000_000], b" needle ", &vec![b'b'; 3_000_000], b"\nneedle\n"]);
    write("newlines", &[&vec![b'\n'; 500_000]]);
    write("tree/a.rs", &[&lines(20)]);
    write("tree/b.txt", &[&lines(20)]);
    write("tree/sub/c.rs", &[&lines(9)]);
    write("tree/sub/deep/d.py", &[&lines(30)]);
    write("tree/.hid/e", &[&lines(9)]);
    write("tree/.hidden.rs", &[&lines(9)]);
    write("tree/bin.o", &[b"needle\n\0needle\n", &lines(3)]);
    write("tree/big.txt", &[&lines(60_000)]);
    write("tree/big_nul.txt", &[&lines(30_000), b"\0needle\n", &lines(30_000)]);
    write("tree/ignored.log", &[&lines(5)]);
    write("tree/.ignore", &[b"*.log\n"]);
    write("tree/.gitignore", &[b"c.rs\n"]);
    write("patterns", &[b"needle\nfoo\n"]);
    {
        write("tree/new\nline", &[&lines(5)]);
        let broken = std::ffi::OsStr::from_bytes(b"tree/br\xffken");
        fs::write(directory.path().join(broken), lines(6)).unwrap();
        for (to, name) in [("a.rs", "link.rs"), ("sub", "linkdir"), ("nowhere", "dangling")] {
            symlink(to, directory.path().join("tree").join(name)).unwrap();
        }
    }
    write("crlf", &[&text(numbers, 40, b"\r\n")]);
    let sparse = directory.path().join("sparse");
    fs::File::create(&sparse).unwrap().set_len(30 << 20).unwrap();
    write_at(&sparse, b"\nneedle\n", 20 << 20);
    directory
}

/// Removes what differs from run to run: times, and the order of names in JSON statistics.
fn settled(output: &[u8]) -> String {
    fn timeless(value: &mut serde_json::Value) {
        if let Some(fields) = value.as_object_mut() {
            fields.retain(|name, _| !name.starts_with("elapsed"));
            fields.values_mut().for_each(timeless);
        }
    }
    let text: String = output.iter().map(|&byte| byte as char).collect();
    let line = |line: &str| match serde_json::from_str::<serde_json::Value>(line) {
        Ok(mut message) if message.is_object() => {
            timeless(&mut message);
            message.to_string()
        }
        _ if line.contains(" seconds ") => String::new(),
        _ => line.to_owned(),
    };
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

/// This program and `rg` in the corpus, if there is an `rg` to compare with.
fn beside_rg() -> Option<Pair> {
    let rg = std::env::var("FULLBORE_RG").unwrap_or_else(|_| "rg".into());
    let version = Command::new(&rg).arg("--version").output().ok()?;
    let text = String::from_utf8_lossy(&version.stdout).into_owned();
    let major = text.strip_prefix("ripgrep ").and_then(|rest| rest.split('.').next()?.parse::<u32>().ok());
    if major.is_none_or(|major| major < 15) {
        let found = text.lines().next().unwrap_or("none at all");
        println!("not compared: no rg of version 15 or later ({found})");
        return None;
    }
    let compared = |ended: &Finished| {
        let silent = if ended.stderr.is_empty() { "no messages" } else { "messages" };
        (ended.code(), settled(&ended.stdout).into_bytes(), silent.to_owned())
    };
    Some(Pair::new("grep", &rg, corpus())?.comparing(compared))
}

/// Flags of a search of one file.
const FLAGS: [&str; 43] = [
    "",
    "-n",
    "-c",
    "-l",
    "--files-without-match",
    "-q",
    "-o",
    "-v -c",
    "-nb",
    "-C2 -n",
    "-A3",
    "-B1 -m3",
    "-m5 -A2 -n",
    "--json",
    "--count-matches",
    "-H --heading -n",
    "--color=always -n",
    "--color=always -o -b --column",
    "--vimgrep",
    "--column -b",
    "-i -c",
    "-w -n",
    "-x -c",
    "-a -c",
    "-a",
    "--passthru",
    "-r <$0>",
    "-M 20",
    "--trim",
    "--crlf -n",
    "--stats",
    "-U -n",
    "--no-mmap -n",
    "--no-mmap -c",
    "--no-mmap -m2",
    "--null-data",
    "-E utf-16le",
    "--stop-on-nonmatch",
    "--include-zero -c",
    "--json -m3",
    "-0H",
    "-v -m3 -n",
    "--context-separator XX -C1",
];

#[test]
fn grep_of_one_file_matches_rg() {
    let Some(mut beside) = beside_rg() else { return };
    let files = "empty plain nonl crlf bad nul_first nul_mid nul_late nul_later big utf16 big_utf16 utf8_mark big_mark long \
                 newlines sparse";
    let patterns = ["needle", "x$", "needle", r"[a-z]+ing\s", "needle", "^$", "zzz"];
    for (place, file) in files.split(' ').enumerate() {
        for (turn, flags) in FLAGS.iter().enumerate() {
            if file == "sparse" && flags.contains("--null-data") {
                continue; // 30 million empty lines
            }
            beside.paths(flags, &[patterns[(place + turn) % patterns.len()], file]);
        }
    }
    for flags in ["", "-c", "-n"] {
        beside.paths(flags, &["proc", "/proc/filesystems"]);
    }
    beside.end();
}

#[test]
fn grep_of_trees_matches_rg() {
    let Some(mut beside) = beside_rg() else { return };
    let short: [&str; 20] = [
        "", "-n", "-c", "-l", "--json", "-C1", "-H -o", "-I", "--hidden", "-. -l", "-uu -l", "-uuu",
        "--binary", "-a -c", "-L -l", "-d1 -l", "-0 -l", "--mmap", "-q", "-tnosuch",
    ];
    let long = [
        "--files-without-match",
        "--heading -n",
        "--no-ignore -l",
        "-trust -l",
        "-Trust -l",
        "-g *.txt -l",
        "-g !*.txt -l",
        "--iglob *.TXT -l",
        "--stats -c",
        "--max-filesize 1K -l",
        "--color=always --heading -n -C1",
        "-m2 -A1 -n",
        "--mmap -c",
        "--no-require-git -l",
        "--vimgrep",
        "--type-add foo:*.py -tfoo -l",
        "-v -c",
        "--count-matches",
        "-U -c",
        "-p",
        "--no-messages -l",
    ];
    for flags in short.iter().chain(&long) {
        let by_path = format!("{flags} --sort path");
        for pattern in ["needle", "x$", "zzz"] {
            beside.paths(&by_path, &[pattern, "tree"]);
            beside.paths(&by_path, &[pattern, "tree", "plain", "crlf"]);
            let place = beside.dir.at("tree");
            let commands = beside.commands(&by_path, &[pattern]);
            beside.run_both(&format!("{flags} {pattern} in the tree"), commands, |command| {
                run(command.current_dir(&place))
            });
        }
    }
    let files = "plain crlf nonl bad big nul_mid nul_first nul_late nul_later empty utf16";
    for flags in ["", "-n -C1", "-c", "-l", "--heading -n", "--json", "-m2"] {
        beside.paths(&format!("{flags} --sort path needle {files}"), &[""; 0]);
    }
    for flags in ["--sortr path -l needle tree", "--files --sort path tree", "--type-list"] {
        beside.paths(flags, &[""; 0]);
    }
    beside.end();
}

#[test]
fn grep_of_standard_input_matches_rg() {
    let Some(mut beside) = beside_rg() else { return };
    // The output of rg for a NUL late in a pipe depends on the sizes of its reads.
    for file in "plain big nul_mid nul_first utf16 utf8_mark big_utf16 empty long crlf".split(' ') {
        let path = beside.dir.at(file);
        for flags in ["", "-n", "-c", "-C2 -n", "-l", "-q", "-m3", "-bo", "--json"] {
            let commands = beside.commands(flags, &["needle"]);
            let open = |command: &mut Command| run(command.stdin(File::open(&path).unwrap()));
            beside.run_both(&format!("{flags} < {file}"), commands, open);
            let commands = beside.commands(flags, &["needle", "-"]);
            beside.run_both(&format!("{flags} - from a pipe: {file}"), commands, |command| {
                let mut cat = Command::new("cat").arg(&path).stdout(Stdio::piped()).spawn().unwrap();
                // It ends with its input, or by SIGPIPE.
                let ended = run(command.stdin(cat.stdout.take().unwrap()));
                command.stdin(Stdio::null());
                cat.wait().unwrap();
                ended
            });
        }
    }
    beside.end();
}

#[test]
fn grep_errors_match_rg() {
    let Some(mut beside) = beside_rg() else { return };
    for line in [
        "needle nofile",
        "needle nofile plain",
        "--sort path -q needle plain nofile",
        "--sort path -q needle nofile plain",
        "( plain",
        "-P x plain",
        "",
        "-e",
        "-f nofile plain",
        "-f patterns plain -n",
        "-e needle -e foo plain -n",
        "-F foo( plain",
        r"a\nb plain",
        r"-U needle\nhay plain",
        "-m0 needle plain",
        "-f /dev/null plain",
        "-v -f /dev/null plain",
        "--no-such-flag x plain",
        "-m many x plain",
        "-uuuu x plain",
        "--sort size x plain",
        "-c -l needle plain",
        "-l -c needle plain",
        "-n -N needle plain",
        "--passthru -C1 -n needle plain",
        "-C3 -A1 needle plain",
        "-i -s needle plain",
        "-S Needle plain",
        "--json --no-json needle plain",
    ] {
        beside.paths(line, &[""; 0]);
    }
    beside.end();
}
