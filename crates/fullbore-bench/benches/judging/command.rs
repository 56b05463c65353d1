//! One run of one command: how long it took from start to end, and what processor time it was charged.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use super::quiet::charged;
use super::{Attempt, account, directory};

/// A command line, and what it is connected with.
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
    /// The command of `program` with `words`. It reads nothing, and what it prints goes nowhere.
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

    /// With one more word.
    pub(crate) fn word(mut self, word: impl Into<OsString>) -> Self {
        self.words.push(word.into());
        self
    }

    /// With more words.
    pub(crate) fn all_words<W: Into<OsString>>(mut self, words: impl IntoIterator<Item = W>) -> Self {
        self.words.extend(words.into_iter().map(Into::into));
        self
    }

    /// Run in a directory.
    pub(crate) fn within(mut self, directory: &Path) -> Self {
        self.directory = Some(directory.to_owned());
        self
    }

    /// Run with `LC_ALL`.
    pub(crate) fn locale(mut self, locale: &'static str) -> Self {
        self.locale = Some(locale);
        self
    }

    /// Fed by `cat` of a file through a pipe. `cat` is part of the run.
    pub(crate) fn piped(mut self, from: &Path) -> Self {
        self.piped = Some(from.to_owned());
        self
    }

    /// With its standard output in a file. Opening and emptying that is not measured.
    pub(crate) fn answer(mut self, file: &Path) -> Self {
        self.answer = Some(file.to_owned());
        self
    }

    /// With its standard output going nowhere.
    pub(crate) fn nowhere(mut self) -> Self {
        self.answer = None;
        self
    }

    /// Where its standard output goes, if it goes to a file.
    pub(crate) fn answered(&self) -> Option<&Path> {
        self.answer.as_deref()
    }

    /// Expected to end with this exit code in place of 0.
    pub(crate) fn code(mut self, code: i32) -> Self {
        self.code = code;
        self
    }

    /// The most memory that a run has resident at a time, in bytes.
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
        // A profile that someone saved here would decide instead of the program.
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

    /// Runs it and returns what it took.
    pub(crate) fn run(&self) -> Attempt<Run> {
        let before = charged()?;
        let mut command = self.command()?;
        let start = Instant::now();
        let source = self.piped.as_deref().map(|from| feed(&mut command, from)).transpose()?;
        let mut running = directory::start(&mut command)?;
        let mut said = Vec::new();
        if let Some(mut stderr) = running.child.stderr.take() {
            // Before it is waited for: who says more than a pipe holds would wait for us.
            stderr.read_to_end(&mut said)?;
        }
        let status = running.wait()?;
        let wall = start.elapsed().as_secs_f64();
        // Our end of the pipe goes, so that `cat` ends whatever became of the command.
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

    /// Runs it and returns what it printed.
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

/// Starts `cat` of a file, and lets a command that is not started yet read from it.
pub(crate) fn feed(command: &mut Command, from: &Path) -> Attempt<directory::RunningCommand> {
    let mut cat = Command::new("cat");
    let mut source = directory::start(cat.arg(from).stdin(Stdio::null()).stdout(Stdio::piped()))?;
    let pipe = source.child.stdout.take().ok_or_else(|| io::Error::other("cat has no output"))?;
    command.stdin(pipe);
    Ok(source)
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
