//! `fullbore wc` and GNU `wc`: the same bytes, exit codes and error messages.

use crate::support::*;
const FLAGS: [&[&str]; 13] = [
    &[],
    &["-c"],
    &["-m"],
    &["-l"],
    &["-w"],
    &["-L"],
    &["-lw"],
    &["-cm"],
    &["-lLwmc"],
    &["-w", "-L"],
    &["--lines", "--bytes"],
    &["--chars", "--max-line-length"],
    &["--words", "-l", "-l"],
];
const LOCALES: [&str; 3] = ["C", "C.UTF-8", "xx_YY.UTF-8"];

/// Returns the peer if it is a version that counts words in the same way.
fn peer() -> Option<&'static str> {
    let version = Command::new("wc").arg("--version").output();
    let version = version.map(|told| String::from_utf8_lossy(&told.stdout).into_owned()).unwrap_or_default();
    let first = version.lines().next().unwrap_or_default();
    if ["9.1", "9.2", "9.3", "9.4"].iter().any(|known| first == format!("wc (GNU coreutils) {known}")) {
        return Some("wc");
    }
    eprintln!("skipped: the installed wc ({first:?}) is not GNU wc 9.1 to 9.4");
    None
}

/// This program and the peer, with the same arguments, in the same directory.
struct Pair<'a> {
    dir: &'a TestDir,
    locale: &'a str,
}

impl Pair<'_> {
    fn commands(&self, arguments: &[OsString]) -> [Command; 2] {
        let theirs = Command::new(peer().unwrap());
        [fullbore(["wc"]), theirs].map(|mut command| {
            command.args(arguments).current_dir(self.dir.path()).env("LC_ALL", self.locale);
            command.env_remove("POSIXLY_CORRECT").stdin(Stdio::null());
            command
        })
    }

    fn agree(&self, arguments: &[OsString], mut run: impl FnMut(&mut Command) -> Finished) {
        let [ours, theirs] = self.commands(arguments).each_mut().map(&mut run);
        let what = format!("{arguments:?} in {}", self.locale);
        let lines = |ended: &Finished| -> Vec<String> {
            ended.stdout.split(|&byte| byte == b'\n').map(|line| line.escape_ascii().to_string()).collect()
        };
        assert_eq!(lines(&ours), lines(&theirs), "{what}\n{}", ours.stderr);
        assert_eq!(ours.stderr.replace("fullbore wc", "wc"), theirs.stderr, "{what}");
        assert_eq!(ours.code(), theirs.code(), "{what}");
    }

    fn alone(&self, arguments: &[OsString]) {
        self.agree(arguments, run);
    }
}

fn words<S: AsRef<OsStr>>(flags: &[&str], names: &[S]) -> Vec<OsString> {
    flags.iter().map(Into::into).chain(names.iter().map(|name| name.as_ref().to_owned())).collect()
}

/// Text with many kinds of invalid UTF-8, generated from `seed`.
fn broken(seed: u64, len: usize) -> Vec<u8> {
    let pieces: [&[u8]; 32] = [
        b"a",
        b" ",
        b"\n",
        b"\t",
        b"\r",
        b"\x0b",
        b"\x0c",
        b"\0",
        b"word",
        b"\x80",
        b"\xe2\x80",
        b"\xe2",
        b"\xff",
        b"\xf0\x9f\x98\x80",
        b"\xf0\x9f",
        b"\xed\xa0\x80",
        b"\xf4\x90\x80\x80",
        b"\xfc\x84\x80\x80\x80\x80",
        b"\xf8\x88\x80\x80\x80",
        b"\xc3\xa9",
        b"\xe4\xb8\xad",
        b"\xcc\x81",
        b"\xe3\x80\x80",
        b"\xe2\x81\xa0",
        b"\xc2\xa0",
        b"\xe2\x80\xa8",
        b"\xe2\x80\x8b",
        b"\x7f",
        b"\xc0\x80",
        b"\xfe",
        b"\xd0\x96\xd0\xb6",
        b"\xcd\xb8",
    ];
    bytes(len, seed).iter().flat_map(|&byte| pieces[usize::from(byte) % 32]).copied().collect()
}

#[cfg(unix)]
fn corpus(dir: &TestDir) -> Vec<OsString> {
    let spaces: String = (0..0x21_u32)
        .chain([0x7f, 0x85, 0xa0, 0xad, 0x1680, 0x180e, 0x3000, 0xfeff, 0xe0001])
        .chain(0x2000..0x2070)
        .filter_map(char::from_u32)
        .map(|character| format!("a{character}b {character} "))
        .collect();
    let page = "word ".repeat(4096)[..4096].to_owned();
    let files: [(&[u8], Vec<u8>); 19] = [
        (b"empty", Vec::new()),
        (b"newline", b"\n".to_vec()),
        (b"no-end", b"no newline at the end".to_vec()),
        (b"zeros", b"a\0b \0 c\n\0".to_vec()),
        (b"crlf", b"one two\r\nthree\r\n\r\nfour".to_vec()),
        (b"page", page.into()),
        (b"two-pages", [&bytes(8000, 1)[..], &[b'\n'; 192]].concat()),
        (b"spaces", spaces.into()),
        (b"tabs", "\ta\t\t中文\tx\x0b\x0cabc\rde\t\n12345678\tx\u{301}\t.".into()),
        (b"random", bytes(300_000, 2)),
        (b"broken", broken(3, 200_000)),
        (b"large", b"some words in a line\n".repeat(200_000)),
        (b"large-broken", broken(4, 1_500_000)),
        (b"new\nline", b"x y".to_vec()),
        (b"bad\xff", b"q\n".to_vec()),
        (b"bad\xff\nline", b"q\n".to_vec()),
        (b"it's\n", b"q\n".to_vec()),
        (b"it's a 'name'", b"q\n".to_vec()),
        ("w\u{ef}de \u{200b}\n".as_bytes(), b"q\n".to_vec()),
    ];
    let mut names = Vec::new();
    for (name, content) in files {
        fs::write(dir.path().join(OsStr::from_bytes(name)), content).unwrap();
        names.push(OsString::from_vec(name.to_vec()));
    }
    fs::create_dir(dir.at("directory")).unwrap();
    File::create(dir.at("sparse")).unwrap().set_len(3_000_001).unwrap();
    for name in [
        "sparse",
        "directory",
        "missing",
        "-",
        "",
        "/dev/null",
        "/proc/version",
        "/proc/filesystems",
        "/sys/devices/system/cpu/online",
    ] {
        names.push(name.into());
    }
    names
}

// GNU `wc` as the peer.
#[cfg(unix)]
#[test]
fn hostile_files_count_alike_alone_and_together() {
    let Some(_) = peer() else { return };
    let dir = TestDir::new();
    let names = corpus(&dir);
    fs::write(dir.at("list"), names.join(OsStr::new("\0")).as_bytes()).unwrap();
    for locale in LOCALES {
        let pair = Pair { dir: &dir, locale };
        for flags in FLAGS {
            let standard = |command: &mut Command| run_with(command, "stdin words ä\u{3000}x".as_bytes());
            for name in fullbore_testkit::cases("wc of hostile files, one by one", 3, &names) {
                pair.agree(&words(flags, &[name]), standard);
            }
            pair.agree(&words(flags, &names), standard);
            pair.agree(&words(flags, &["--files0-from=list"]), standard);
            pair.agree(&words(flags, &["--files0-from=-"]), |command| {
                run_with(command, names.join(OsStr::new("\0")).as_bytes())
            });
            pair.agree(&words(flags, &[""; 0]), standard);
            pair.agree(&words(flags, &["-", "large", "-"]), standard);
            pair.agree(&words(flags, &["spaces"]), |command| run(command.env("POSIXLY_CORRECT", "")));
        }
        for arguments in [
            &["--files0-from=empty"][..],
            &["--files0-from=/dev/null"],
            &["--files0-from=missing one"],
            &["--files0-from=directory"],
            &["--files0-from=list", "more"],
        ] {
            pair.alone(&words(arguments, &[""; 0]));
        }
    }
}

// GNU `wc` as the peer.
#[cfg(unix)]
#[test]
fn names_in_messages_are_quoted_alike() {
    let Some(_) = peer() else { return };
    let dir = TestDir::new();
    let pieces: [&[u8]; 24] = [
        b"a",
        b" ",
        b"'",
        b"\"",
        b"$",
        b"\\",
        b"\n",
        b"\x01",
        b"#",
        b"~",
        b"{",
        b"}",
        b":",
        b"=",
        b"\xc3\xa9",
        b"?",
        b"\xe2\x80\x8b",
        b"\xff",
        b"!",
        b"@",
        b"\t",
        b"\x7f",
        b"\xcd\xb8",
        b"*",
    ];
    for seed in 0..150 {
        let name: Vec<u8> = bytes(1 + seed % 6, seed as u64)
            .iter()
            .flat_map(|&byte| pieces[usize::from(byte) % 24])
            .copied()
            .collect();
        for locale in LOCALES {
            // Prevents the name from being parsed as a flag.
            Pair { dir: &dir, locale }.alone(&[OsString::from_vec(name.clone())]);
        }
    }
}

// GNU `wc` as the peer.
#[cfg(unix)]
#[test]
fn standard_input_continues_and_ends_at_its_offset() {
    let Some(_) = peer() else { return };
    let dir = TestDir::new();
    for (name, content) in
        [("odd", broken(5, 100_001)), ("large", b"one two\n".repeat(400_000)), ("small", b"a b\nc".to_vec())]
    {
        dir.file(name, content);
        for (flags, skip) in FLAGS.iter().flat_map(|flags| [0, 1, 3, 1 << 40].map(|skip| (flags, skip))) {
            let mut ends = Vec::new();
            Pair { dir: &dir, locale: "C.UTF-8" }.agree(&words(flags, &[""; 0]), |command| {
                let mut file = File::open(dir.at(name)).unwrap();
                file.seek(SeekFrom::Start(skip)).unwrap();
                let ended = run(command.stdin(file.try_clone().unwrap()));
                ends.push(file.stream_position().unwrap());
                ended
            });
            assert_eq!(ends[0], ends[1], "{name} {flags:?} from {skip}");
        }
    }
    // For a file of whole pages, wc 9.1 counts too few: it skips too far.
    dir.file("pages", [b'x'; 8192]);
    let left = shell(r#"{ head -c 100 >/dev/null; "$0" wc -c; "$0" wc -c; } < "$1""#, &[&dir.at("pages")]);
    let skipped: u64 = 8192 - left.succeeds().text().lines().next().unwrap().parse::<u64>().unwrap();
    assert!([100, 8192].contains(&skipped), "{skipped}");
}

// GNU `wc` as the peer.
#[cfg(unix)]
#[test]
fn every_character_counts_as_in_the_peer() {
    let Some(_) = peer() else { return };
    let dir = TestDir::new();
    let mut list = Vec::new();
    for page in 0..0x11_0000 / 256 {
        let (mut apart, mut row) = (Vec::new(), Vec::new());
        for code in page * 256..(page + 1) * 256 {
            // Surrogates too, although they are not characters, encoded as if they were.
            let spelt = match char::from_u32(code) {
                Some(character) => character.to_string().into_bytes(),
                None => vec![0xed, 0x80 | (code >> 6 & 0x3f) as u8, 0x80 | (code & 0x3f) as u8],
            };
            // Three words for a word character, four for a separator, two for a character that words ignore.
            apart.extend([&spelt[..], b"\na", &spelt, b"b\na", &spelt, b"b\n"].concat());
            row.extend(spelt);
        }
        for (kind, content) in [("apart", apart), ("row", row)] {
            let name = format!("{kind}-{page}");
            dir.file(&name, content);
            list.extend([name.as_bytes(), b"\0"].concat());
        }
    }
    dir.file("list", list);
    for locale in ["C", "C.UTF-8"] {
        Pair { dir: &dir, locale }.alone(&words(&["-lwmcL", "--files0-from=list"], &[""; 0]));
    }
}

// GNU `wc` as the peer.
#[cfg(unix)]
#[test]
fn every_split_of_a_file_matches_the_peer() {
    let Some(_) = peer() else { return };
    let dir = TestDir::new();
    dir.file("text", broken(6, 150_000));
    for locale in ["C", "C.UTF-8"] {
        let [_, mut theirs] = Pair { dir: &dir, locale }.commands(&words(&["-lwmcL", "text"], &[""; 0]));
        let wanted = run(&mut theirs).succeeds().text();
        for request in [512, 4096, 65536] {
            for workers in [1, 2, 3, 8] {
                for method in ["buffered", "mmap"] {
                    let strategy = format!("method={method},request={request},workers={workers},model=pool");
                    let mut command = fullbore(["wc", "-lwmcL", "text", "--strategy", &strategy]);
                    let found = run(command.current_dir(dir.path()).env("LC_ALL", locale)).succeeds().text();
                    assert_eq!(found, wanted, "{strategy}");
                }
            }
        }
        let piped = |program: &str| {
            let line = format!(r#"cat "$1" | LC_ALL="$2" {program} -lwmcL"#);
            shell(&line, &[&dir.at("text"), locale.as_ref()]).succeeds().text()
        };
        assert_eq!(piped(r#""$0" wc"#), piped("wc"));
    }
}

// GNU `wc` as the peer.
#[cfg(unix)]
#[test]
fn long_lines_endless_streams_and_huge_holes() {
    let Some(_) = peer() else { return };
    let dir = TestDir::new();
    dir.file("line", "wörter und 中文\t".repeat(100_000_000 / 20));
    for locale in ["C", "C.UTF-8"] {
        Pair { dir: &dir, locale }.alone(&words(&["-lwmcL", "line"], &[""; 0]));
    }
    fs::remove_file(dir.at("line")).unwrap();
    for len in [1_u64 << 40, (1 << 40) + 4097, (1 << 40) - 1] {
        if let Err(error) = File::create(dir.at("hole")).unwrap().set_len(len) {
            eprintln!("skipped: no hole of {len} bytes: {error}");
            continue;
        }
        Pair { dir: &dir, locale: "C" }.alone(&words(&["-c", "hole"], &[""; 0]));
    }
    let line = r#"head -c 300000000 /dev/zero | "$0" wc -lwmcL"#;
    assert_eq!(shell(line, &[]).succeeds().text(), "      0       0 300000000 300000000       0\n");
}

#[test]
fn totals_follow_the_flag() {
    let dir = TestDir::new();
    dir.file("one", "a b\n");
    dir.file("two", "c\n".repeat(100));
    let told = |arguments: &[&str]| run(dir.command("wc").args(arguments)).succeeds().text();
    let both = "  1   2   4 one\n100 100 200 two\n";
    let sum = "101 102 204 total\n";
    for (when, files, wanted) in [
        ("auto", &["one"][..], "1 2 4 one\n".to_owned()),
        ("auto", &["one", "two"], format!("{both}{sum}")),
        ("always", &["one"], "1 2 4 one\n1 2 4 total\n".to_owned()),
        ("always", &["one", "two"], format!("{both}{sum}")),
        ("only", &["one"], "1 2 4\n".to_owned()),
        ("only", &["one", "two"], "101 102 204\n".to_owned()),
        ("never", &["one", "two"], both.to_owned()),
    ] {
        assert_eq!(told(&[files, &["--total", when]].concat()), wanted, "{when} {files:?}");
    }
    assert_eq!(told(&["--total=always", &format!("--files0-from={NULL}")]), "0 0 0 total\n");
    assert_eq!(told(&["--total=only", "-L", "one", "two"]), "3\n");
}

#[test]
fn json_has_counts_and_summary() {
    let dir = TestDir::new();
    dir.file("one", "a b\n");
    dir.file("two", "c");
    let mut command = fullbore(["wc", "-lwL", "--json", "one", "missing", "two"]);
    let ended = run(command.current_dir(dir.path()));
    assert_eq!(
        (ended.code(), ended.stderr.as_str()),
        (1, &*format!("fullbore wc: missing: {}\n", not_found()))
    );
    let found = ended.json();
    let file = |path: &str, lines: u64, words: u64, columns: u64| serde_json::json!({ "path": path, "lines": lines, "words": words, "columns": columns });
    assert_eq!(found["files"], serde_json::json!([file("one", 1, 2, 3), file("two", 0, 1, 1)]));
    assert_eq!(found["total"], serde_json::json!({ "lines": 1, "words": 3, "columns": 3 }));
    assert!(found["run"]["real_seconds"].as_f64().unwrap() > 0.0);
}

#[test]
fn explain_names_how_the_file_was_read() {
    let dir = TestDir::new();
    dir.file("one", "a b\n".repeat(1_000_000));
    let ended = dir.run("wc --explain one").succeeds();
    assert!(ended.stderr.contains("workers="), "{}", ended.stderr);
    let ended = dir.run("wc --explain -c one").succeeds();
    assert!(ended.stderr.contains("not read"), "{}", ended.stderr);
    assert!(ended.text().starts_with("4000000 "));
}
