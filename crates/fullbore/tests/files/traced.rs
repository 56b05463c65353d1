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
    let mut lines = text.lines().skip_while(|line| !line.contains(BEGIN));
    let begin = lines.next().unwrap_or_else(|| panic!("the beginning is not marked: {output:?}"));
    let thread = begin.split(' ').next().unwrap();
    let mine = lines.take_while(|line| !line.contains(END)).filter_map(|line| line.strip_prefix(thread));
    Some(mine.map(|line| line.trim_start().to_owned()).collect())
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
