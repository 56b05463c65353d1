//! Child processes that do a sample's work; they are killed when the run stops.

use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use fullbore::lock::Mutex;
use fullbore::sys;

static CHILDREN: Mutex<Children> = Mutex::new(Children { stopped: false, running: Vec::new() });

struct Children {
    stopped: bool,
    running: Vec<u32>,
}

/// Kills the processes that a sample started and prevents new ones, when the run is interrupted.
pub fn stop_children() {
    let mut state = CHILDREN.lock();
    state.stopped = true;
    for pid in state.running.drain(..) {
        // It may have ended meanwhile.
        let _ = sys::kill(pid);
    }
}

pub(crate) fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .filter(|directory| directory.is_absolute())
        .map(|directory| directory.join(format!("{name}{}", std::env::consts::EXE_SUFFIX)))
        .find(|path| path.is_file())
}

/// Runs a process that ends with the run; its input is a file, or empty.
pub(crate) fn output(command: &mut Command, input: Option<File>) -> io::Result<Output> {
    let child = {
        let mut state = CHILDREN.lock();
        if state.stopped {
            return Err(io::Error::new(io::ErrorKind::Interrupted, "the run was stopped"));
        }
        let child = command.stdin(input.map_or_else(Stdio::null, Stdio::from)).spawn()?;
        state.running.push(child.id());
        child
    };
    let process = child.id();
    let output = child.wait_with_output();
    CHILDREN.lock().running.retain(|one| *one != process);
    output
}

/// Describes the failure of a process: its status, and the line with the error.
pub(crate) fn failure(output: &Output) -> String {
    let printed = [&output.stderr, &output.stdout].map(|bytes| String::from_utf8_lossy(bytes));
    match printed.iter().find_map(|text| error_line(text)) {
        Some(line) => format!("{}: {line}", output.status),
        None => output.status.to_string(),
    }
}

/// Returns the first line that contains `error` or `fail`, otherwise the first line.
fn error_line(text: &str) -> Option<&str> {
    let lines =
        || text.lines().map(str::trim).filter(|line| !line.is_empty() && *line != "{" && *line != "}");
    lines().find(|line| line.contains("error") || line.contains("fail")).or_else(|| lines().next())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_line_is_found() {
        let text = "fio: pid=1\n\nfio: io_u error on file x: No space left\n";
        assert_eq!(error_line(text), Some("fio: io_u error on file x: No space left"));
        assert_eq!(error_line("fio: engine nope not loadable\n"), Some("fio: engine nope not loadable"));
        assert_eq!(error_line("\n"), None);
    }

    #[cfg(unix)]
    #[test]
    fn child_output_and_status_are_returned() {
        let echo = output(Command::new("echo").arg("word").stdout(Stdio::piped()), None).unwrap();
        assert_eq!(echo.stdout, b"word\n");
        assert_eq!(output(&mut Command::new("false"), None).unwrap().status.code(), Some(1));
        assert!(output(&mut Command::new("/nonexistent/program"), None).is_err());
    }
}
