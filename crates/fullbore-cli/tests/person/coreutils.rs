//! `sum` and `wc` under the names of coreutils' tools, compared with them.

use crate::support::*;

/// Returns a shell line that prints both streams of a line, in their order, and its exit code.
fn merged(line: &str) -> String {
    format!("{{ {line}; echo \"exit $?\"; }} 2>&1 | cat")
}

/// Returns the output of a [merged] line with this program in place of the tools.
fn told(dir: &TestDir, line: &str) -> String {
    line_of_tools(dir.path(), &merged(line), true, "C").succeeds().text()
}

#[test]
fn messages_match_coreutils_in_order() {
    let dir = TestDir::new();
    // Other versions have partly different wording.
    if !is_version("cksum", &["cksum (GNU coreutils) 9.1\n"]) {
        return;
    }
    dir.file("a", "abc");
    dir.file(" b", "abc");
    dir.file("*c", "abc");
    let md5 = "900150983cd24fb0d6963f7d28e17f72";
    dir.file("reversed", format!("{md5} a\n{md5}  b\n{md5} *c\n"));
    dir.file("mixed", format!("{md5}  a\n{md5} a\n{md5} *a\n"));
    let sm3 = "66c7f0f462eeedd9d1f2d46bdc10e4e24167c4875cf2f7a2297da02b8f4ba8e0";
    dir.file("sm3", format!("SM3 (a) = {sm3}\nnone\n"));
    dir.file("untagged", format!("SM3 (a) = {sm3}\n{sm3}  a\n"));
    for tool in ["md5sum", "wc"] {
        let wanted = format!("{tool}: write error: No space left on device\nexit 1\n");
        assert_eq!(told(&dir, &format!("{tool} a a > /dev/full")), wanted);
    }
    dir.file("-x", "a\0");
    // coreutils print a second message, about closing the stream.
    let closed = told(&dir, "md5sum -c <&-");
    assert_eq!(closed, "md5sum: 'standard input': read error\nexit 1\n");
    dir.shell(r#""$0" sum --keyed a <&-"#).fails(1, &["--keyed: standard input: ", &system_text(9)]);
    let unknown = told(&dir, "cksum -a foo a");
    assert!(unknown.starts_with("cksum: invalid argument 'foo' for '--algorithm': "), "{unknown}");
    assert_alike(&dir, include_str!("lines/coreutils-messages.txt").lines().map(|line| ("C", merged(line))));
}

/// Names as words of a shell.
const NAMES: &str = include_str!("lines/names.txt");

#[test]
fn names_in_messages_are_quoted_as_by_the_peers() {
    let dir = TestDir::new();
    dir.directories(["d"]);
    let known = is_version("cksum", &["cksum (GNU coreutils) 9.1\n"]);
    let has_b3sum = or_skip("names in messages of b3sum", installed("b3sum")).is_some();
    let every = NAMES.lines().flat_map(|name| ["C", "C.UTF-8"].map(|locale| (name, locale)));
    for (name, locale) in cases("names in messages", 5, every) {
        let zeros = "0".repeat(64);
        let mut lines = Vec::new();
        if known {
            lines = vec![
                format!("sha256sum -- {name}"),
                format!("sha256sum -c -- {name}"),
                format!("b2sum d/{name}; md5sum d/{name}; cksum -a sm3 d/{name}"),
                format!("echo junk > d/{name}; sha1sum -c d/{name}; rm d/{name}"),
                format!(
                    "printf '%s  x\\njunk\\n' {zeros} > d/{name}; sha256sum -c --warn d/{name}; rm d/{name}"
                ),
                format!(
                    "printf '%s  x\\n' {zeros} > d/{name}; sha256sum -c --ignore-missing d/{name}; rm d/{name}"
                ),
                format!("mkdir d/{name}; sha256sum d/{name}; sha256sum -c d/{name}; rmdir d/{name}"),
            ];
            // Names in lists are escaped if they contain a newline.
            if !name.starts_with('$') && !name.contains('\\') {
                lines.push(format!("printf '%s  %s\\n' {zeros} {name} | sha256sum -c"));
            }
        }
        // b3sum prints names as they are; this program does not print control characters.
        if has_b3sum && !name.starts_with('$') {
            lines.push(format!("b3sum -- {name}"));
        }
        assert_alike(&dir, lines.iter().map(|line| (locale, merged(line))));
    }
    // Under its own name the program quotes, too.
    dir.run("sum a*b").fails(1, &["fullbore: 'a*b': "]);
}

#[test]
fn first_operand_ends_the_flags_if_posix_is_requested() {
    let dir = TestDir::new();
    dir.file("a", "abc\n");
    dir.directories(["d"]);
    let lines = include_str!("lines/flags-after-operands.txt").lines();
    assert_alike(&dir, lines.map(|line| ("C", merged(&format!("export POSIXLY_CORRECT=; {line}")))));
    let words = |words: &str| run(dir.command(words).env("POSIXLY_CORRECT", "1"));
    words("wc a -l").fails(1, &["-l"]);
    words("cp a -v").succeeds();
    assert_eq!(dir.read("-v"), b"abc\n");
    // `rg` and `b3sum` accept flags everywhere.
    assert_eq!(words("grep abc a --count").succeeds().text(), "1\n");
    if has("b3sum") {
        let b3sum = line_of_tools(dir.path(), "POSIXLY_CORRECT=1 b3sum a --no-names", true, "C");
        assert_eq!(b3sum.succeeds().text().trim_end().len(), 64);
    }
}

#[test]
fn cksum_accepts_later_coreutils_flags() {
    let dir = TestDir::new();
    dir.file("a", "abc");
    let cksum = |line: &str| told(&dir, &format!("cksum {line}"));
    let sums = |words: &[&str]| run(fullbore(["sum"]).args(words).arg("a").current_dir(dir.path())).text();
    // `cksum` computes the last algorithm; `sum` computes each.
    assert_eq!(cksum("-a sha1 -a md5 a"), "MD5 (a) = 900150983cd24fb0d6963f7d28e17f72\nexit 0\n");
    assert_eq!(sums(&["-a", "sha1", "-a", "md5"]).lines().count(), 2);
    // Lines of a family are distinguished by length.
    for family in ["sha2", "sha3"] {
        for bits in ["224", "256", "384", "512"] {
            for base64 in ["", "--base64"] {
                let line = format!("-a {family} -l {bits} --untagged {base64} a | cksum -a {family} -c");
                assert_eq!(cksum(&line), "a: OK\nexit 0\n", "{line}");
            }
        }
    }
    let needs = "cksum: --algorithm=sha2 requires specifying --length 224, 256, 384, or 512\nexit 1\n";
    assert_eq!(cksum("-a sha2 a"), needs);
    assert_eq!(cksum("--length=foo -a blake2b a").lines().next(), Some("cksum: invalid length: 'foo'"));
    // Sums of blake3, of any length.
    let blake3 = sums(&[]);
    let digits = blake3.split(' ').next().unwrap();
    assert_eq!(cksum("-a blake3 a"), format!("BLAKE3-256 (a) = {digits}\nexit 0\n"));
    assert_eq!(cksum("-a blake3 -l 40 a"), format!("BLAKE3-40 (a) = {}\nexit 0\n", &digits[..10]));
    assert_eq!(cksum("-a blake3 -l 520 a | cksum -c"), "a: OK\nexit 0\n");
    assert_eq!(cksum("-a blake3 -l 16 --untagged a | cksum -a blake3 -c"), "a: OK\nexit 0\n");
    let short = format!("{}  a\n", &digits[..4]);
    run_with(fullbore(["sum", "-a", "blake3", "-c"]).current_dir(dir.path()), short.as_bytes()).fails(1, &[]);
    // Base64.
    assert_eq!(cksum("-a md5 --base64 a"), "MD5 (a) = kAFQmDzST7DWlj99KOF/cg==\nexit 0\n");
    assert_eq!(sums(&["-a", "md5", "--base64"]), "kAFQmDzST7DWlj99KOF/cg==  a\n");
    assert_eq!(cksum("-a md5 --base64 a | cksum -c"), "a: OK\nexit 0\n");
    let md5 = run_with(&mut fullbore(["sum", "-c"]), b"MD5 (/dev/null) = 1B2M2Y8AsgTpgAmY7PhCfg==\n");
    assert_eq!(md5.succeeds().text(), "/dev/null: OK\n");
    assert!(cksum("--base64 --raw -a md5 a").ends_with("exit 1\n"));
    assert_eq!(
        cksum("--raw -a md5 a a"),
        "cksum: the --raw option is not supported with multiple files\nexit 1\n"
    );
    // The report on the processor goes to standard error only.
    assert_eq!(cksum("--debug a 2> debug"), cksum("a"));
    assert!(std::fs::read_to_string(dir.at("debug")).unwrap().contains("cksum: avx2 support "));
    assert_eq!(told(&dir, "wc -l --debug a 2> debug"), "0 a\nexit 0\n");
    assert!(std::fs::read_to_string(dir.at("debug")).unwrap().contains("wc: avx2 support "));
}

#[test]
fn cksum_checks_its_own_output() {
    let dir = TestDir::new();
    dir.file("a", bytes(100_001, 7));
    dir.file("empty", "");
    dir.file("large", bytes(5_000_003, 8));
    let same = |ours: &str, peer: &str| {
        let program = peer.split(' ').next().unwrap();
        let Some(()) = or_skip(peer, installed(program)) else { return };
        let [ours, peer] =
            [format!(r#""$0" sum {ours}"#), peer.to_owned()].map(|line| dir.shell(&line).succeeds().text());
        assert_eq!(ours, peer);
    };
    same("-a crc a empty large", "cksum a empty large");
    same("-a crc < a", "cksum < a");
    same("-a bsd a empty large", "sum -r a empty large");
    same("-a sysv a empty large", "sum -s a empty large");
    same("-a sha224 a empty", "sha224sum a empty");
    same("-a sha384 a empty", "sha384sum a empty");
    same("-a blake2b a large", "b2sum a large");
    same("-a blake2b --length 128 a", "b2sum --length 128 a");
    same("-a blake2b --length 128 --tag a", "b2sum --length 128 --tag a");
    same("-a sm3 --tag a", "cksum -a sm3 a");
    same("-a sm3 a", "cksum -a sm3 --untagged a");
    let checks =
        r#""$0" sum -a md5 a > list; "$0" sum --untagged --check list; "$0" sum -a md5 --untagged -c list"#;
    assert_eq!(dir.shell(checks).succeeds().text(), "a: OK\na: OK\n");
    for bits in [224, 256, 384, 512] {
        let openssl = format!("openssl dgst -sha3-{bits} -r a | sed 's/ .a/  a/'");
        same(&format!("-a sha3-{bits} a"), &openssl);
        same(&format!("-a sha3 -l {bits} a"), &openssl);
    }
    same("-a sha2 -l 256 a", "sha256sum a");
    // Lists of the peers are checked.
    for line in [
        r#"cksum -a sm3 a large"#,
        r#"b2sum a empty"#,
        r#"b2sum -l 64 --tag a"#,
        r#"sha384sum a"#,
        r#"sha224sum a"#,
        r#"openssl dgst -sha3-512 a"#,
    ] {
        let line = format!(r#"{line} | "$0" sum -c"#);
        assert!(dir.shell(&line).succeeds().text().starts_with("a: OK\n"), "{line}");
    }
    let text = dir.shell(r#"b2sum -l 40 a | "$0" sum -a blake2b -c"#).succeeds().text();
    assert_eq!(text, "a: OK\n");
}
