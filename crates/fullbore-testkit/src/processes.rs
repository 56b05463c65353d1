//! Processes of tests: the test program again, and commands that another program starts.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use crate::ground::NULL;
use crate::or_skip;

/// This program, to run one test in a process of its own.
pub fn alone(test: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("a test is a file"));
    command.args(["--nocapture", "--exact", test]);
    command
}

/// Copies a program to a place where everybody can run it. Another process writes the copy: a process that a test starts at the same
/// time would inherit a descriptor of this one, and a file that is open for writing cannot be run.
#[track_caller]
pub fn copy_program(source: impl AsRef<Path>, target: &Path) {
    let mut install = Command::new("install");
    install.args(["-m", "755"]).arg(source.as_ref()).arg(target);
    assert!(install.status().expect("install starts").success(), "{}", target.display());
}

/// Returns a command that another program starts.
pub fn wrapped(mut by: Command, command: &Command) -> Command {
    by.arg(command.get_program()).args(command.get_args()).stdin(Stdio::null());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => by.env(name, value),
            None => by.env_remove(name),
        };
    }
    if let Some(directory) = command.get_current_dir() {
        by.current_dir(directory);
    }
    by
}

/// Returns a command that runs under `strace` with these options and writes its trace to `log`; `None`, with the reason
/// printed, if tracing is not possible.
pub fn traced(options: &[impl AsRef<OsStr>], log: &Path, command: &Command) -> Option<Command> {
    static POSSIBLE: OnceLock<bool> = OnceLock::new();
    let possible = || {
        let said = Command::new("strace").args(["-qq", "-o", NULL, "true"]).output();
        said.is_ok_and(|said| said.status.success())
    };
    or_skip("tracing", POSSIBLE.get_or_init(possible).then_some(()).ok_or("no strace with permission"))?;
    let mut strace = Command::new("strace");
    strace.args(["-f", "-qq", "-o"]).arg(log).args(options);
    let mut traced = wrapped(strace, command);
    // A process has one tracer at most, so a leak sanitizer must not run in this one.
    traced.env("LSAN_OPTIONS", "detect_leaks=0");
    Some(traced)
}
