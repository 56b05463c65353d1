//! Directories for data files and the running commands: all removed at the end, also when the benchmark is interrupted.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

use fullbore::size;
use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::Attempt;

/// Everything that an interruption must end. Starting a command takes the lock, and the signal's thread never returns it:
/// nothing starts after the signal.
static REGISTRY: Mutex<Registry> = Mutex::new(Registry { directories: Vec::new(), children: Vec::new() });

struct Registry {
    directories: Vec<PathBuf>,
    children: Vec<Pid>,
}

fn state() -> MutexGuard<'static, Registry> {
    REGISTRY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A directory that is removed when dropped.
pub(crate) struct Directory(PathBuf);

impl Directory {
    /// Creates a directory in `parent`, where `needed` bytes must be free; its name begins with `prefix`. `advice` is the
    /// remedy in the error message.
    pub(crate) fn make(parent: &Path, prefix: &str, needed: u64, advice: &str) -> Attempt<Self> {
        let at = |error: io::Error| format!("--dir {}: {error}", parent.display());
        let room = rustix::fs::statvfs(parent).map_err(|error| at(error.into()))?;
        let free = room.f_bavail.saturating_mul(room.f_frsize);
        if free < needed {
            let (free, needed) = (size::human(free), size::human(needed));
            return Err(format!("--dir {}: {free} free, {needed} needed: {advice}", parent.display()).into());
        }
        watch()?;
        let mut state = state();
        let directory = tempfile::Builder::new().prefix(prefix).tempdir_in(parent).map_err(at)?.keep();
        state.directories.push(directory.clone());
        Ok(Self(directory))
    }

    /// Its path.
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let mut state = state();
        let _ = fs::remove_dir_all(&self.0);
        state.directories.retain(|directory| *directory != self.0);
    }
}

/// A running command that an interruption ends.
pub(crate) struct RunningCommand {
    /// The process.
    pub(crate) child: Child,
}

/// Starts a command.
pub(crate) fn start(command: &mut Command) -> Attempt<RunningCommand> {
    let mut state = state();
    let child = command
        .spawn()
        .map_err(|error| format!("cannot run {}: {error}", command.get_program().display()))?;
    state.children.extend(pid(&child));
    Ok(RunningCommand { child })
}

impl RunningCommand {
    /// Waits for its end.
    pub(crate) fn wait(mut self) -> io::Result<ExitStatus> {
        // The lock must not be held during the wait; taking it afterwards stops this thread if the run was interrupted.
        let status = self.child.wait();
        let ended = pid(&self.child);
        state().children.retain(|child| Some(*child) != ended);
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
            let state = state();
            clear(&state);
            std::process::exit(128 + signal);
        }
    })?;
    Ok(())
}

/// Ends the running commands and removes the directories; waits, because a command removes its own files first.
fn clear(state: &Registry) {
    let send = |signal| {
        for child in &state.children {
            let _ = kill_process(*child, signal);
        }
    };
    send(Signal::TERM);
    let begin = Instant::now();
    let left = |directory: &PathBuf| {
        fs::remove_dir_all(directory).is_err_and(|error| error.kind() != io::ErrorKind::NotFound)
    };
    // All of them each time: a command may write in any.
    while state.directories.iter().filter(|directory| left(directory)).count() > 0
        && begin.elapsed() < Duration::from_secs(3)
    {
        sleep(Duration::from_millis(50));
        if begin.elapsed() > Duration::from_secs(1) {
            send(Signal::KILL);
        }
    }
}

/// The path of a peer, by `PATH`.
pub(crate) fn peer(name: &str) -> Option<PathBuf> {
    peer_in(&[], name)
}

/// The path of a peer: in one of `directories`, or by `PATH`.
pub(crate) fn peer_in(directories: &[PathBuf], name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let all = directories.iter().cloned().chain(std::env::split_paths(&path));
    all.map(|directory| directory.join(name)).find(|path| path.is_file())
}
