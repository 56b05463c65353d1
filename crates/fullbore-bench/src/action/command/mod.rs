//! Whole commands, run over the meter's files as a user would run them: fullbore's tools and their peers.

mod task;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use fullbore::Result;
use fullbore::error::{Error, ErrorKind};
use fullbore::file::{File, Temporary};
use fullbore::probe::ProcessUsage;
use serde::Deserialize;

use self::task::{CommandTask, ExpectedOutput, Input, OURS, TASKS, Tool};
use super::one_way::Precondition;
use super::settings::{OutputTarget, Settings, settings};
use super::workload::{
    ExpectedState, Iteration, ParsedWorkload, Ramp, RunContext, RunResult, Workload, repeat_until,
};
use crate::child;
use crate::document::{CacheState, Labels, word};
use crate::test_files::{Needs, TestFiles};

/// Bytes of the input over which a tool's output is verified.
const VERIFY_BYTES: usize = 256 << 10;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct CommandSpec {
    task: String,
    /// Name of the tool: `fullbore`, or a peer.
    tool: String,
    cache: CacheState,
    output: Option<OutputTarget>,
}

#[derive(Debug)]
struct CommandWorkload {
    spec: CommandSpec,
    task: &'static CommandTask,
    tool: &'static Tool,
    program: PathBuf,
}

pub(super) fn parse(given: Settings) -> ParsedWorkload {
    let spec: CommandSpec = settings(given)?;
    let names = |all: &mut dyn Iterator<Item = &'static str>| all.collect::<Vec<_>>().join(", ");
    let Some(task) = TASKS.iter().find(|task| task.name == spec.task) else {
        let known = names(&mut TASKS.iter().map(|task| task.name));
        return Err(format!("task {:?} is unknown: name one of {known}", spec.task));
    };
    let Some(tool) = task.tools.iter().find(|tool| tool.name == spec.tool) else {
        let known = names(&mut task.tools.iter().map(|tool| tool.name));
        return Err(format!("tool {:?} cannot do {:?}: name one of {known}", spec.tool, spec.task));
    };
    if task.expected.creates() != spec.output.is_some() {
        let what = if task.expected.creates() {
            "creates a file: set output = \"new\" or \"existing\""
        } else {
            "creates no file: leave out output"
        };
        return Err(format!("{:?} {what}", spec.task));
    }
    if spec.cache == CacheState::Mixed {
        return Err("cache: the input of a command is warm or cold".into());
    }
    Ok(Box::new(CommandWorkload { spec, task, tool, program: PathBuf::new() }))
}

#[derive(Debug)]
struct CommandPaths<'a> {
    input: &'a Path,
    same: &'a Path,
    output: &'a Path,
}

#[derive(Debug)]
struct CommandRun {
    seconds: f64,
    usage: ProcessUsage,
    stdout: Vec<u8>,
}

impl CommandWorkload {
    /// Returns the input, and the file that it is compared with.
    fn inputs(&self, test_files: &TestFiles) -> Result<(File, File)> {
        let cold = self.spec.cache == CacheState::Cold;
        match self.task.input {
            Input::Random => {
                let input = if cold { &test_files.cold_input } else { &test_files.input };
                Ok((input.clone(), input.clone()))
            }
            Input::Text => {
                let text = test_files.text_file("text", cold)?;
                Ok((text.clone(), text))
            }
            Input::TwoTexts => {
                Ok((test_files.text_file("text", cold)?, test_files.text_file("same-text", cold)?))
            }
        }
    }

    fn output<'b>(&self, test_files: &'b TestFiles) -> &'b Path {
        match self.spec.output {
            Some(OutputTarget::Existing) => &test_files.output,
            _ => &test_files.fresh,
        }
    }

    fn reads_both(&self) -> bool {
        self.task.input == Input::TwoTexts
    }

    /// Runs the command and keeps its standard output.
    fn run_once(&self, files: &CommandPaths<'_>) -> Result<CommandRun> {
        let fail = |error| Error::io("run", &self.program, error);
        let words = self.tool.words.iter().map(|word| substitute(word, files));
        let mut command = Command::new(&self.program);
        // `LC_ALL=C.UTF-8`: `wc` counts words in Unicode text, as usual today. The user's configuration of rg is not
        // measured.
        command.args(words).env("LC_ALL", "C.UTF-8").env_remove("RIPGREP_CONFIG_PATH");
        command.stderr(Stdio::piped());
        // Not /dev/null: GNU grep detects it and stops at the first match.
        command.stdout(Stdio::piped());
        let before = ProcessUsage::of_children().map_err(fail)?;
        let clock = Instant::now();
        // Opening the output file counts, as in a shell.
        if self.tool.prints {
            let output = std::fs::File::create(files.output).map_err(fail)?;
            command.stdout(output);
        }
        let input = match self.tool.reads {
            true => Some(std::fs::File::open(files.input).map_err(fail)?),
            false => None,
        };
        let finished = child::output(&mut command, input).map_err(fail)?;
        let seconds = clock.elapsed().as_secs_f64();
        let usage = ProcessUsage::of_children().map_err(fail)?.since(&before);
        if !finished.status.success() {
            let what = format!("{} failed with {}", self.tool.name, child::failure(&finished));
            return Err(Error::new(ErrorKind::Unsupported, "run", &self.program, what));
        }
        Ok(CommandRun { seconds, usage, stdout: finished.stdout })
    }

    /// Runs the command over a small input and refuses the tool if its output is wrong.
    fn verify_output(&self, test_files: &TestFiles) -> Result<()> {
        let (whole, _) = self.inputs(test_files)?;
        let mut data = vec![0; VERIFY_BYTES.min(test_files.transform_len as usize)];
        whole.read_exact_at(&mut data, 0)?;
        let write = |name: &str| {
            Temporary::make(test_files.directory().join(name), |path| {
                std::fs::write(path, &data).map_err(|error| Error::io("write", path, error))
            })
            .map(|(temporary, ())| temporary)
        };
        let (input, same) = (write("verify-input")?, write("verify-same")?);
        let output = test_files.directory().join("verify-output");
        let files = CommandPaths { input: input.path(), same: same.path(), output: &output };
        let finished = self.run_once(&files);
        let made = std::fs::read(&output);
        let _ = std::fs::remove_file(&output);
        let finished = finished?;
        let holds = |wanted: &[u8]| match &made {
            Ok(made) => made == wanted || (self.tool.name == "tar" && tar_content(made) == Some(wanted)),
            Err(_) => false,
        };
        let right = match self.task.expected {
            ExpectedOutput::Same => holds(&data),
            ExpectedOutput::Bytes(wanted) => holds(&wanted(&data)),
            ExpectedOutput::Word(wanted) => {
                let stdout = String::from_utf8_lossy(&finished.stdout);
                let wanted = wanted(&data);
                stdout.split_whitespace().any(|word| word == wanted)
            }
            ExpectedOutput::Status => true,
        };
        if right {
            return Ok(());
        }
        let what = format!("{} gave a wrong result for {:?}", self.tool.name, self.task.name);
        Err(Error::new(ErrorKind::Unsupported, "run", &self.program, what))
    }

    fn find_program(&self, context: &RunContext<'_>) -> Result<PathBuf> {
        let refuse = |what: String| Error::new(ErrorKind::Unsupported, "run", self.tool.name, what);
        let Some(name) = self.tool.program() else {
            let known = context.program.map(Path::to_owned);
            return known.ok_or_else(|| refuse("the path of the program fullbore is unknown".into()));
        };
        let path = child::find(name).ok_or_else(|| refuse(format!("{name} is not installed")))?;
        if self.tool.name == "uutils" {
            // GNU's coreutils can be built as one program named `coreutils`, too.
            let described = Command::new(&path).arg("--version").stdin(Stdio::null()).output();
            if described.is_ok_and(|described| String::from_utf8_lossy(&described.stdout).contains("GNU")) {
                return Err(refuse("the program coreutils is GNU's, not uutils'".into()));
            }
        }
        Ok(path)
    }
}

fn substitute(word: &str, files: &CommandPaths<'_>) -> OsString {
    for (name, path) in [("{input}", files.input), ("{same}", files.same), ("{output}", files.output)] {
        if let Some((before, _)) = word.split_once(name) {
            let mut filled = OsString::from(before);
            filled.push(path);
            return filled;
        }
    }
    word.into()
}

/// Returns the content of a `tar` archive's only file: 512 bytes of header, with its octal length at byte 124.
fn tar_content(archive: &[u8]) -> Option<&[u8]> {
    let digits = std::str::from_utf8(archive.get(124..135)?).ok()?;
    let len = usize::from_str_radix(digits.trim_end_matches('\0').trim(), 8).ok()?;
    archive.get(512..512 + len)
}

impl Workload for CommandWorkload {
    fn needs(&self) -> Needs {
        Needs { transformed: true, texts: self.task.input != Input::Random, ..Needs::default() }
    }

    fn labels(&self) -> Labels {
        Labels {
            cache: Some(self.spec.cache),
            file_state: self.spec.output.map(|target| word(target).into()),
            order: Some("sequential".into()),
            peer: (self.tool.name != OURS).then(|| self.tool.name.to_owned()),
            ..Labels::of(self.task.name, "command")
        }
    }

    fn open(&mut self, context: &RunContext<'_>) -> Result<()> {
        let test_files = context.test_files();
        test_files.has_files()?;
        context.check_device(self.spec.cache == CacheState::Cold)?;
        self.program = self.find_program(context)?;
        self.verify_output(test_files)
    }

    fn elastic(&self) -> bool {
        false
    }

    fn prepare(&mut self, _iteration: Iteration, context: &RunContext<'_>) -> Result<ExpectedState> {
        let test_files = context.test_files();
        let (input, same) = self.inputs(test_files)?;
        let mut ranges = vec![(input, 0..test_files.transform_len)];
        if self.reads_both() {
            ranges.push((same, 0..test_files.transform_len));
        }
        Ok(Precondition::reading(Some(self.spec.cache)).prepare(ranges)?.of_tool(&self.labels()))
    }

    fn ramp_up(&mut self, ramp: Ramp<'_>, context: &RunContext<'_>) -> Result<()> {
        repeat_until(ramp.enough, || {
            self.run(context)?;
            context.clean_up(self)
        })
    }

    fn run(&mut self, context: &RunContext<'_>) -> Result<RunResult> {
        let test_files = context.test_files();
        let (input, same) = self.inputs(test_files)?;
        let files = CommandPaths { input: input.path(), same: same.path(), output: self.output(test_files) };
        let CommandRun { seconds, usage, .. } = self.run_once(&files)?;
        Ok(RunResult {
            bytes: test_files.transform_len * (1 + u64::from(self.reads_both())),
            seconds: Some(seconds),
            children: Some((usage.user, usage.system)),
            ..RunResult::default()
        })
    }

    fn clean_up(&mut self, context: &RunContext<'_>) -> Result<()> {
        if self.spec.output == Some(OutputTarget::Existing) {
            // The next command must not wait for writes of this one.
            File::open_write(&context.test_files().output)?.sync_data()?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_differ_by_label() {
        let labels = |tool: &str| {
            let text = format!("task = 'copy'\ntool = '{tool}'\ncache = 'warm'\noutput = 'new'");
            parse(toml::from_str(&text).unwrap()).unwrap().labels()
        };
        assert_eq!(labels("fullbore").peer, None);
        assert_eq!(labels("dd").peer.as_deref(), Some("dd"));
        assert_eq!(Labels { peer: None, ..labels("dd") }, labels("fullbore"));
    }

    #[test]
    fn ours_comes_first_in_every_task_and_every_argument_is_substituted() {
        let files = CommandPaths { input: "in".as_ref(), same: "same".as_ref(), output: "out".as_ref() };
        for task in TASKS {
            assert_eq!(task.tools[0].name, OURS, "{}", task.name);
            for tool in task.tools {
                for word in tool.words {
                    let filled = substitute(word, &files).into_string().unwrap();
                    assert!(!filled.contains('{'), "{}: {filled}", tool.name);
                }
            }
        }
        assert_eq!(substitute("if={input}", &files), "if=in");
    }
}
