//! The system calls of a piece of work, as `strace` sees them in a process of its own.

use std::path::Path;
use std::process::{Command, Stdio};

/// Runs the test of this name once more, in a process of its own, where it finds the variable [`CHILD`] set to
/// `directory` and is to [`mark`] the beginning and the end of its work. The lines of its calls between the marks, or
/// `None`, and the reason printed, where nothing can be traced.
pub(crate) fn calls(name: &str, directory: &Path) -> Option<Vec<String>> {
    let works = Command::new("strace").args(["-f", "true"]).stderr(Stdio::null()).status();
    match works {
        Ok(status) if status.success() => {}
        Ok(status) => {
            println!("skipped: strace may not trace here: {status}");
            return None;
        }
        Err(error) => {
            println!("skipped: strace: {error}");
            return None;
        }
    }
    let trace = tempfile::NamedTempFile::new().unwrap();
    let output = Command::new("strace")
        .args(["-f", "-o"])
        .arg(trace.path())
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", name])
        .env(CHILD, directory)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = std::fs::read_to_string(trace.path()).unwrap();
    let mut lines = text.lines().map(str::to_owned).skip_while(|line| !line.contains(BEGIN));
    let begin = lines.next().expect("the beginning is marked");
    let thread = begin.split(' ').next().unwrap().to_owned();
    let mine = lines.take_while(|line| !line.contains(END)).filter(|line| line.starts_with(&thread));
    Some(mine.map(|line| line[thread.len()..].trim_start().to_owned()).collect())
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
