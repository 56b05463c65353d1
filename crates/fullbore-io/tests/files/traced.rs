//! The system calls of a block of code, traced by `strace` in a process of its own.

use std::path::Path;
use std::process::Stdio;

use fullbore_testkit::ground::{everywhere, write_file};
use fullbore_testkit::processes::{alone, traced};

/// Runs the test of this name again in a process of its own, with the variable [`CHILD`] set to `directory`; the test calls
/// [`mark`] around its work. Returns the lines of the calls between the marks, or `None`, and prints the reason, where
/// tracing is impossible.
pub(crate) fn calls(name: &str, directory: &Path) -> Option<Vec<String>> {
    calls_with(name, directory, &[], |_| ())
}

/// Runs the test of this name on a file of some bytes in every directory: `work` in a process of its own, where calls are
/// made to fail as in [`calls_with`], and `check` with the calls between its marks.
pub(crate) fn calls_on_a_file(
    name: &str,
    inject: &[&str],
    work: impl Fn(&Path),
    check: impl Fn(Vec<String>) + Sync,
) {
    if let Some(directory) = std::env::var_os(CHILD) {
        return work(&Path::new(&directory).join("file"));
    }
    everywhere(|directory| {
        write_file(directory, "file", "bytes");
        if let Some(calls) = calls_with(name, directory, inject, |_| ()) {
            check(calls);
        }
    });
}

/// Traces as [`calls`], with some system calls made to fail or to wait as by `strace`'s `-e inject=`. `meanwhile` runs
/// concurrently and can watch the trace.
pub(crate) fn calls_with(
    name: &str,
    directory: &Path,
    inject: &[&str],
    meanwhile: impl FnOnce(&Path),
) -> Option<Vec<String>> {
    let inject: Vec<_> = inject.iter().flat_map(|what| ["-e".to_owned(), format!("inject={what}")]).collect();
    let trace = tempfile::NamedTempFile::new().unwrap();
    let mut child = traced(&inject, trace.path(), alone(name).env(CHILD, directory))?;
    let child = child.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    meanwhile(trace.path());
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = std::fs::read_to_string(trace.path()).unwrap();
    Some(between_marks(&text).unwrap_or_else(|| panic!("no begin mark: {output:?}")))
}

/// Returns the calls of the thread that set the marks, between them. A call interrupted by another thread's line is two lines
/// of the trace, the first ending `<unfinished ...>` and the second beginning `<... NAME resumed>`; they are joined.
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

/// Removes calls of the allocator, and those that std makes before closing in builds with debug assertions.
pub(crate) fn plainly(calls: Vec<String>) -> Vec<String> {
    let besides = ["brk(", "mmap(", "munmap(", "mremap(", "madvise("];
    let beside =
        |call: &String| besides.iter().any(|name| call.starts_with(name)) || call.contains("F_GETFD");
    calls.into_iter().filter(|call| !beside(call)).collect()
}

/// Set to the directory in the traced process.
pub(crate) const CHILD: &str = "FULLBORE_TEST_TRACED";

const BEGIN: &str = "fullbore-test-begin";
const END: &str = "fullbore-test-end";

/// Runs `work` between two marks in the trace, for [`calls`].
pub(crate) fn mark<T>(work: impl FnOnce() -> T) -> T {
    assert!(!Path::new(BEGIN).exists());
    let result = work();
    assert!(!Path::new(END).exists());
    result
}

#[test]
fn exactly_the_marked_calls_are_returned() {
    if let Some(directory) = std::env::var_os(CHILD) {
        std::fs::write(Path::new(&directory).join("before"), "").unwrap();
        mark(|| std::fs::rename(Path::new(&directory).join("before"), Path::new(&directory).join("after")))
            .unwrap();
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let Some(calls) = calls("traced::exactly_the_marked_calls_are_returned", directory.path()) else {
        return;
    };
    assert!(calls.len() == 1 && calls[0].starts_with("rename"), "{calls:?}");
}

#[test]
fn a_call_on_two_lines_is_joined() {
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
