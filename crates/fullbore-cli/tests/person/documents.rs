//! Invalid documents: too long, endless, or of one long line.

use crate::support::*;

/// Runs the command, on Unix with 400 MB of address space: it must reject the document with a short message that names
/// the limit.
#[track_caller]
fn refuses(dir: &TestDir, words: &str, limit: &str) {
    #[cfg(unix)]
    let ended = dir.shell(&format!(r#"ulimit -v 400000; "$0" {words} >/dev/null"#));
    #[cfg(windows)]
    let ended = dir.run(words);
    assert!(ended.code() == 2 && ended.stderr.contains(limit), "{words}: {ended}");
    assert!(ended.stderr.len() < 1000, "{words}: {} bytes of message", ended.stderr.len());
}

#[test]
fn overlong_documents_are_rejected_immediately() {
    let dir = TestDir::new();
    let long = dir.at("long.toml");
    File::create(&long).unwrap().set_len(1 << 30).unwrap();
    for (words, limit) in [
        ("bench run", "4M"),
        ("bench run --job", "4M"),
        ("report", "64M"),
        ("bench export --fio a --from", "64M"),
    ] {
        refuses(&dir, &format!("{words} long.toml"), limit);
        if cfg!(unix) {
            refuses(&dir, &format!("{words} /dev/zero"), limit);
        }
    }
    dir.directories(["run", "fullbore"]);
    fs::rename(&long, dir.at("run/results.json")).unwrap();
    refuses(&dir, "bench run --resume run", "64M");
    #[cfg(unix)]
    {
        let line =
            r#"ulimit -v 400000; yes | "$0" report - 2>&1; yes | "$0" bench run --job /dev/stdin 2>&1"#;
        assert_contains(&dir.shell(line).text(), &["64M", "4M"]);
    }
    // An unreadable profile does not prevent counting. Small files need none.
    fs::rename(dir.at("run/results.json"), dir.at("fullbore/profile.json")).unwrap();
    dir.file("small", "a\n");
    dir.file("large", "a\n".repeat(2 << 20));
    for (name, lines, reported) in [("small", "1 ", false), ("large", "2097152 ", true)] {
        let ended = run(dir.command(&format!("wc -l {name}")).env("XDG_CONFIG_HOME", dir.path())).succeeds();
        assert_eq!(ended.stderr.contains("limit of 4M"), reported, "{ended}");
        assert!(ended.text().starts_with(lines), "{ended}");
    }
}

#[test]
fn a_bad_line_is_quoted_in_part() {
    let dir = TestDir::new();
    let line = "x".repeat(3 << 20);
    let run = format!(r#"{{"schema": "fullbore.results", "version": 1, "run": "{line}"}}"#);
    for (words, name, content, what) in [
        ("bench run", "a.toml", format!("[[experiment]]\nname = {line}\n"), "line 2"),
        ("bench run", "b.toml", format!("[[experiment]]\n{line} = 1\n"), "line"),
        ("bench run --job", "a.fio", format!("[job]\n{line}\n"), "line 2"),
        ("report", "a.json", format!(r#"{{"schema": "{line}"}}"#), "schema"),
        ("report", "b.json", run, "damaged"),
    ] {
        dir.file(name, content);
        refuses(&dir, &format!("{words} {name}"), what);
        refuses(&dir, &format!("{words} {name}"), "xxx");
    }
}
