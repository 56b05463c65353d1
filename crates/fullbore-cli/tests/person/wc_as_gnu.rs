//! `wc` and GNU `wc`: the same bytes, exit codes and error messages.

use crate::corpus::{Corpus, huge, long_line};
use crate::peer::{Pair, plain_name, with_messages};
use crate::support::*;

/// Separated by bars; the first is none.
const FLAGS: &str =
    "|-c|-m|-l|-w|-L|-lw|-cm|-lLwmc|-w -L|--lines --bytes|--chars --max-line-length|--words -l -l";
const LOCALES: [&str; 3] = ["C", "C.UTF-8", "xx_YY.UTF-8"];

/// This program and the peer, if that is a version that counts words in the same way.
fn pair() -> Option<Pair> {
    let versions = ["9.1", "9.2", "9.3", "9.4"].map(|known| format!("wc (GNU coreutils) {known}\n"));
    if !is_version("wc", &versions.each_ref().map(String::as_str)) {
        return None;
    }
    Some(Pair::new("wc", "wc", TestDir::open_to_all())?.comparing(with_messages))
}

/// Text with many kinds of invalid UTF-8, generated from `seed`.
fn broken(seed: u64, len: usize) -> Vec<u8> {
    let pieces = b"a| |\n|\t|\r|\x0b|\x0c|\0|word|\x80|\xe2\x80|\xe2|\xff|\xf0\x9f\x98\x80|\xf0\x9f|\xed\xa0\x80|\
                   \xf4\x90\x80\x80|\xfc\x84\x80\x80\x80\x80|\xf8\x88\x80\x80\x80|\xc3\xa9|\xe4\xb8\xad|\
                   \xcc\x81|\xe3\x80\x80|\xe2\x81\xa0|\xc2\xa0|\xe2\x80\xa8|\xe2\x80\x8b|\x7f|\xc0\x80|\xfe|\xd0\x96\xd0\xb6|\xcd\xb8";
    let pieces: Vec<&[u8]> = pieces.split(|&byte| byte == b'|').collect();
    bytes(len, seed).iter().flat_map(|&byte| pieces[usize::from(byte) % 32]).copied().collect()
}

/// The difficult files, and further ones for counts and for names in messages.
fn corpus(dir: &Path) -> Corpus {
    let mut corpus = Corpus::new(dir);
    corpus.add("page", "words that end with a page", &"word ".repeat(4096)[..4096]);
    corpus.add(
        "two-pages",
        "newlines up to the end of two pages",
        [&bytes(8000, 1)[..], &[b'\n'; 192]].concat(),
    );
    corpus.add("large", "many lines", b"some words in a line\n".repeat(200_000));
    corpus.add("large-broken", "much invalid UTF-8", broken(4, 1_500_000));
    for name in [&b"bad\xff\nline"[..], b"it's\n", b"it's a 'name'", "w\u{ef}de \u{200b}\n".as_bytes()] {
        corpus.add(OsStr::from_bytes(name), "a name that is quoted in messages", "q\n");
    }
    corpus
}

#[test]
fn hostile_files_count_alike_alone_and_together() {
    // Of other versions, only the counts are compared.
    let Some(mut pair) = pair().or_else(|| Pair::new("wc", "wc", TestDir::open_to_all())) else { return };
    let corpus = corpus(pair.dir.path());
    let more =
        ["directory", "missing", "-", "", "/dev/null", "/proc/version", "/sys/devices/system/cpu/online"];
    let mut names: Vec<_> = corpus.plain().map(|file| plain_name(&file.name)).collect();
    names.extend(more.map(OsString::from));
    let list = names.join(OsStr::new("\0"));
    pair.dir.file("list", list.as_bytes());
    let none: [OsString; 0] = [];
    let together = |paths: &[&str]| paths.iter().map(OsString::from).collect::<Vec<_>>();
    let mut sets =
        vec![names, together(&["--files0-from=list"]), none.to_vec(), together(&["-", "large", "-"])];
    sets.extend(more.map(|name| vec![name.into()]));
    for locale in LOCALES {
        pair.locale = locale;
        let every = FLAGS.split('|').flat_map(|flags| sets.iter().map(move |names| (flags, names)));
        for (flags, names) in cases("wc of several files", 13, every) {
            let input = "stdin words ä\u{3000}x".as_bytes();
            pair.run_both(&format!("{flags} {names:?}"), pair.commands(flags, names), |command| {
                run_with(command, input)
            });
        }
        let every = FLAGS.split('|').flat_map(|flags| corpus.readable().map(move |file| (flags, file)));
        for (flags, file) in cases("wc on the corpus", 37, every) {
            pair.file(flags, file);
        }
        for file in cases("wc of pipes", 7, corpus.plain()) {
            pair.pipe("-clmwL", file);
            pair.pipe("-lw -", file);
        }
        pair.dir.directories(["closed"]);
        pair.dir.set_mode("closed", 0o000);
        pair.without_rights(|pair| {
            pair.file("", corpus.unreadable());
            pair.paths("", &["closed"]);
        });
        for flags in cases("wc of a list from a pipe, and by POSIX", 3, FLAGS.split('|')) {
            let commands = pair.commands(flags, &["--files0-from=-"]);
            pair.run_both(&format!("{flags}, a list"), commands, |command| {
                run_with(command, list.as_bytes())
            });
            let commands = pair.commands(flags, &["spaces"]);
            pair.run_both(&format!("{flags}, by POSIX"), commands, |command| {
                run(command.env("POSIXLY_CORRECT", ""))
            });
        }
        for list in ["empty", "/dev/null", "missing one", "directory"] {
            pair.paths("", &[format!("--files0-from={list}")]);
        }
        pair.paths("--files0-from=list more", &none);
    }
    pair.file("-clmwL", &long_line(pair.dir.path()));
    if let Some(huge) = huge(pair.dir.path()) {
        pair.file("-c", &huge);
    }
    pair.end();
}

#[test]
fn names_in_messages_are_quoted_alike() {
    let Some(mut pair) = pair() else { return };
    let pieces = b"a| |'|\"|$|\\|\n|\x01|#|~|{|}|:|=|\xc3\xa9|?|\xe2\x80\x8b|\xff|!|@|\t|\x7f|\xcd\xb8|*";
    let pieces: Vec<&[u8]> = pieces.split(|&byte| byte == b'|').collect();
    for seed in cases("names in messages", 3, 0..150) {
        let name = bytes(1 + seed % 6, seed as u64);
        let name: Vec<u8> = name.iter().flat_map(|&byte| pieces[usize::from(byte) % 24]).copied().collect();
        for locale in LOCALES {
            pair.locale = locale;
            pair.paths("", &[OsStr::from_bytes(&name)]);
        }
    }
    pair.end();
}

#[test]
fn standard_input_continues_and_ends_at_its_offset() {
    let Some(mut pair) = pair() else { return };
    for (name, content) in
        [("odd", broken(5, 100_001)), ("large", b"one two\n".repeat(400_000)), ("small", b"a b\nc".to_vec())]
    {
        pair.dir.file(name, content);
        let every = FLAGS.split('|').flat_map(|flags| [0, 1, 3, 1 << 40].map(|skip| (flags, skip)));
        for (flags, skip) in cases("wc from an offset", 3, every) {
            let mut ends = Vec::new();
            let path = pair.dir.at(name);
            pair.run_both(
                &format!("{name} {flags} from {skip}"),
                pair.commands(flags, &[""; 0]),
                |command| {
                    let mut file = File::open(&path).unwrap();
                    file.seek(SeekFrom::Start(skip)).unwrap();
                    let ended = run(command.stdin(file.try_clone().unwrap()));
                    ends.push(file.stream_position().unwrap());
                    ended
                },
            );
            assert_eq!(ends[0], ends[1], "{name} {flags:?} from {skip}");
        }
    }
    let dir = &pair.dir;
    // For a file of whole pages, wc 9.1 counts too few: it skips too far.
    dir.file("pages", [b'x'; 8192]);
    let left = dir.shell(r#"{ head -c 100 >/dev/null; "$0" wc -c; "$0" wc -c; } < pages"#);
    let skipped: u64 = 8192 - left.succeeds().text().lines().next().unwrap().parse::<u64>().unwrap();
    assert!([100, 8192].contains(&skipped), "{skipped}");
    pair.end();
}

#[test]
fn every_character_counts_as_in_the_peer() {
    let Some(mut pair) = pair() else { return };
    let mut list = Vec::new();
    for page in 0..0x11_0000 / 4096 {
        let (mut apart, mut row) = (Vec::new(), Vec::new());
        for code in page * 4096..(page + 1) * 4096 {
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
            pair.dir.file(&name, content);
            list.extend([name.as_bytes(), b"\0"].concat());
        }
    }
    pair.dir.file("list", list);
    for locale in ["C", "C.UTF-8"] {
        pair.locale = locale;
        pair.paths("-lwmcL", &["--files0-from=list"]);
    }
    pair.end();
}

#[test]
fn every_split_of_a_file_matches_the_peer() {
    let Some(mut pair) = pair() else { return };
    pair.dir.file("text", broken(6, 150_000));
    for locale in ["C", "C.UTF-8"] {
        pair.locale = locale;
        let [_, mut theirs] = pair.commands("-lwmcL", &["text"]);
        let wanted = run(&mut theirs).succeeds().text();
        for request in [512, 4096, 65536] {
            for workers in [1, 2, 3, 8] {
                for method in ["buffered", "mmap"] {
                    let strategy = format!("method={method},request={request},workers={workers},model=pool");
                    let [mut ours, _] = pair.commands("-lwmcL text --strategy", &[&strategy]);
                    let found = run(&mut ours).succeeds().text();
                    assert_eq!(found, wanted, "{strategy}");
                }
            }
        }
        let piped = |program: &str| {
            let line = format!("cat text | LC_ALL={locale} {program} -lwmcL");
            pair.dir.shell(&line).succeeds().text()
        };
        assert_eq!(piped(r#""$0" wc"#), piped("wc"));
    }
}

#[test]
fn long_lines_endless_streams_and_huge_holes() {
    let Some(mut pair) = pair() else { return };
    pair.dir.file("line", "wörter und 中文\t".repeat(100_000_000 / 20));
    for locale in ["C", "C.UTF-8"] {
        pair.locale = locale;
        pair.paths("-lwmcL", &["line"]);
    }
    fs::remove_file(pair.dir.at("line")).unwrap();
    for len in [1_u64 << 40, (1 << 40) + 4097, (1 << 40) - 1] {
        let made = File::create(pair.dir.at("hole")).unwrap().set_len(len);
        let Some(()) = or_skip(&format!("a hole of {len} bytes"), made) else { continue };
        pair.paths("-c", &["hole"]);
    }
    let line = r#"head -c 300000000 /dev/zero | "$0" wc -lwmcL"#;
    assert_eq!(pair.dir.shell(line).succeeds().text(), "      0       0 300000000 300000000       0\n");
    pair.end();
}
