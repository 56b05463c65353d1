//! Invalid documents: too long, endless, or of one long line.

use crate::support::*;
/// Runs the command, on Unix with 400 MB of address space: it must reject the document with a short message that names
/// the limit.
#[track_caller]
fn refuses(words: &[&str], path: &Path, limit: &str) {
    #[cfg(unix)]
    let ended = shell(&format!(r#"ulimit -v 400000; "$0" {} "$1" >/dev/null"#, words.join(" ")), &[path]);
    #[cfg(windows)]
    let ended = run(fullbore(words).arg(path));
    assert!(ended.code() == 2 && ended.stderr.contains(limit), "{words:?} {}: {ended}", path.display());
    assert!(ended.stderr.len() < 1000, "{words:?}: {} bytes of message", ended.stderr.len());
}

#[test]
fn overlong_documents_are_rejected_immediately() {
    let dir = TestDir::new();
    let long = dir.at("long.toml");
    File::create(&long).unwrap().set_len(1 << 30).unwrap();
    for (words, limit) in [
        (&["bench", "run"][..], "4M"),
        (&["bench", "run", "--job"], "4M"),
        (&["report"], "64M"),
        (&["bench", "export", "--fio", "a", "--from"], "64M"),
    ] {
        refuses(words, &long, limit);
        if cfg!(unix) {
            refuses(words, Path::new("/dev/zero"), limit);
        }
    }
    dir.directories(["run"]);
    fs::rename(&long, dir.at("run/results.json")).unwrap();
    refuses(&["bench", "run", "--resume"], &dir.at("run"), "64M");
    #[cfg(unix)]
    {
        let line =
            r#"ulimit -v 400000; yes | "$0" report - 2>&1; yes | "$0" bench run --job /dev/stdin 2>&1"#;
        let text = shell(line, &[]).text();
        assert!(text.contains("64M") && text.contains("4M"), "{text}");
    }
    // An unreadable profile does not prevent counting.
    dir.directories(["fullbore"]);
    fs::rename(dir.at("run/results.json"), dir.at("fullbore/profile.json")).unwrap();
    let small = dir.file("small", "a\n");
    let ended = run(fullbore(["wc", "-l"]).arg(&small).env("XDG_CONFIG_HOME", dir.path())).succeeds();
    assert!(ended.stderr.contains("limit of 4M") && ended.text().starts_with("1 "), "{ended}");
}

#[test]
fn a_bad_line_is_quoted_in_part() {
    let dir = TestDir::new();
    let line = "x".repeat(3 << 20);
    let toml = dir.file("a.toml", format!("[[experiment]]\nname = {line}\n"));
    let key = dir.file("b.toml", format!("[[experiment]]\n{line} = 1\n"));
    let job = dir.file("a.fio", format!("[job]\n{line}\n"));
    let json = dir.file("a.json", format!(r#"{{"schema": "{line}"}}"#));
    let kind =
        dir.file("b.json", format!(r#"{{"schema": "fullbore.results", "version": 1, "run": "{line}"}}"#));
    for (words, path, what) in [
        (&["bench", "run"][..], &toml, "line 2"),
        (&["bench", "run"], &key, "line"),
        (&["bench", "run", "--job"], &job, "line 2"),
        (&["report"], &json, "schema"),
        (&["report"], &kind, "damaged"),
    ] {
        refuses(words, path, what);
        refuses(words, path, "xxx");
    }
}
