//! Names and documents cannot control a terminal: their control characters are escaped.

use crate::support::*;
use std::os::fd::OwnedFd;
use std::sync::Mutex;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::report::results;

/// Returns the output of a command on a terminal, and its exit code.
fn on_a_terminal(command: &mut Command) -> (Vec<u8>, i32) {
    let (seen, code) = on_a_terminal_while(command.stdin(Stdio::null()), |_, _| ());
    (seen, code.unwrap())
}

/// As [`on_a_terminal`], while `meanwhile` runs with the process and a function that waits for a text; no exit code after a
/// signal. The result of `meanwhile` is kept until the process has ended.
pub(crate) fn on_a_terminal_while<T: Send>(
    command: &mut Command,
    meanwhile: impl FnOnce(u32, &dyn Fn(&str)) -> T + Send,
) -> (Vec<u8>, Option<i32>) {
    let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&terminal).unwrap();
    unlockpt(&terminal).unwrap();
    let name = ptsname(&terminal, Vec::new()).unwrap();
    let other: OwnedFd =
        File::options().read(true).write(true).open(Path::new(name.to_str().unwrap())).unwrap().into();
    command.stdout(Stdio::from(other.try_clone().unwrap())).stderr(Stdio::from(other));
    command.env("NO_COLOR", "1").env("XDG_CONFIG_HOME", "/nonexistent");
    let mut child = command.spawn().unwrap();
    let id = child.id();
    // The child then has the last descriptors of the terminal, so reading ends when it exits.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let (seen, mut screen) = (Mutex::new(Vec::new()), File::from(terminal));
    let shows = |text: &str| String::from_utf8_lossy(&seen.lock().unwrap()).contains(text);
    let code = thread::scope(|scope| {
        let wait = |text: &str| assert_eventually(text, true, || shows(text));
        let _kept = scope.spawn(move || meanwhile(id, &wait));
        let mut part = [0; 4096];
        while let Ok(count @ 1..) = screen.read(&mut part) {
            seen.lock().unwrap().extend_from_slice(&part[..count]);
        }
        child.wait().unwrap().code()
    });
    (seen.into_inner().unwrap(), code)
}

/// Names with control sequences: by ESC, by C1 characters in UTF-8 and as bytes.
fn hostile() -> [&'static [u8]; 3] {
    [b"e\x1b[2Jsc", b"c\xc2\x9b2Jd", b"b\x9b2Jy"]
}

/// Counts the control characters in terminal output.
fn controls(seen: &[u8]) -> usize {
    let wild = |character: &char| character.is_control() && !"\r\n\t".contains(*character);
    let raw = |chunk: &[u8]| chunk.iter().filter(|byte| (0x80..=0x9f).contains(*byte)).count();
    seen.utf8_chunks().map(|chunk| chunk.valid().chars().filter(wild).count() + raw(chunk.invalid())).sum()
}

#[test]
fn names_are_escaped_on_a_terminal() {
    let dir = TestDir::new();
    let names: Vec<PathBuf> =
        hostile().map(|name| dir.at("").join(std::ffi::OsStr::from_bytes(name))).to_vec();
    for name in &names {
        fs::write(name, "content\n").unwrap();
        fs::write(name.with_extension("toml"), "damaged \x1b[2J = [").unwrap();
    }
    let mut tried = 0;
    for locale in ["C", "C.UTF-8"] {
        for name in &names {
            let missing = name.with_extension("missing");
            let toml = name.with_extension("toml");
            let lists = name.with_extension("sums");
            let listed = [b"md5 (", name.as_os_str().as_bytes(), b") = 00\nnonsense\n"].concat();
            fs::write(&lists, listed).unwrap();
            let (copied, deeper) = (dir.at("copied"), missing.join("x"));
            let name = name.as_path();
            let calls: Vec<(&[&str], Vec<&Path>)> = vec![
                (&["wc"], vec![name, &missing, name]),
                (&["wc", "--explain", "--strategy", "request=4K"], vec![name]),
                (&["wc", "--files0-from"], vec![&missing]),
                (&["wc", "--total"], vec![name]),
                (&["cmp"], vec![name, &toml]),
                (&["cmp"], vec![name, &missing]),
                (&["cmp", "-n"], vec![name, name, name]),
                (&["cmp", "a"], vec![name, name, name]),
                (&["cp", "-v"], vec![name, &copied]),
                (&["cp", "-v", "--explain"], vec![name, &copied]),
                (&["cp"], vec![&missing, &copied]),
                (&["cp"], vec![name, name, &missing]),
                (&["sum"], vec![name, &missing]),
                (&["sum", "--tag"], vec![name]),
                (&["sum", "--json"], vec![name, &missing]),
                (&["sum", "--check", "--warn"], vec![&lists, &missing]),
                (&["sum", "-a"], vec![name]),
                (&["dedupe"], vec![dir.path(), &missing]),
                (&["dedupe", "--json"], vec![dir.path()]),
                (&["transform", "upper"], vec![&missing, name]),
                (&["transform", "upper", "--explain", "--time"], vec![name, &copied]),
                (&["transform"], vec![name, name, name]),
                (&["gen", "10"], vec![&deeper]),
                (&["probe"], vec![&missing]),
                (&["probe", "--json"], vec![name]),
                (&["probe"], vec![name]),
                (&["report"], vec![&missing]),
                (&["report"], vec![&toml]),
                (&["report", "--quiet", "--csv"], vec![name, name]),
                (&["bench", "run"], vec![&toml]),
                (&["bench", "run", "--job"], vec![&toml]),
                (&["bench", "show"], vec![name]),
                (&["bench", "--time"], vec![name]),
                (&["bench", "run", "--resume"], vec![&missing]),
                (&["profile", "show"], vec![&missing]),
                (&["man"], vec![&missing]),
                (&["completions"], vec![name]),
                (&["grep", "none"], vec![&missing]),
                (&[], vec![name]),
            ];
            for (words, paths) in calls {
                let mut command = fullbore(words);
                let (seen, _) = on_a_terminal(command.args(&paths).env("LC_ALL", locale));
                let shown = String::from_utf8_lossy(&seen);
                let about = format!("{locale} {words:?} {paths:?}: {}", shown.escape_debug());
                assert!(!seen.is_empty() && controls(&seen) == 0, "{about}");
                tried += 1;
            }
            let _ = fs::remove_file(dir.at("copied"));
        }
    }
    assert!(tried > 200);
}

#[test]
fn names_are_not_escaped_in_a_pipe() {
    let dir = TestDir::new();
    for name in hostile() {
        fs::write(dir.path().join(std::ffi::OsStr::from_bytes(name)), "x").unwrap();
    }
    let named =
        |stdout: &[u8]| hostile().iter().all(|name| stdout.windows(name.len()).any(|part| part == *name));
    let inside = |words: &[&str]| {
        run(fullbore(words).args(hostile().map(std::ffi::OsStr::from_bytes)).current_dir(dir.path())).stdout
    };
    for words in [&["wc"][..], &["sum"], &["sum", "-a", "md5"], &["dedupe"]] {
        assert!(named(&inside(words)), "{words:?}");
    }
}

#[test]
fn results_document_is_escaped_on_a_terminal() {
    let dir = TestDir::new();
    let mut document = serde_json::to_value(results(&[1e9, 2e9, 3e9], 1)).unwrap();
    let sane = dir.file("sane.json", document.to_string());
    let (seen, code) = on_a_terminal(fullbore(["report"]).arg(&sane));
    assert_eq!((controls(&seen), code), (0, 0));
    let count = poison(&mut document, "");
    assert!(count > 10, "{count}");
    let hostile = dir.file("hostile.json", document.to_string());
    for words in [&["report"][..], &["report", "--json"], &["report", "--markdown", "-"]] {
        let (seen, code) = on_a_terminal(fullbore(words).arg(&hostile));
        let shown = String::from_utf8_lossy(&seen);
        assert_eq!((controls(&seen), code), (0, 0), "{words:?}: {}", shown.escape_debug());
        assert!(shown.contains("u001b"), "{words:?}");
    }
    let (seen, _) = on_a_terminal(fullbore(["report", "--anyway"]).arg(&hostile).arg(&sane));
    assert_eq!(controls(&seen), 0, "{}", String::from_utf8_lossy(&seen).escape_debug());
}

/// Inserts escape sequences into the free texts of a document, and returns the number of texts changed.
fn poison(value: &mut serde_json::Value, key: &str) -> usize {
    // Fixed words, and texts that are parsed again.
    const CLOSED: &[&str] = &[
        "schema", "id", "base", "sets", "kind", "state", "cache", "stop", "reason", "axis", "then",
        "measure", "regime",
    ];
    match value {
        serde_json::Value::String(text) if !CLOSED.contains(&key) => {
            text.push_str("\u{1b}[2J\u{9b}2J\u{7f}");
            1
        }
        serde_json::Value::Array(values) => values.iter_mut().map(|value| poison(value, key)).sum(),
        serde_json::Value::Object(values) => values.iter_mut().map(|(key, value)| poison(value, key)).sum(),
        _ => 0,
    }
}
