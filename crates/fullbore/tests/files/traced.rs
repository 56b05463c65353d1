//! The system calls of a piece of work, as `strace` sees them in a process of its own.

use std::path::Path;
use std::process::{Command, Stdio};

/// Runs the test of this name once more, in a process of its own, where it finds the variable [`CHILD`] set to
/// `directory` and is to [`mark`] the beginning and the end of its work. The lines of its calls between the marks, or
/// `None`, and the reason printed, where nothing can be traced.
pub(crate) fn calls(name: &str, directory: &Path) -> Option<Vec<String>> {
    calls_with(name, directory, &[], |_| ())
}

/// As [`calls`], with some of the system calls made to fail or to wait, as `strace`'s `-e inject=` says; `meanwhile` is run
/// beside it and can watch the trace.
pub(crate) fn calls_with(
    name: &str,
    directory: &Path,
    inject: &[&str],
    meanwhile: impl FnOnce(&Path),
) -> Option<Vec<String>> {
    let inject: Vec<_> = inject.iter().flat_map(|what| ["-e".to_owned(), format!("inject={what}")]).collect();
    let works = Command::new("strace").arg("-f").args(&inject).arg("true").output();
    match works {
        Ok(output) if output.status.success() => {}
        Ok(output) => {
            println!("skipped: strace may not trace here: {output:?}");
            return None;
        }
        Err(error) => {
            println!("skipped: strace: {error}");
            return None;
        }
    }
    let trace = tempfile::NamedTempFile::new().unwrap();
    let child = Command::new("strace")
        .args(["-f", "-o"])
        .arg(trace.path())
        .args(&inject)
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", name])
        .env(CHILD, directory)
        // Two cannot trace one process: a leak sanitizer, where the tests are built with one, has no turn in this one.
        .env("LSAN_OPTIONS", "detect_leaks=0")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    meanwhile(trace.path());
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = std::fs::read_to_string(trace.path()).unwrap();
    Some(between_marks(&text).unwrap_or_else(|| panic!("the beginning is not marked: {output:?}")))
}

/// The calls of the thread that marked its beginning, up to its end. A call that another thread's line came in between is two
/// lines of the trace, the first ending `<unfinished ...>` and the second beginning `<... NAME resumed>`: they are put together.
fn between_marks(trace: &str) -> Option<Vec<String>> {
    let begin = trace.lines().position(|line| line.contains(BEGIN))?;
    let thread = trace.lines().nth(begin)?.split(' ').next()?;
    let mut calls: Vec<String> = Vec::new();
    for line in trace.lines().skip(begin).filter_map(|line| line.strip_prefix(thread)?.strip_prefix(' ')) {
        let line = line.trim_start();
        let resumed = line.strip_prefix("<... ").and_then(|rest| rest.split_once(" resumed>"));
        match (resumed, calls.last_mut()) {
            (Some((_, rest)), Some(call)) => call.push_str(rest),
            _ => calls.push(line.to_owned()),
        }
        let call = calls.last_mut()?;
        call.truncate(call.strip_suffix(" <unfinished ...>").unwrap_or(call).len());
    }
    Some(calls.into_iter().skip(1).take_while(|call| !call.contains(END)).collect())
}

/// Without what the allocator asks for, and what std looks at before closing in builds with debug assertions.
pub(crate) fn plainly(calls: Vec<String>) -> Vec<String> {
    let besides = ["brk(", "mmap(", "munmap(", "mremap(", "madvise("];
    let beside =
        |call: &String| besides.iter().any(|name| call.starts_with(name)) || call.contains("F_GETFD");
    calls.into_iter().filter(|call| !beside(call)).collect()
}

/// Set in the process that is traced.
pub(crate) const CHILD: &str = "FULLBORE_TEST_TRACED";

const BEGIN: &str = "fullbore-test-begin";
const END: &str = "fullbore-test-end";

/// What `work` does is what [`calls`] returns.
pub(crate) fn mark<T>(work: impl FnOnce() -> T) -> T {
    assert!(!Path::new(BEGIN).exists());
    let result = work();
    assert!(!Path::new(END).exists());
    result
}

#[test]
fn the_calls_of_the_work_are_seen_and_no_others() {
    if let Some(directory) = std::env::var_os(CHILD) {
        std::fs::write(Path::new(&directory).join("before"), "").unwrap();
        mark(|| std::fs::rename(Path::new(&directory).join("before"), Path::new(&directory).join("after")))
            .unwrap();
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let Some(calls) = calls("traced::the_calls_of_the_work_are_seen_and_no_others", directory.path()) else {
        return;
    };
    assert!(calls.len() == 1 && calls[0].starts_with("rename"), "{calls:?}");
}

#[test]
fn a_call_in_two_lines_is_one_call() {
    let trace = "\
7     statx(AT_FDCWD, \"before\") = 0
8     statx(AT_FDCWD, \"fullbore-test-begin\", AT_STATX_SYNC_AS_STAT, STATX_ALL,  <unfinished ...>
7     futex(0x7f, FUTEX_WAIT, 1, NULL <unfinished ...>
8     <... statx resumed>0x7f3a23641010) = -1 ENOENT (No such file or directory)
8     open(\"file\", O_RDONLY <unfinished ...>
7     <... futex resumed>)               = 0
8     <... open resumed>)               = 3
7     close(9) = 0
8     close(3)                          = 0
8     statx(AT_FDCWD, \"fullbore-test-end\", AT_STATX_SYNC_AS_STAT <unfinished ...>
7     exit(0) = ?
8     <... statx resumed>) = -1 ENOENT (No such file or directory)
8     close(4) = 0
";
    assert_eq!(
        between_marks(trace).unwrap(),
        ["open(\"file\", O_RDONLY)               = 3", "close(3)                          = 0"]
    );
    assert_eq!(between_marks("8 close(4) = 0\n"), None);
}
