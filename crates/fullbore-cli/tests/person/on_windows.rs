//! Paths, names, open files and consoles as Windows has them.

use crate::support::*;
use std::os::windows::ffi::OsStringExt;
use std::os::windows::fs::{MetadataExt, OpenOptionsExt};
use std::os::windows::process::CommandExt;

use windows_sys::Win32::System::Console as console;
use windows_sys::Win32::System::Threading::CREATE_NO_WINDOW;

/// `FILE_SHARE_READ`.
const SHARE_READ: u32 = 1;

/// Opens a file; other programs may share it as in `share`.
fn held(path: &Path, share: u32) -> File {
    File::options().read(true).share_mode(share).open(path).unwrap()
}

#[test]
fn long_paths_work_in_every_tool() {
    let dir = TestDir::new();
    let deep = ["t", &"a".repeat(120), &"b".repeat(120), &"c".repeat(120)].join("\\");
    fs::create_dir_all(dir.at(&deep)).unwrap();
    let file = format!("{deep}\\file");
    dir.file(&file, "needle\n");
    let text = |words: &[&str]| run(dir.command("").args(words)).succeeds().text();
    assert_eq!(text(&["wc", "-l", &file]), format!("1 {file}\n"));
    assert_eq!(text(&["grep", "-cH", "needle", "t"]), format!("{file}:1\n"));
    assert!(text(&["sum", "-r", "t"]).ends_with(&format!("  {}\n", slashes(&file))));
    text(&["copy", "-r", "t", "u"]);
    let other = file.replacen('t', "u", 1);
    assert_eq!(text(&["cmp", &file, &other]), "");
    assert!(text(&["dedupe", "t", "u"]).ends_with(&format!("    {file}\n    {other}\n")));
    text(&["transform", "upper", &file, &other]);
    assert_eq!(fs::read(dir.at(&other)).unwrap(), b"NEEDLE\n");
    text(&["gen", "10", &format!("{deep}\\made")]);
    text(&["probe", &file]);
    assert_eq!(names(&dir.at(&deep)), ["file", "made"]);
}

#[test]
fn invalid_names_are_not_missing_files() {
    let dir = TestDir::new();
    dir.file("in", "bytes");
    for name in ["a<b", "a|b", "a\"b"] {
        for words in ["transform upper in", "copy in", "gen 10"] {
            let ended = run(dir.command(words).arg(name));
            let code = if words.starts_with("copy") { 1 } else { 2 };
            ended.fails(code, &[name, &system_text(123)]);
        }
    }
    assert_eq!(dir.names(), ["in"]);
}

#[test]
fn names_that_differ_in_case_are_one_file() {
    let dir = TestDir::new();
    dir.file("Name", "bytes");
    dir.run("copy Name name").fails(1, &["are the same file"]);
    dir.run("transform upper Name NAME").fails(2, &["same file"]);
    dir.run("cmp Name name").succeeds();
    assert_eq!((dir.read("Name"), dir.names()), (b"bytes".to_vec(), vec!["Name".to_owned()]));
}

#[test]
fn patterns_match_names_that_are_not_unicode() {
    let dir = TestDir::new();
    let name: OsString = OsStringExt::from_wide(&[0x69, 0xd800]);
    if let Err(error) = fs::write(dir.path().join(&name), "bytes") {
        return println!("skipped: the system makes no such names: {error}");
    }
    dir.files(["in", "other"], "bytes");
    dir.directories(["out"]);
    dir.run("copy i* out").succeeds();
    assert!(dir.at("out").join(&name).exists());
    assert_eq!(fs::read_dir(dir.at("out")).unwrap().count(), 2);
    // In alphabetical order, together with those that are.
    let dir = TestDir::new();
    for (unit, len) in [(0x61, 1), (0xd800, 2), (0xe000, 3)] {
        let name: OsString = OsStringExt::from_wide(&[0x69, unit]);
        fs::write(dir.path().join(name), bytes(len, 1)).unwrap();
    }
    let counted = dir.run("wc -c i*").succeeds();
    let counted = String::from_utf8_lossy(&counted.stdout);
    let lens: Vec<_> = counted.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(lens, ["1", "2", "3", "6"], "{counted}");
}

#[test]
fn separators_and_prefixes_of_paths_are_understood() {
    let dir = TestDir::new();
    dir.directories(["sub"]);
    let file = dir.file("sub/file", "bytes");
    for path in ["sub/file", "sub\\file", ".\\sub/../sub\\file", file.to_str().unwrap()] {
        assert_eq!(run(dir.command("wc -c").arg(path)).succeeds().text(), format!("5 {path}\n"));
        run(dir.command("transform upper").args([path, "sub\\out"])).succeeds();
        assert_eq!(dir.read("sub/out"), b"BYTES", "{path}");
        for target in ["sub\\copied", ".\\sub/copied", "sub\\new\\"] {
            dir.directories(["sub\\new"]);
            run(dir.command("copy --backup").args([path, target])).succeeds();
        }
        assert_eq!(names(&dir.at("sub")), ["copied", "copied~", "file", "new", "out"], "{path}");
        assert_eq!(names(&dir.at("sub/new")), ["file"], "{path}");
        fs::remove_dir_all(dir.at("sub/new")).unwrap();
    }
    dir.run("copy sub\\file missing\\").fails(1, &["missing", "Not a directory"]);
    dir.run("copy -r sub\\ tree").succeeds();
    dir.run("copy -r sub\\. tree\\").succeeds();
    assert_eq!(names(&dir.at("tree")), names(&dir.at("sub")));
    dir.run("copy --parents sub\\file tree").succeeds();
    assert_eq!(names(&dir.at("tree/sub")), ["file"]);
    run(dir.command("copy --parents").args([file.to_str().unwrap(), "tree"])).succeeds();
    let below: PathBuf =
        file.components().filter(|part| matches!(part, std::path::Component::Normal(_))).collect();
    assert_eq!(fs::read(dir.at("tree").join(below)).unwrap(), b"bytes");
    let verbatim = format!(r"\\?\{}", file.display().to_string().replace('/', "\\"));
    assert_eq!(run(dir.command("wc -c").arg(&verbatim)).succeeds().text(), format!("5 {verbatim}\n"));
}

#[test]
fn the_program_expands_patterns_of_operands() {
    let dir = TestDir::new();
    for name in ["one.txt", "two.txt", "other.log", "f[1].txt", "f1.txt", "b", "b.c"] {
        dir.file(name, "bytes");
    }
    let text = |words: &str| dir.run(words).succeeds().text();
    assert_eq!(text("wc -c t?o.txt *.LOG"), " 5 two.txt\n 5 other.log\n10 total\n");
    assert_eq!(text("sum *1*.txt -a crc").lines().count(), 2);
    assert_eq!(text("wc -c f[1].txt"), "5 f[1].txt\n", "brackets are ordinary characters");
    assert_eq!(text("grep -c b.* b"), "1\n", "the regular expression is no operand");
    dir.run("wc -c *.none").fails(1, &["*.none"]);
}

#[test]
fn lists_of_sums_have_slashes() {
    let dir = TestDir::new();
    dir.directories(["tree/deep"]);
    for name in ["tree/z", "tree/deep/er", "tree/deep.txt", "tree/deep-er"] {
        dir.file(name, name);
    }
    let list = dir.run("sum -r tree").succeeds().text();
    let listed: Vec<&str> = list.lines().map(|line| &line[64..]).collect();
    // In the order of `sort` in the C locale.
    assert_eq!(listed, ["  tree/deep-er", "  tree/deep.txt", "  tree/deep/er", "  tree/z"]);
    dir.file("list", &list);
    assert_eq!(dir.run("sum -c list").succeeds().text().matches(": OK\n").count(), 4);
    assert_eq!(
        run(dir.command("sum").arg("tree\\z")).succeeds().text(),
        format!("{}\n", list.lines().last().unwrap())
    );
}

#[test]
fn a_held_target_is_an_error_and_keeps_its_bytes() {
    let dir = TestDir::new();
    dir.file("in", "new");
    let out = dir.file("out", "old");
    let kept = held(&out, SHARE_READ);
    for (words, code) in [
        ("transform upper in out", 2),
        ("transform upper in out --overwrite", 2),
        ("transform upper --in-place out", 2),
        ("gen 10 out", 2),
        ("copy in out", 1),
        ("copy -f in out", 1),
        ("copy --verify in out", 1),
    ] {
        dir.run(words).fails(code, &["out"]);
        assert_eq!((fs::read(&out).unwrap(), dir.names().len()), (b"old".to_vec(), 2), "{words}");
    }
    dir.file("other", "old");
    let text = dir.run("dedupe --link hard other out");
    assert_eq!((fs::read(&out).unwrap(), dir.names().len()), (b"old".to_vec(), 3), "{text}");
    drop(kept);
    dir.run("transform upper in out").succeeds();
    assert_eq!(fs::read(&out).unwrap(), b"NEW");
}

#[test]
fn a_file_that_another_program_keeps_for_itself_is_reported() {
    let dir = TestDir::new();
    dir.directories(["t"]);
    for name in ["t/in", "t/other"] {
        dir.file(name, "bytes");
    }
    let _kept = held(&dir.at("t/in"), 0);
    let reason = system_text(32);
    for (words, code) in [
        ("wc t/in t/other", 1),
        ("sum t/in t/other", 1),
        ("grep bytes t/in t/other", 2),
        ("cmp t/in t/other", 2),
        ("copy t/in out", 1),
        ("transform upper t/in out", 2),
        ("dedupe t", 1),
    ] {
        dir.run(words).fails(code, &["in", &reason]);
        assert_eq!(dir.names(), ["t"], "{words}");
    }
    // The others are copied.
    dir.run("copy -r t u").fails(1, &["in", &reason]);
    assert_eq!(names(&dir.at("u")), ["other"]);
}

#[test]
fn a_read_only_file_is_neither_replaced_nor_written() {
    let dir = TestDir::new();
    dir.file("in", "new");
    let guarded = dir.file("guarded", "old");
    let protect = |on: bool| {
        let mut permissions = fs::metadata(&guarded).unwrap().permissions();
        permissions.set_readonly(on);
        fs::set_permissions(&guarded, permissions).unwrap();
    };
    protect(true);
    if File::options().write(true).open(&guarded).is_ok() {
        protect(false);
        return println!("skipped: read-only files: the system opens them for writing");
    }
    for words in ["transform upper in guarded", "transform upper in guarded --overwrite", "gen 10 guarded"] {
        dir.run(words).fails(2, &["guarded", &system_text(5)]);
    }
    dir.run("copy in guarded").fails(1, &["guarded", &system_text(5)]);
    assert_eq!(fs::read(&guarded).unwrap(), b"old");
    dir.run("copy -f in guarded").succeeds();
    assert_eq!(fs::read(&guarded).unwrap(), b"new");
    protect(false);
}

#[test]
fn flags_are_copied_with_extended_attributes_and_kept_by_a_replaced_file() {
    /// `FILE_ATTRIBUTE_HIDDEN` and `FILE_ATTRIBUTE_SYSTEM`.
    const BOTH: u32 = 6;
    let dir = TestDir::new();
    let new = File::options().write(true).create_new(true).attributes(BOTH).open(dir.at("in"));
    new.unwrap().write_all(b"bytes").unwrap();
    let flags = |name: &str| fs::metadata(dir.at(name)).unwrap().file_attributes() & BOTH;
    if flags("in") != BOTH {
        return println!("skipped: flags of files: the file system has none");
    }
    dir.run("copy in plain").succeeds();
    // Without the times of `copy -a`: Wine drops the flags when it sets them.
    dir.run("copy --preserve=xattr in exact").succeeds();
    assert_eq!((flags("plain"), flags("exact")), (0, BOTH));
    dir.run("transform upper plain in").succeeds();
    dir.run("transform upper --in-place exact").succeeds();
    for name in ["in", "exact"] {
        assert_eq!((flags(name), dir.read(name)), (BOTH, b"BYTES".to_vec()), "{name}");
    }
}

#[test]
fn a_tools_name_in_capitals_is_its_name() {
    let dir = TestDir::new();
    dir.file("in", "a b\n");
    let mut tool = Command::new(name_binary(dir.path(), "WC"));
    assert_eq!(run(tool.arg("in").current_dir(dir.path())).succeeds().text(), "1 2 4 in\n");
}

#[test]
fn messages_have_names_in_any_script() {
    let dir = TestDir::new();
    let missing = "gr\u{fc}n-\u{6f22}\u{5b57}";
    for (tool, code) in [("wc", 1), ("sum", 1), ("probe", 2)] {
        run(dir.command(tool).arg(missing)).fails(code, &[missing]);
    }
    dir.file(missing, "bytes");
    assert_eq!(run(dir.command("wc -c").arg(missing)).succeeds().text(), format!("5 {missing}\n"));
}

/// Runs a test again in a process with a console of its own, because an event reaches every program of a console; true in that
/// process.
fn has_own_console(test: &str) -> bool {
    const INNER: &str = "FULLBORE_TEST_CONSOLE";
    if std::env::var_os(INNER).is_some() {
        return true;
    }
    let arguments = ["--exact", test, "--include-ignored", "--nocapture"];
    let mut inner = program(&std::env::current_exe().unwrap(), arguments);
    print!("{}", run(inner.env(INNER, "1").creation_flags(CREATE_NO_WINDOW)).succeeds().text());
    false
}

/// Lets this process survive the events of its console, which its children then do not ignore.
#[allow(unsafe_code, reason = "std has no such call")]
fn survive_events() {
    unsafe extern "system" fn handled(_: u32) -> windows_sys::core::BOOL {
        1
    }
    // SAFETY: the handler does nothing, so it may run on any thread.
    let set = unsafe {
        console::SetConsoleCtrlHandler(None, 0) != 0 && console::SetConsoleCtrlHandler(Some(handled), 1) != 0
    };
    assert!(set, "{}", std::io::Error::last_os_error());
}

/// Sends an event to the programs of the console of this process.
#[allow(unsafe_code, reason = "std has no such call")]
fn send(event: u32) -> std::io::Result<()> {
    const ALL: u32 = 0;
    // SAFETY: a call with numbers.
    match unsafe { console::GenerateConsoleCtrlEvent(event, ALL) } {
        0 => Err(std::io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// Sends an event of the console to a run whose input never ends.
fn event_ends_a_run(event: u32) {
    survive_events();
    let dir = TestDir::new();
    dir.file("out", "old");
    for strategy in ["auto", "cci", "cci-mm", "cci-ex"] {
        let words = format!("transform upper - out --strategy {strategy}");
        let mut running = start(dir.command(&words).stdin(Stdio::piped()));
        let mut input = running.child.stdin.take().unwrap();
        input.write_all(b"bytes").unwrap();
        assert_eventually("names", 2, || dir.names().len());
        if let Err(error) = send(event) {
            running.kill();
            running.end();
            return println!("skipped: the system sends no events to this console: {error}");
        }
        let ended = running.end();
        assert_eq!(ended.code(), 130, "{strategy}: {ended}");
        assert_eq!((dir.names(), dir.read("out")), (vec!["out".to_owned()], b"old".to_vec()), "{strategy}");
    }
}

#[test]
fn ctrl_c_ends_a_run_and_leaves_the_old_file_and_nothing_else() {
    if has_own_console("on_windows::ctrl_c_ends_a_run_and_leaves_the_old_file_and_nothing_else") {
        event_ends_a_run(console::CTRL_C_EVENT);
    }
}

#[test]
#[ignore = "Wine ends a program at Ctrl-Break without calling its handler"]
fn ctrl_break_ends_a_run_as_ctrl_c_does() {
    if has_own_console("on_windows::ctrl_break_ends_a_run_as_ctrl_c_does") {
        event_ends_a_run(console::CTRL_BREAK_EVENT);
    }
}
