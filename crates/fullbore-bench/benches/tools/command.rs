//! One run of one command: its duration from start to end, the CPU time charged to it, and its peak memory.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

use fullbore::probe::ProcessUsage;
use nix::sys::resource::{UsageWho, getrusage};

use super::harness::directory::{RunningCommand, start, watch};
use super::harness::{Attempt, exit};

/// First argument of a start of the benchmark as the parent of one command, which is its only child; then the input for a
/// pipe, or `-` for none, the expected exit code, and the command.
///
/// The system reports the peak memory of any child, not of the last one, and a child starts out with its parent's figure.
/// So each measured command has a small parent of its own, which prints the command's peak.
const PARENT: &str = "--account-of";

#[derive(Clone, Default)]
pub(crate) struct CommandLine {
    pub(crate) program: PathBuf,
    pub(crate) words: Vec<OsString>,
    pub(crate) directory: Option<PathBuf>,
    pub(crate) locale: Option<&'static str>,
    /// A file that `cat` feeds to the command through a pipe. `cat` is part of the run.
    pub(crate) piped: Option<PathBuf>,
    /// The file of standard output; `None`: discarded. Opening and truncating it is not measured.
    pub(crate) answer: Option<PathBuf>,
    pub(crate) code: i32,
}

struct Ended {
    /// Its output or error messages, whichever was piped.
    said: String,
    wall: f64,
    /// The largest peak memory of a child so far, in KiB.
    peak: i64,
}

impl CommandLine {
    /// The command of `program` with `words`, without input; its output is discarded.
    pub(crate) fn new<W: Into<OsString>>(program: &Path, words: impl IntoIterator<Item = W>) -> Self {
        Self { program: program.to_owned(), ..Self::default() }.with(words)
    }

    pub(crate) fn with<W: Into<OsString>>(mut self, words: impl IntoIterator<Item = W>) -> Self {
        self.words.extend(words.into_iter().map(Into::into));
        self
    }

    pub(crate) fn peak_memory(&self) -> Attempt<u64> {
        let piped = self.piped.as_deref().unwrap_or("-".as_ref());
        let mut words = vec![PARENT.into(), piped.as_os_str().to_owned()];
        words.extend([self.code.to_string().into(), self.program.clone().into_os_string()]);
        words.extend(self.words.iter().cloned());
        let program = std::env::current_exe()?;
        let parent = Self { program, words, piped: None, answer: None, code: 0, ..self.clone() };
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

    fn execute(&self, mut command: Command) -> Attempt<Ended> {
        let begin = Instant::now();
        let source = self.piped.as_deref().map(|from| feed(&mut command, from)).transpose()?;
        let mut running = start(&mut command)?;
        let mut said = Vec::new();
        // Before the wait: a command that fills the pipe would block.
        if let Some(mut stdout) = running.child.stdout.take() {
            stdout.read_to_end(&mut said)?;
        } else if let Some(mut stderr) = running.child.stderr.take() {
            stderr.read_to_end(&mut said)?;
        }
        let status = running.wait()?;
        let wall = begin.elapsed().as_secs_f64();
        // This end of the pipe is closed, so that `cat` ends even if the command failed.
        drop(command);
        // Without `cat`, which is not waited for yet.
        let peak = getrusage(UsageWho::RUSAGE_CHILDREN)?.max_rss();
        if let Some(source) = source {
            source.wait()?;
        }
        let said = String::from_utf8_lossy(&said).into_owned();
        if status.code() != Some(self.code) {
            return Err(format!("{} ended with {status}: {}", self.program.display(), said.trim()).into());
        }
        Ok(Ended { said, wall, peak })
    }

    pub(crate) fn run(&self) -> Attempt<Run> {
        let before = ProcessUsage::of_children()?;
        let wall = self.execute(self.command()?)?.wall;
        let used = ProcessUsage::of_children()?.since(&before);
        Ok(Run { wall, user: used.user, system: used.system })
    }

    pub(crate) fn output(&self) -> Attempt<String> {
        let mut command = self.command()?;
        command.stdout(Stdio::piped()).stderr(Stdio::inherit());
        Ok(self.execute(command)?.said)
    }
}

/// In a start as the parent of one command, runs the command and prints its peak resident memory in KiB.
pub(crate) fn run_as_parent() -> Option<ExitCode> {
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    let command = words.split_first().filter(|(first, _)| *first == PARENT)?.1;
    Some(exit("account", peak(command).map(|peak| println!("{peak}")).map(|()| true)))
}

fn peak(words: &[OsString]) -> Attempt<i64> {
    let [pipe, code, program, rest @ ..] = words else { return Err("missing command".into()) };
    // A signal that ends this process ends the command too.
    watch()?;
    let line = CommandLine {
        piped: (pipe != "-").then(|| pipe.into()),
        code: code.to_str().ok_or("the exit code is not a number")?.parse()?,
        ..CommandLine::new(program.as_ref(), rest)
    };
    let mut command = Command::new(program);
    command.args(rest).stdin(Stdio::null()).stdout(Stdio::null());
    Ok(line.execute(command)?.peak)
}

/// Starts `cat` of a file, and connects a command that is not started yet to it.
fn feed(command: &mut Command, from: &Path) -> Attempt<RunningCommand> {
    let mut cat = Command::new("cat");
    let mut source = start(cat.arg(from).stdin(Stdio::null()).stdout(Stdio::piped()))?;
    let pipe = source.child.stdout.take().ok_or_else(|| io::Error::other("cat has no output"))?;
    command.stdin(pipe);
    Ok(source)
}

/// The times of a run, in seconds: wall time from just before the start to just after the end, and CPU time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Run {
    pub(crate) wall: f64,
    pub(crate) user: f64,
    pub(crate) system: f64,
}
