//! One run of one command: its duration from start to end, and the CPU time charged to it.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use super::quiet::charged;
use super::{Attempt, account, directory};

/// A command line with its input and output.
#[derive(Clone)]
pub(crate) struct CommandLine {
    program: PathBuf,
    words: Vec<OsString>,
    directory: Option<PathBuf>,
    locale: Option<&'static str>,
    piped: Option<PathBuf>,
    answer: Option<PathBuf>,
    code: i32,
}

impl CommandLine {
    /// The command of `program` with `words`, without input; its output is discarded.
    pub(crate) fn new<W: Into<OsString>>(program: &Path, words: impl IntoIterator<Item = W>) -> Self {
        Self {
            program: program.to_owned(),
            words: words.into_iter().map(Into::into).collect(),
            directory: None,
            locale: None,
            piped: None,
            answer: None,
            code: 0,
        }
    }

    /// Adds an argument.
    pub(crate) fn word(mut self, word: impl Into<OsString>) -> Self {
        self.words.push(word.into());
        self
    }

    /// Adds arguments.
    pub(crate) fn all_words<W: Into<OsString>>(mut self, words: impl IntoIterator<Item = W>) -> Self {
        self.words.extend(words.into_iter().map(Into::into));
        self
    }

    /// Sets the working directory.
    pub(crate) fn within(mut self, directory: &Path) -> Self {
        self.directory = Some(directory.to_owned());
        self
    }

    /// Sets `LC_ALL`.
    pub(crate) fn locale(mut self, locale: &'static str) -> Self {
        self.locale = Some(locale);
        self
    }

    /// Feeds a file to the command by `cat` through a pipe. `cat` is part of the run.
    pub(crate) fn piped(mut self, from: &Path) -> Self {
        self.piped = Some(from.to_owned());
        self
    }

    /// Redirects standard output to a file. Opening and truncating it is not measured.
    pub(crate) fn answer(mut self, file: &Path) -> Self {
        self.answer = Some(file.to_owned());
        self
    }

    /// Discards standard output.
    pub(crate) fn nowhere(mut self) -> Self {
        self.answer = None;
        self
    }

    /// The file of standard output, if any.
    pub(crate) fn answered(&self) -> Option<&Path> {
        self.answer.as_deref()
    }

    /// Expects this exit code instead of 0.
    pub(crate) fn code(mut self, code: i32) -> Self {
        self.code = code;
        self
    }

    /// Peak resident memory of a run in bytes.
    pub(crate) fn peak_memory(&self) -> Attempt<u64> {
        let piped = self.piped.as_deref().unwrap_or("-".as_ref());
        let mut words = vec![account::WORD.into(), piped.as_os_str().to_owned()];
        words.extend([self.code.to_string().into(), self.program.clone().into_os_string()]);
        words.extend(self.words.iter().cloned());
        let itself = std::env::current_exe()?;
        let parent = Self { program: itself, words, piped: None, answer: None, code: 0, ..self.clone() };
        Ok(parent.output()?.trim().parse::<u64>()? << 10)
    }

    fn command(&self) -> Attempt<Command> {
        let mut command = Command::new(&self.program);
        command.args(&self.words).stdin(Stdio::null()).stderr(Stdio::piped());
        // A profile saved on this machine would affect the choice.
        command.env("XDG_CONFIG_HOME", "/nonexistent");
        if let Some(directory) = &self.directory {
            command.current_dir(directory);
        }
        if let Some(locale) = self.locale {
            command.env("LC_ALL", locale);
        }
        command.stdout(match &self.answer {
            Some(answer) => Stdio::from(
                File::create(answer)
                    .map_err(|error| format!("cannot create {}: {error}", answer.display()))?,
            ),
            None => Stdio::null(),
        });
        Ok(command)
    }

    /// Runs the command and returns its times.
    pub(crate) fn run(&self) -> Attempt<Run> {
        let before = charged()?;
        let mut command = self.command()?;
        let start = Instant::now();
        let source = self.piped.as_deref().map(|from| feed(&mut command, from)).transpose()?;
        let mut running = directory::start(&mut command)?;
        let mut said = Vec::new();
        if let Some(mut stderr) = running.child.stderr.take() {
            // Before the wait: a command that fills the pipe would block.
            stderr.read_to_end(&mut said)?;
        }
        let status = running.wait()?;
        let wall = start.elapsed().as_secs_f64();
        // This end of the pipe is closed, so that `cat` ends even if the command failed.
        drop(command);
        if let Some(source) = source {
            source.wait()?;
        }
        let after = charged()?;
        if status.code() != Some(self.code) {
            let said = String::from_utf8_lossy(&said);
            return Err(format!("{} ended with {status}: {}", self.program.display(), said.trim()).into());
        }
        Ok(Run { wall, user: after.0 - before.0, system: after.1 - before.1 })
    }

    /// Runs the command and returns its output.
    pub(crate) fn output(&self) -> Attempt<String> {
        let mut command = self.command()?;
        let mut running = directory::start(command.stdout(Stdio::piped()).stderr(Stdio::inherit()))?;
        let mut said = String::new();
        if let Some(stdout) = &mut running.child.stdout {
            stdout.read_to_string(&mut said)?;
        }
        let status = running.wait()?;
        if status.code() != Some(self.code) {
            return Err(format!("{} ended with {status}", self.program.display()).into());
        }
        Ok(said)
    }
}

/// Starts `cat` of a file, and connects a command that is not started yet to it.
pub(crate) fn feed(command: &mut Command, from: &Path) -> Attempt<directory::RunningCommand> {
    let mut cat = Command::new("cat");
    let mut source = directory::start(cat.arg(from).stdin(Stdio::null()).stdout(Stdio::piped()))?;
    let pipe = source.child.stdout.take().ok_or_else(|| io::Error::other("cat has no output"))?;
    command.stdin(pipe);
    Ok(source)
}

/// The times of a run, in seconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Run {
    /// Wall time from just before the start to just after the end.
    pub(crate) wall: f64,
    /// User CPU time.
    pub(crate) user: f64,
    /// System CPU time.
    pub(crate) system: f64,
}
