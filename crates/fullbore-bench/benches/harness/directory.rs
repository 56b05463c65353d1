//! Directories for data files and the running commands: all removed at the end, also when the benchmark is interrupted.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::sync::OnceLock;
use std::thread::sleep;
use std::time::{Duration, Instant};

use fullbore::file::{Temporary, cleanup, hidden_name};
use fullbore::lock::Mutex;
use fullbore::{Error, size};
use fullbore_bench::stop_children;
use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::Attempt;

/// The commands that an interruption must end. Starting one takes the lock, and the signal's thread never returns it:
/// nothing starts after the signal.
static RUNNING: Mutex<Vec<Pid>> = Mutex::new(Vec::new());

pub(crate) fn free(directory: &Path) -> Attempt<u64> {
    let room = rustix::fs::statvfs(directory)?;
    Ok(room.f_bavail.saturating_mul(room.f_frsize))
}

pub(crate) fn sync(directory: &Path) -> Attempt<()> {
    Ok(rustix::fs::syncfs(fs::File::open(directory)?)?)
}

/// Creates a directory in `parent`, where `needed` bytes must be free; it is removed when dropped. Its name contains
/// `stem`; `advice` is the remedy in the error message.
pub(crate) fn create(parent: &Path, stem: &str, needed: u64, advice: &str) -> Attempt<Temporary> {
    let at = |error: &dyn std::fmt::Display| format!("--dir {}: {error}", parent.display());
    let free = free(parent).map_err(|error| at(&error))?;
    if free < needed {
        let (free, needed) = (size::human(free), size::human(needed));
        return Err(at(&format!("{free} free, {needed} needed: {advice}")).into());
    }
    watch()?;
    let path = parent.join(hidden_name(stem.as_ref()));
    let make = |path: &Path| fs::create_dir(path).map_err(|error| Error::io("create", path, error));
    Ok(Temporary::make_tree(path, make).map_err(|error| at(&error))?.0)
}

pub(crate) struct RunningCommand {
    pub(crate) child: Child,
}

pub(crate) fn start(command: &mut Command) -> Attempt<RunningCommand> {
    let mut running = RUNNING.lock();
    let child = command
        .spawn()
        .map_err(|error| format!("cannot run {}: {error}", command.get_program().display()))?;
    running.extend(pid(&child));
    Ok(RunningCommand { child })
}

/// Does not return once a signal ends the run: what fails since then is not a result.
pub(crate) fn assert_running() {
    drop(RUNNING.lock());
}

impl RunningCommand {
    pub(crate) fn wait(mut self) -> io::Result<ExitStatus> {
        // The lock must not be held during the wait; taking it afterwards stops this thread if the run was interrupted.
        let status = self.child.wait();
        let ended = pid(&self.child);
        RUNNING.lock().retain(|child| Some(*child) != ended);
        status
    }
}

fn pid(child: &Child) -> Option<Pid> {
    i32::try_from(child.id()).ok().and_then(Pid::from_raw)
}

/// Starts the thread that waits for signals, once.
pub(crate) fn watch() -> io::Result<()> {
    static WATCHED: OnceLock<()> = OnceLock::new();
    if WATCHED.set(()).is_err() {
        return Ok(());
    }
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    std::thread::Builder::new().name("signals".into()).spawn(move || {
        if let Some(signal) = signals.forever().next() {
            let mut running = RUNNING.lock();
            stop_children();
            end(&mut running);
            std::process::exit(128 + signal);
        }
    })?;
    Ok(())
}

/// Ends the running commands, which remove their own files first, and removes the directories.
fn end(running: &mut Vec<Pid>) {
    for (signal, patience) in [(Signal::TERM, Duration::from_secs(1)), (Signal::KILL, Duration::from_secs(2))]
    {
        for child in &*running {
            let _ = kill_process(*child, signal);
        }
        let begin = Instant::now();
        while !running.is_empty() && begin.elapsed() < patience {
            running.retain(|child| matches!(waitpid(Some(*child), WaitOptions::NOHANG), Ok(None)));
            sleep(Duration::from_millis(50));
        }
    }
    cleanup();
}

/// The path of a peer: in one of `directories`, or by `PATH`.
pub(crate) fn peer(directories: &[PathBuf], name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let all = directories.iter().cloned().chain(std::env::split_paths(&path));
    all.map(|directory| directory.join(name)).find(|path| path.is_file())
}
