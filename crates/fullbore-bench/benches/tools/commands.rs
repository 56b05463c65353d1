//! The context of the benchmark of whole commands, fullbore's and those of its peers.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use fullbore_bench::stats::Xoshiro256;

use super::command::CommandLine;
use super::data::DataSet;
use super::harness::finding::{Bound, Finding, Findings};
use super::harness::{self, Attempt, directory, place};
use super::options::Options;
use super::states;

const TOOLS: &[&str] = &["wc", "grep", "cmp", "copy", "sum", "dedupe", "transform"];

const PEERS: &[&str] =
    &["wc", "cat", "rg", "grep", "cmp", "cp", "dd", "b3sum", "sha256sum", "fclones", "fio"];

/// The locale of every command, if a case does not choose another.
pub(crate) const LOCALE: &str = "C.UTF-8";

pub(crate) type CommandOrReason = Result<CommandLine, String>;

pub(crate) struct Bench {
    pub(crate) options: Options,
    pub(crate) place: DataSet,
    /// Its subcommands under test.
    pub(crate) tools: Vec<&'static str>,
    pub(crate) random: Xoshiro256,
    pub(crate) findings: Findings,
}

/// A case of whole commands.
pub(crate) type Case = harness::Case<'static, fn(&mut Bench) -> Attempt<()>>;

impl Bench {
    pub(crate) fn make(mut options: Options) -> Attempt<Self> {
        let source = match &options.text {
            Some(path) => {
                options.size = std::fs::metadata(path)?.len();
                path.display().to_string()
            }
            None => "generated words".to_owned(),
        };
        if options.size < 1 << 20 {
            return Err("less than 1 MiB of data measures only start-up: use a larger size".into());
        }
        let common = &mut options.common;
        common.dir = common.dir.canonicalize().map_err(|error| format!("--dir: {error}"))?;
        let seed = common.seed;
        let heading = format!("against its peers, {} rounds, seed {seed}", common.rounds);
        let binary = find_binary(options.binary.as_deref())?;
        let set = DataSet::make(&options, &binary)?;
        let (size, files) = (fullbore::size::human(options.size), options.files);
        let data =
            format!("text: {source}, {size}; {files} files in the largest tree; saved profiles are ignored");
        let mut context = vec![format!("{} {heading}", version(&binary)), data];
        for name in PEERS {
            let found = directory::peer(&options.peers, name);
            let found = found.map_or_else(|| "not here".into(), |program| version(&program));
            context.push(format!("{name}: {found}"));
        }
        context.extend(place(&set.path("answers")));
        let exists = |tool: &&&str| CommandLine::new(&binary, [**tool, "--help"]).run().is_ok();
        let tools = TOOLS.iter().filter(exists).copied().collect();
        let (random, findings) = (Xoshiro256::seeded(seed), Findings::new(context));
        Ok(Self { options, place: set, tools, random, findings })
    }

    /// One of fullbore's tools with arguments, or the reason why it is missing. Its output goes to a file.
    pub(crate) fn ours(&self, tool: &'static str, words: &[&str]) -> CommandOrReason {
        if !self.tools.contains(&tool) {
            return Err(format!("fullbore has no subcommand {tool}"));
        }
        Ok(self.command(&self.place.binary, "ours").with([tool]).with(words))
    }

    /// A peer with arguments, or the reason why it is missing. Its output goes to a file.
    pub(crate) fn peer(&self, name: &str, words: &[&str]) -> CommandOrReason {
        let program = directory::peer(&self.options.peers, name)
            .ok_or_else(|| format!("no {name} in PATH or --peers"))?;
        Ok(self.command(&program, name).with(words))
    }

    fn command(&self, program: &Path, answer: &str) -> CommandLine {
        CommandLine {
            locale: Some(LOCALE),
            directory: Some(self.place.root().to_owned()),
            answer: Some(self.place.path(&format!("answers/{answer}"))),
            ..CommandLine::new(program, [""; 0])
        }
    }

    /// Measures the peak memory of a command that writes to `output`. `failed` reports a command that fails.
    pub(crate) fn peak_memory(
        &mut self,
        what: &str,
        entrant: CommandOrReason,
        output: &Path,
        bound: Bound,
        failed: impl FnOnce(&mut Findings, &str, &dyn std::error::Error),
    ) {
        let line = match entrant {
            Ok(line) => line,
            Err(why) => return self.findings.skip(what, &why),
        };
        let peak = line.peak_memory();
        states::remove(output);
        match peak {
            Ok(peak) => {
                let figure = (peak as f64 / f64::from(1 << 20), " MiB");
                self.findings.add(Finding::new(what, "peak resident memory", figure, bound));
            }
            Err(error) => failed(&mut self.findings, what, &*error),
        }
    }
}

fn version(program: &Path) -> String {
    let output = CommandLine::new(program, ["--version"]).output().unwrap_or_default();
    output.lines().next().unwrap_or("unknown version").to_owned()
}

/// The program to test: `named`, or the release binary, which is built.
fn find_binary(named: Option<&Path>) -> Attempt<PathBuf> {
    if let Some(path) = named {
        return std::path::absolute(path)
            .ok()
            .filter(|path| path.is_file())
            .ok_or_else(|| format!("--binary: no file {}", path.display()).into());
    }
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    eprintln!("building the release binary (cargo build --release -p fullbore-cli)");
    let output = Command::new(&cargo)
        .args(["build", "--release", "-p", "fullbore-cli", "--message-format=json-render-diagnostics"])
        .arg("--manifest-path")
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/../fullbore-cli/Cargo.toml"))
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("cannot run {}: {error}; name a binary with --binary", cargo.display()))?;
    if !output.status.success() {
        return Err("the release binary does not build".into());
    }
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
        .filter(|message| message["target"]["name"] == "fullbore")
        .find_map(|message| message["executable"].as_str().map(PathBuf::from))
        .ok_or_else(|| "cargo did not report the path of the release binary; name it with --binary".into())
}
