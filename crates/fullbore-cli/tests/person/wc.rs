//! `fullbore wc`: flags of its own and output; `wc_as_gnu` compares it with GNU `wc`.

use crate::support::*;

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
    let missing = serde_json::json!({ "path": "missing", "error": format!("missing: {}", not_found()) });
    assert_eq!(found["files"], serde_json::json!([file("one", 1, 2, 3), missing, file("two", 0, 1, 1)]));
    assert_eq!(found["total"], serde_json::json!({ "lines": 1, "words": 3, "columns": 3 }));
    assert!(found["run"]["real_seconds"].as_f64().unwrap() > 0.0);
    assert_eq!(ended.text().lines().nth(3), Some(file("two", 0, 1, 1).to_string().as_str()));
    #[cfg(unix)]
    {
        fs::write(dir.path().join(OsStr::from_bytes(b"\xff")), "a\n").unwrap();
        let found = run(dir.command("wc -l --json").arg(OsStr::from_bytes(b"\xff"))).succeeds().json();
        assert_eq!(found["files"][0]["path_bytes"], "ff");
    }
}

#[test]
fn a_list_without_an_end_of_a_name_is_refused() {
    let dir = TestDir::new();
    let list = [b"a\0".as_slice(), &vec![b'x'; 3 << 20]].concat();
    dir.file("a", "a b\n");
    let ended = run_with(&mut dir.command("wc -w --files0-from=-"), &list);
    assert!(ended.code() == 1 && ended.stderr.contains("more than 1 MiB"), "{ended}");
    assert!(ended.text().contains("2 a\n"), "{ended}");
}

#[test]
fn a_strategy_that_contradicts_itself_is_refused_before_anything_is_read() {
    let dir = TestDir::new();
    dir.file("a", "a b\n");
    for (flags, name) in [
        ("--strategy method=mmap,cache=drop", "--strategy"),
        ("--strategy method=mmap --cache drop", "--cache"),
        ("--strategy method=direct,cache=keep", "--strategy"),
        ("--strategy read=stdio,read-cache=direct", "--strategy"),
    ] {
        let ended = dir.run(&format!("wc {flags} a")).fails(1, &[name, "name another"]);
        assert!(ended.stdout.is_empty(), "{ended}");
    }
    dir.run("wc --strategy method=buffered,cache=direct a").succeeds();
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

#[test]
fn bytes_of_a_run_are_those_that_were_read() {
    let dir = TestDir::new();
    dir.file("short", "a\n".repeat(3));
    dir.file("pages", vec![b'\n'; 8192]);
    dir.file("long", vec![b'\n'; 100_000]);
    let cases = [("-c long", 0), ("-l long", 100_000), ("-l pages", 8192), ("-l short pages", 8198)];
    for (words, bytes) in cases {
        let found = dir.run(&format!("wc {words} --json")).succeeds().json();
        assert_eq!(found["run"]["bytes"], bytes, "{words}");
    }
}
