//! One run of one command: how long it took from start to end, and what processor time it was charged.

use std::ffi::OsString;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use super::Attempt;
use super::judging::directory;
pub(crate) use super::judging::directory::peer;
use super::judging::quiet::charged;

/// A command line.
#[derive(Clone)]
pub(crate) struct Line {
    program: PathBuf,
    words: Vec<OsString>,
}

impl Line {
    /// The command of `program` with `words`.
    pub(crate) fn new<W: Into<OsString>>(program: &Path, words: impl IntoIterator<Item = W>) -> Self {
        Self { program: program.to_owned(), words: words.into_iter().map(Into::into).collect() }
    }

    /// With one more word.
    pub(crate) fn word(mut self, word: impl Into<OsString>) -> Self {
        self.words.push(word.into());
        self
    }

    /// All of it: the program first.
    pub(crate) fn all(&self) -> impl Iterator<Item = OsString> {
        std::iter::once(self.program.clone().into_os_string()).chain(self.words.iter().cloned())
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.words).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        // A profile that someone saved here would decide instead of the program.
        command.env("XDG_CONFIG_HOME", "/nonexistent");
        command
    }

    /// Runs it and returns what it took.
    pub(crate) fn run(&self) -> Attempt<Run> {
        let before = charged()?;
        let mut command = self.command();
        let start = Instant::now();
        let mut running = directory::start(&mut command)?;
        let stderr = running.child.stderr.take();
        let status = running.wait()?;
        let wall = start.elapsed().as_secs_f64();
        let after = charged()?;
        if !status.success() {
            let mut said = String::new();
            if let Some(mut stderr) = stderr {
                let _ = stderr.read_to_string(&mut said);
            }
            return Err(format!("{} ended with {status}: {}", self.program.display(), said.trim()).into());
        }
        Ok(Run { wall, user: after.0 - before.0, system: after.1 - before.1 })
    }

    /// Runs it and returns what it printed.
    pub(crate) fn output(&self) -> Attempt<String> {
        let mut command = self.command();
        let mut running = directory::start(command.stdout(Stdio::piped()).stderr(Stdio::inherit()))?;
        let mut said = String::new();
        if let Some(stdout) = &mut running.child.stdout {
            stdout.read_to_string(&mut said)?;
        }
        let status = running.wait()?;
        if !status.success() {
            return Err(format!("{} ended with {status}", self.program.display()).into());
        }
        Ok(said)
    }
}

/// What a run took, in seconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Run {
    /// From just before the start to just after the end.
    pub(crate) wall: f64,
    /// Processor time in the program.
    pub(crate) user: f64,
    /// Processor time in the kernel on its behalf.
    pub(crate) system: f64,
}
