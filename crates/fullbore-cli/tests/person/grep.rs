//! `grep` and `rg`: the same bytes and the same exit status, over difficult files. The tests are skipped without an
//! `rg` of version 15 or later in `FULLBORE_RG`, `FULLBORE_PEERS` or the path.

use crate::corpus::{Corpus, long_line};
use crate::peer::Pair;
use crate::support::*;

/// Returns words and newlines in an order generated from `seed`.
fn words(seed: usize, count: usize) -> Vec<u8> {
    let pieces = "the| |\n|The|hay| |\n|stack|été| |\n|x|foo(bar)| |running fast|1234";
    let pieces: Vec<&str> = pieces.split('|').collect();
    let words = bytes(count, seed as u64).into_iter().map(|byte| pieces[usize::from(byte) % 16]);
    words.collect::<String>().into_bytes()
}

/// The difficult files, further ones with the words of the searches, and a tree.
fn corpus(dir: &TestDir) -> Corpus {
    let mut corpus = Corpus::new(dir.path());
    let coded = "\u{feff}".to_owned() + &"the\nhay\nfoo x\n".repeat(50_000);
    let coded: Vec<u8> = coded.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let longest = ["a".repeat(3_000_000), "b".repeat(3_000_000)].join(" the ") + "\nthe\n";
    dir.directories(["tree/sub/deep", "tree/.hid"]);
    for (seed, (name, before, middle, after)) in [
        ("plain", 400, &b""[..], 0),
        ("bad", 40, b"\xff\xfe the \x80\n", 40),
        ("nul-first", 0, b"\0", 240),
        ("nul-mid", 240, b"a the \0 b\n", 240),
        ("nul-late-in-words", 450_000, b"zz\0the\n", 30_000),
        ("big", 600_000, b"", 0),
        ("big-utf-16", 0, &coded, 0),
        ("big-bom", 0, b"\xef\xbb\xbf", 450_000),
        ("longest", 0, longest.as_bytes(), 0),
        ("many-newlines", 0, "\n".repeat(500_000).as_bytes(), 0),
        ("tree/a.rs", 160, b"", 0),
        ("tree/b.txt", 160, b"", 0),
        ("tree/sub/c.rs", 70, b"", 0),
        ("tree/sub/deep/d.py", 240, b"", 0),
        ("tree/.hid/e", 70, b"", 0),
        ("tree/.hidden.rs", 70, b"", 0),
        ("tree/bin.o", 0, b"the\n\0the\n", 24),
        ("tree/big.txt", 450_000, b"", 0),
        ("tree/big-nul.txt", 220_000, b"\0the\n", 220_000),
        ("tree/ignored.log", 40, b"", 0),
        ("tree/.ignore", 0, b"*.log\n", 0),
        ("tree/.gitignore", 0, b"c.rs\n", 0),
        ("tree/new\nline", 40, b"", 0),
        ("tree/broken", 48, b"", 0),
    ]
    .into_iter()
    .enumerate()
    {
        let content = [&words(seed, before)[..], middle, &words(seed + 100, after)].concat();
        match name.starts_with("tree") {
            true => dir.file(name, content),
            false => corpus.add(name, "words of the searches", content),
        };
    }
    fs::rename(dir.at("tree/broken"), dir.path().join(OsStr::from_bytes(b"tree/br\xffken"))).unwrap();
    for (to, name) in [("a.rs", "tree/link.rs"), ("sub", "tree/linkdir"), ("nowhere", "tree/dangling")] {
        symlink(to, dir.at(name)).unwrap();
    }
    dir.file("patterns", "the\nfoo\n");
    corpus
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

/// This program and `rg`, with the corpus; `None`, with the reason printed, if there is no `rg` to compare with.
fn beside_rg() -> Option<(Pair, Corpus)> {
    let rg = std::env::var("FULLBORE_RG").unwrap_or_else(|_| "rg".into());
    let compared = |ended: &Finished| {
        let silent = if ended.stderr.is_empty() { "no messages" } else { "messages" };
        (ended.code(), settled(&ended.stdout).into_bytes(), silent.to_owned())
    };
    let pair = Pair::new("grep", &rg, TestDir::new())?.comparing(compared);
    let text = run(Command::new(&pair.peer).arg("--version")).text();
    let major = text.strip_prefix("ripgrep ").and_then(|rest| rest.split('.').next()?.parse::<u32>().ok());
    if major.is_none_or(|major| major < 15) {
        let found = text.lines().next().unwrap_or_default();
        println!("skipped: grep compared with rg: it is {found:?}, and results changed with 15");
        return None;
    }
    // Readable without privileges.
    pair.dir.set_mode("", 0o755);
    let corpus = corpus(&pair.dir);
    Some((pair, corpus))
}

/// Flags of a search of one file, the first empty; each is used with one of the patterns in turn.
const FLAGS: &str = " | -n | -c | -l | --files-without-match | -q | -o | -v -c | -nb | -C2 -n | -A3 | -B1 -m3 | \
    -m5 -A2 -n | --json | --count-matches | -H --heading -n | --color=always -n | --color=always -o -b --column | \
    --vimgrep | --column -b | -i -c | -w -n | -x -c | -a -c | -a | --passthru | -r <$0> | -M 20 | --trim | \
    --crlf -n | --stats | -U -n | --no-mmap -n | --no-mmap -c | --no-mmap -m2 | --null-data | -E utf-16le | \
    --stop-on-nonmatch | --include-zero -c | --json -m3 | -0H | -v -m3 -n | --context-separator XX -C1";

/// Flags and patterns of a search of one file.
const SEARCHES: &str = "-n the | -c the | -b the | -nb -o s[a-z]+ | -n -A1 line | -n -B2 end | -C1 text | -c -v the | \
    -n [a-z]+ing\\s | -n \\s$ | -n --regexp= | -n -x the\\x20text | -n -w a | -n -i THE | -S The | -l the | \
    --files-without-match the | -m1 -n o | -a -n (?-u:\\xff) | -a -c \\x00 | -F -n . | --count-matches o | \
    -U -n e\\n | -n σ|é|語";

#[test]
fn grep_of_one_file_matches_rg() {
    let Some((mut pair, corpus)) = beside_rg() else { return };
    let patterns = ["the", "x$", "the", r"[a-z]+ing\s", "the", "^$", "zzz"];
    let searches = corpus.readable().enumerate().flat_map(|(place, file)| {
        let with_pattern =
            move |(turn, flags)| format!("{flags} {}", patterns[(place + turn) % patterns.len()]);
        let flags = FLAGS.split(" | ").enumerate().map(with_pattern);
        flags.chain(SEARCHES.split(" | ").map(str::to_owned)).map(move |search| (search, file))
    });
    // The number of searches of a file is not a multiple of the step.
    for (search, file) in cases("searches of one file", 4, searches) {
        pair.file(&search, file);
    }
    for search in ["proc", "-c proc", "-n proc"] {
        pair.file(search, corpus.named("/proc/filesystems"));
    }
    pair.without_rights(|pair| pair.file("-n the", corpus.unreadable()));
    let long = long_line(pair.dir.path());
    for search in ["-c singing", "-b -o singing", "-n the"] {
        pair.file(search, &long);
    }
    pair.end();
}

#[test]
fn grep_of_trees_matches_rg() {
    let Some((mut pair, _)) = beside_rg() else { return };
    for flags in include_str!("lines/rg-flags-for-trees.txt").lines() {
        let by_path = format!("{flags} --sort path");
        for pattern in ["the", "x$", "zzz"] {
            pair.paths(&by_path, &[pattern, "tree"]);
            pair.paths(&by_path, &[pattern, "tree", "plain", "crlf"]);
            let place = pair.dir.at("tree");
            let commands = pair.commands(&by_path, &[pattern]);
            pair.run_both(&format!("{flags} {pattern} in the tree"), commands, |command| {
                run(command.current_dir(&place))
            });
        }
    }
    let files = "plain crlf endless bad big nul-mid nul-first nul-late nul-late-in-words empty utf-16le";
    for flags in ["", "-n -C1", "-c", "-l", "--heading -n", "--json", "-m2"] {
        pair.paths(&format!("{flags} --sort path the {files}"), &[""; 0]);
    }
    // Several threads; the only match is in one file.
    for flags in ["--heading --stats", "-C1 --stats", "-c --stats", "--heading --json", "--stats -q"] {
        pair.paths(&format!("{flags} the plain empty"), &[""; 0]);
    }
    for flags in ["--sortr path -l the tree", "--files --sort path tree", "--type-list"] {
        pair.paths(flags, &[""; 0]);
    }
    pair.end();
}

#[test]
fn grep_of_standard_input_matches_rg() {
    let Some((mut pair, corpus)) = beside_rg() else { return };
    for file in corpus.plain() {
        for search in ["-a -n the", "-n the", "-c s", "-b line"] {
            // The amount of a pipe that rg has read when it meets a late NUL, and thus its output, is random.
            if search.starts_with("-a") || !file.name.as_bytes().starts_with(b"nul-late") {
                pair.pipe(search, file);
            }
        }
    }
    for name in "plain big nul-mid nul-first utf-16le bom big-utf-16 empty longest crlf".split(' ') {
        let file = corpus.named(name);
        for flags in ["", "-n", "-c", "-C2 -n", "-l", "-q", "-m3", "-bo", "--json"] {
            pair.pipe(&format!("{flags} the -"), file);
            let commands = pair.commands(flags, &["the"]);
            let open = |command: &mut Command| run(command.stdin(File::open(&file.path).unwrap()));
            pair.run_both(&format!("{flags} < {name}"), commands, open);
        }
    }
    pair.end();
}

#[test]
fn grep_errors_match_rg() {
    let Some((mut pair, _)) = beside_rg() else { return };
    for line in include_str!("lines/rg-arguments.txt").lines() {
        // Its builds may lack PCRE2.
        if line.starts_with("-P") && run(Command::new(&pair.peer).arg("--pcre2-version")).code() != 0 {
            println!("skipped: {line}: rg has no PCRE2");
            continue;
        }
        pair.paths(line, &[""; 0]);
    }
    pair.end();
}

/// Lines longer than the memory for them, in a file that can be mapped.
#[test]
fn long_lines_of_files_are_searched_by_every_kind_of_output() {
    let dir = TestDir::new();
    dir.directories(["long"]);
    let line = ["foo\n", &"x".repeat(20_000_000), " foo\n", "end foo\n"].concat();
    dir.file("long/a", &line);
    for (words, wanted) in [
        ("-c '(?-m)foo' long", "long/a:3\n"),
        ("--count-matches foo long", "long/a:3\n"),
        ("-o -c foo long", "long/a:3\n"),
        ("--stop-on-nonmatch -c foo long", "long/a:3\n"),
        ("--null-data -c foo long", "long/a:1\0"),
        ("--null-data -c foo < long/a", "1\0"),
        ("-c end long", "long/a:1\n"),
    ] {
        let found = dir.shell(&format!("\"$0\" grep --memory 64M {words}")).succeeds().text();
        assert_eq!(found, wanted, "{words}");
    }
}

#[test]
fn context_of_any_length_is_printed_from_pipes() {
    let dir = TestDir::new();
    for (words, lines) in
        [("-A 100000 '^1$'", 100_001), ("-B 100000 '^200000$'", 100_001), ("-C 100000 no", 0)]
    {
        let line = format!("seq 200000 | \"$0\" grep --memory 64M {words} | wc -l");
        assert_eq!(dir.shell(&line).succeeds().text().trim(), lines.to_string(), "{words}");
    }
}

/// `rg` prints the lines of the reads before that of the NUL: of 3 bytes, of the rest of 8 KiB of standard input, and of
/// 64 KiB.
#[test]
fn lines_before_a_nul_in_a_pipe_are_printed() {
    let dir = TestDir::new();
    for (line, nul, from_stdin, from_fifo) in [
        ("o\n", 2, 0, 0),
        ("o\n", 3, 1, 1),
        ("foo line\n", 3, 0, 0),
        ("foo line\n", 8191, 0, 0),
        ("foo line\n", 8192, 910, 0),
        ("foo line\n", 60_000, 910, 0),
    ] {
        let mut input = line.repeat(60_100 / line.len()).into_bytes();
        input[nul] = 0;
        dir.file("in", input);
        for (path, lines) in [("", from_stdin), ("/dev/stdin", from_fifo)] {
            let found = dir.shell(&format!("cat in | \"$0\" grep o {path}")).succeeds().text();
            assert_eq!(found.lines().count(), lines + 1, "{line:?} {nul} {path}");
            assert!(found.ends_with(&format!("around offset {nul})\n")), "{found}");
        }
    }
    // Its context precedes the match that follows the NUL, and both are in the second read.
    dir.file("in", "a\na\na\n\0foo\n");
    assert_eq!(dir.shell("cat in | \"$0\" grep -B2 foo").fails(1, &[]).text(), "");
}

/// The first read of a file that is not mapped returns three bytes, for its byte order mark.
#[test]
fn search_of_a_file_in_a_directory_stops_on_nonmatch() {
    let dir = TestDir::new();
    dir.directories(["sub"]);
    dir.file("sub/a", "x\n1\nx\n");
    let grep = |path: &str| dir.run(&format!("grep --stop-on-nonmatch -v 1 {path}")).succeeds().text();
    assert_eq!(slashes(&grep("sub")), "sub/a:x\n");
    assert_eq!(grep("sub/a"), "x\nx\n");
}

/// `rg` searches on after a match that it does not print: a NUL then makes the file one without a match.
#[test]
fn late_nul_takes_back_the_matches_of_a_file_in_a_directory() {
    let dir = TestDir::new();
    dir.directories(["sub"]);
    dir.file("sub/a", [&b"foo bar\n".repeat(250_000)[..], b"\0\nfoo\n"].concat());
    for (words, code) in [
        ("-q -v zzz", 1),
        ("-l -v zzz", 1),
        ("--files-without-match foo", 0),
        ("--files-without-match -q foo", 0),
        ("-q foo", 0),
    ] {
        let ended = dir.run(&format!("grep {words} sub"));
        assert_eq!((ended.code(), ended.text()), (code, String::new()), "{words}");
    }
    assert_eq!(slashes(&dir.run("grep -l foo sub").succeeds().text()), "sub/a\n");
}

/// Few blocks of a pipe have all the lines around a long line.
#[test]
fn context_of_long_lines_is_printed_from_pipes() {
    let dir = TestDir::new();
    let lines: String = (0..3000).map(|number| format!("{number} {}\n", "x".repeat(10_000))).collect();
    dir.file("a", lines);
    for (words, count) in [("-A 10 '^5[0-9]* '", 143), ("-C 20 '^2999 '", 21), ("-B 30 '77 '", 959)] {
        let found = |line: &str| dir.shell(&format!("set -o pipefail; {line}")).succeeds().text();
        let from_pipe = found(&format!("cat a | \"$0\" grep --memory 64M {words}"));
        assert!(from_pipe == found(&format!("\"$0\" grep {words} a")), "{words}");
        assert_eq!(from_pipe.lines().count(), count, "{words}");
    }
}

/// A flag that ends the mode of lines makes `^` an anchor of the text, wherever it is in its group.
#[test]
fn anchors_of_the_text_do_not_match_at_the_start_of_parts() {
    let dir = TestDir::new();
    let lines: String = (0..300_000).map(|number| format!("foo line {number}\n")).collect();
    dir.file("a", lines);
    // `rg` searches each further line as a text of its own, and prints it whole.
    let further = (2..=300_000).map(|number| format!("{number}:foo line {}\n", number - 1));
    let wanted = BTreeSet::from(["1:foo\n".to_owned() + &further.collect::<String>()]);
    for flags in ["-m", "-im", "-sm", "i-ms"] {
        let words = format!("grep -on '(?{flags})^foo' a");
        let found: BTreeSet<String> = ["", "--workers 1", "--strategy request=64K --workers 3"]
            .map(|options| dir.shell(&format!("\"$0\" {words} {options}")).succeeds().text())
            .into();
        assert!(found == wanted, "{flags}: {} results", found.len());
    }
}
