//! The quick run, and runs of experiments by name.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use fullbore::file::{DOCUMENT_LIMIT, read_text};
use fullbore::pattern::Progress;
use fullbore::quote::Shown;
use fullbore::size;
use fullbore::strategy::{Profile, ProfileEntry};
use fullbore_bench::comparison::parse_share;
use fullbore_bench::document::{DOCUMENT, Document, Regime};
use fullbore_bench::experiment::{BUILT_IN, QUICK, built_in, shares};
use fullbore_bench::{Event, Measured, Options, fio, table};
use fullbore_cli::values::{choices, names};

use super::list::unknown;
use super::live::LiveDisplay;
use super::results::{ResultsFolder, directories, measures_device};
use crate::command::report::table_options;
use crate::exit::Exit;

const REGIMES: [(&str, &str, Regime); 2] = [
    ("sustained", "The device's credit is spent before a sample", Regime::Sustained),
    ("burst", "Samples start with the credit that the device has", Regime::Burst),
];

/// Flags of every measurement.
#[derive(Debug, Args)]
pub(crate) struct MeasureArgs {
    /// Directory to measure: its file system and the device under it. May be repeated, for experiments with
    /// several disks
    #[arg(long, value_name = "DIR", default_value = ".")]
    dir: Vec<PathBuf>,

    /// Length of the test files [default: computed from memory, free space and the device's speed]
    #[arg(long, value_parser = |text: &str| size::parse(text))]
    size: Option<u64>,

    /// Measuring time in seconds; the report marks cells that are not precise at its end [default: 85 for the quick
    /// run, on Windows 80, else computed from the number of cells]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    time: Option<u64>,

    /// Target precision of a cell: half-width of the 95% interval of its median, in percent of the median [default:
    /// 2.5%, or that of the resumed run]
    #[arg(long, value_name = "PERCENT", value_parser = precision)]
    precision: Option<f64>,

    /// Regime of the headline figures, for devices with a burst and a sustained throughput [default: sustained, or that
    /// of the resumed run]
    #[arg(long, value_parser = choices(&REGIMES))]
    regime: Option<Regime>,

    /// New directory for report.html, results.json and results.csv
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,

    /// Do not save the profile that the other commands use
    #[arg(long)]
    no_save: bool,

    /// Print all findings instead of a summary of one page
    #[arg(long, conflicts_with = "json")]
    full: bool,

    /// Print the results document to standard output instead of the summary
    #[arg(long)]
    json: bool,

    /// Seed of the test data, the order of the trials and the positions of random requests
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// Run experiments by name or from a file
#[derive(Debug, Args)]
pub(crate) struct Run {
    /// Names of experiments from `fullbore bench list`, or files of experiments (*.toml)
    #[arg(value_name = "NAME|FILE.toml", required_unless_present_any = ["all", "resume", "job"])]
    names: Vec<String>,

    /// Run all experiments: about half an hour
    #[arg(long, conflicts_with = "names")]
    all: bool,

    /// Run the jobs of a fio job file on fullbore's own test files; files that it names are not touched. May be
    /// repeated
    #[arg(long, value_name = "FILE.fio", conflicts_with = "all")]
    job: Vec<PathBuf>,

    /// Measure each cell that PROGRAM supports with PROGRAM as well, in the same rounds, and show the ratio
    #[arg(long, value_parser = names::<PeerProgram>(), value_name = "PROGRAM")]
    with: Option<PeerProgram>,

    /// Resume an interrupted run in its results folder, with the same directories, experiments and seed; not a run of a
    /// whole device
    #[arg(
        long,
        value_name = "FOLDER",
        conflicts_with_all = ["names", "all", "job", "with", "dir", "size", "output", "seed"]
    )]
    resume: Option<PathBuf>,

    /// Measure a whole block device instead of a directory: ALL ITS DATA IS LOST. Refused if the device is mounted, has
    /// partitions, a file system or any other data, or is part of another device
    #[arg(long, value_name = "DEVICE", requires = "serial", conflicts_with_all = ["dir", "resume"])]
    device: Option<PathBuf>,

    /// Serial number of the device as printed by `fullbore probe DEVICE` (of a loop device: its backing file), a
    /// safeguard against naming the wrong device
    #[arg(long, value_name = "SERIAL", requires = "device")]
    serial: Option<String>,

    #[command(flatten)]
    how: MeasureArgs,
}

/// Another program that can measure the same cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum PeerProgram {
    Fio,
}

const NO_HOME: &str = "no home directory: set XDG_CONFIG_HOME to an absolute path";

/// The time of the quick run. Together with the start of the process, which is slower on Windows, it ends within 90 s.
const QUICK_TIME: Duration = Duration::from_secs(if cfg!(windows) { 80 } else { 85 });

/// The default time of a cell, in seconds.
const CELL_TIME: f64 = 3.5;

/// The shortest and the longest default time of a run, in seconds.
const RUN_TIME: (f64, f64) = (30.0, 1740.0);

fn seconds(text: &str) -> Result<u64, String> {
    let seconds = text.parse().ok().filter(|seconds| (10..=86_400).contains(seconds));
    seconds.ok_or_else(|| "expected a number of seconds from 10 to 86400".into())
}

fn precision(text: &str) -> Result<f64, String> {
    match parse_share(text)? {
        share if share > 0.0 && share <= 0.5 => Ok(share),
        _ => Err("a precision must be above 0 and at most 50%".into()),
    }
}

impl Run {
    pub(crate) fn run(mut self) -> Result<(), Exit> {
        if let Some(folder) = self.resume.take() {
            let (folder, document) = ResultsFolder::resume(folder)?;
            return self.how.resume_run(folder, document);
        }
        let mut sets: Vec<(String, String)> = if self.all {
            let others = BUILT_IN.iter().filter(|set| set.text != QUICK);
            others.map(|set| (set.name.to_owned(), set.text.to_owned())).collect()
        } else {
            self.names.iter().map(|name| set(name)).collect::<Result<_, _>>()?
        };
        let mut sizes = Vec::new();
        for path in &self.job {
            let (name, imported) = jobs(path)?;
            sets.push((name, imported.toml));
            sizes.extend(imported.size);
        }
        let size = sizes.iter().copied().max();
        if self.how.size.is_none() && sizes.iter().any(|other| Some(*other) != size) {
            Exit::eprint(
                "fullbore: the job files specify different sizes: all use a file of the largest size\n",
            );
        }
        // The command line takes precedence over the file.
        self.how.size = self.how.size.or(size);
        self.how.measure(sets, self.device.zip(self.serial), self.with.is_some())
    }
}

/// Returns a set of experiments by its name or from a file.
fn set(name: &str) -> Result<(String, String), Exit> {
    if let Some(set) = built_in(name) {
        return Ok((set.name.to_owned(), set.text.to_owned()));
    }
    let path = Path::new(name);
    if !path.exists() && path.extension().is_none_or(|suffix| suffix != "toml") {
        return Err(Exit::failure(unknown(name)));
    }
    Ok((name.to_owned(), read(path, "the experiments")?))
}

fn read(path: &Path, what: &str) -> Result<String, Exit> {
    let text = std::fs::File::open(path).and_then(|file| read_text(file, DOCUMENT_LIMIT));
    text.map_err(|error| Exit::failure(format!("{}: cannot read {what}: {error}", Shown(path))))
}

/// Returns the jobs of a fio file; deviations are reported.
fn jobs(path: &Path) -> Result<(String, fio::Imported), Exit> {
    let name = path.display().to_string();
    let text = read(path, "the jobs")?;
    let imported = fio::import(&text, &name).map_err(|error| Exit::failure(format!("{name}: {error}")))?;
    for note in &imported.notes {
        Exit::eprint(&format!("fullbore: {name}: {note}\n"));
    }
    Ok((name, imported))
}

/// True for the quick run, whose cells the user did not select individually.
fn may_leave_out(sets: &[(String, String)]) -> bool {
    sets.iter().all(|(_, text)| text == QUICK)
}

impl MeasureArgs {
    pub(super) fn quick(self) -> Result<(), Exit> {
        self.measure(vec![("quick".into(), QUICK.into())], None, false)
    }

    fn measure(
        self,
        sets: Vec<(String, String)>,
        device: Option<(PathBuf, String)>,
        with_fio: bool,
    ) -> Result<(), Exit> {
        let mut seen = HashSet::new();
        for directory in &self.dir {
            if std::fs::canonicalize(directory).is_ok_and(|place| !seen.insert(place)) {
                return Err(Exit::failure(format!(
                    "--dir {}: the directory is named twice",
                    Shown(directory)
                )));
            }
        }
        let time = self.time(&sets, with_fio)?;
        let folder = ResultsFolder::make(self.output.clone())?;
        let options = Options {
            directories: self.dir.clone(),
            device,
            size: self.size,
            time,
            seed: self.seed,
            may_leave_out: may_leave_out(&sets),
            sets,
            command: std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect(),
            with_fio,
            ..self.options()
        };
        self.execute(&options, folder)
    }

    fn resume_run(self, folder: ResultsFolder, document: Document) -> Result<(), Exit> {
        let run = &document.run;
        let refused = |why: &str| Err(Exit::failure(format!("{}: {why}", Shown(folder.path()))));
        if run.complete && self.time.is_none() && self.precision.is_none() {
            return refused("the run is complete: continue it with --time SECONDS or --precision PERCENT");
        }
        if measures_device(run) {
            return refused("runs of a whole device cannot be resumed");
        }
        if run.sets.is_empty() {
            return refused("the document does not contain its experiments, so it cannot be resumed");
        }
        let with_fio =
            run.with_fio || document.cells.iter().any(|cell| cell.labels.peer.as_deref() == Some("fio"));
        let defaults = self.options();
        let options = Options {
            directories: directories(run),
            size: Some(run.file_bytes),
            time: self.time(&run.sets, with_fio)?,
            seed: run.seed,
            precision: self.precision.or(run.precision).unwrap_or(defaults.precision),
            regime: self.regime.unwrap_or(run.regime),
            may_leave_out: may_leave_out(&run.sets),
            sets: run.sets.clone(),
            command: run.command.clone(),
            no_save: self.no_save || run.no_save,
            with_fio,
            resume: Some(document),
            ..defaults
        };
        self.execute(&options, folder)
    }

    fn options(&self) -> Options {
        let defaults = Options::default();
        Options {
            precision: self.precision.unwrap_or(defaults.precision),
            regime: self.regime.unwrap_or(defaults.regime),
            program: std::env::current_exe().ok(),
            no_save: self.no_save,
            ..defaults
        }
    }

    /// Returns the time limit: the flag's, or one by the number of cells, each of which two programs measure if fio does, too.
    fn time(&self, sets: &[(String, String)], with_fio: bool) -> Result<Duration, Exit> {
        let mut cells = 0;
        for (name, text) in sets {
            cells += shares(text).map_err(|error| Exit::failure(format!("{name}: {error}")))?;
        }
        let by_cells = (cells as f64 * CELL_TIME).clamp(RUN_TIME.0, RUN_TIME.1);
        let usual = if may_leave_out(sets) { QUICK_TIME } else { Duration::from_secs_f64(by_cells) };
        let programs = if with_fio { 2 } else { 1 };
        Ok(self.time.map_or(usual * programs, Duration::from_secs))
    }

    fn execute(&self, options: &Options, mut folder: ResultsFolder) -> Result<(), Exit> {
        // A burst soon ends.
        let saves = !options.no_save && options.regime != Regime::Burst;
        if saves && Profile::default_path().is_none() {
            return Err(Exit::failure(format!("profile: {NO_HOME}, or use --no-save")));
        }
        let live = LiveDisplay::new(options.time);
        let measured = fullbore_bench::run(options, &Progress::default(), |event| match event {
            Event::Progress(progress) => live.show(&progress),
            Event::Announcement(text) => live.announce(text),
            // Its error is not the last word: there may be space again once the test files are removed.
            Event::Partial(document) => _ = folder.keep(document),
        });
        live.end();
        let Measured { document, profile } = measured?;
        // A full disk does not hide the figures.
        let written = folder.finish(&document);
        // A run without a strategy for any job has nothing to save for the other commands.
        let worth = profile.filter(|(_, measured)| saves && !measured.entries.is_empty());
        let saved = worth.map(|profile| save(profile, &document));
        if self.json {
            let mut text = Vec::new();
            document.write(&mut text).map_err(Exit::failure)?;
            Exit::print(&text)?;
        } else {
            let view = if self.full { table::render } else { table::summary };
            let mut text = view(&document.printable(), table_options());
            if written.is_ok() {
                let [report, results] = ["report.html", DOCUMENT].map(|name| folder.path().join(name));
                text.push_str(&format!("\nreport:  {}\n", Shown(&report)));
                text.push_str(&format!("results: {} and results.csv\n", Shown(&results)));
            }
            if let Some(Ok(path)) = &saved {
                text.push_str(&format!("profile: {}\n", Shown(path)));
            }
            Exit::print_raw(&text)?;
        }
        written?;
        if document.cells.iter().all(|cell| cell.summary.is_none()) {
            let reasons = || document.cells.iter().filter_map(|cell| cell.skipped.as_deref());
            let first = reasons().next().unwrap_or("there was no time");
            return Err(Exit::failure(format!("no cell was measured; the reason for the first: {first}")));
        }
        match saved {
            Some(Err(error)) => {
                Err(Exit::failure(format!("profile: not saved, although the results are: {error}")))
            }
            _ => Ok(()),
        }
    }
}

/// Adds the results to the profile. A job keeps the entry of an earlier run if this run measured no trial of the job itself, only
/// plain reads, or a single sample of its choice and the known entry has an interval.
fn save(
    (key, measured): (String, fullbore::strategy::FileSystem),
    document: &Document,
) -> Result<PathBuf, String> {
    let path = Profile::default_path().ok_or(NO_HOME)?;
    let mut profile = Profile::load(&path).map_err(|error| error.to_string())?;
    let tried = |entry: &ProfileEntry| {
        document.cells.iter().any(|cell| {
            let cache = cell.labels.cache.map_or("", |cache| cache.word());
            format!("{}, {cache}", cell.labels.job) == entry.job.to_string()
        })
    };
    let known = profile.file_systems.remove(&key).map(|known| known.entries).unwrap_or_default();
    let precise = |entry: &ProfileEntry| entry.ranked.first().is_some_and(|choice| choice.low < choice.high);
    let keeps_known =
        |new: &ProfileEntry| known.iter().any(|old| old.job == new.job && precise(old) && !precise(new));
    let replaces = |entry: &ProfileEntry| tried(entry) && !keeps_known(entry);
    let (mut entries, others): (Vec<ProfileEntry>, Vec<ProfileEntry>) =
        measured.entries.into_iter().partition(replaces);
    for entry in known.into_iter().chain(others) {
        if entries.iter().all(|kept| kept.job != entry.job) {
            entries.push(entry);
        }
    }
    let merged = fullbore::strategy::FileSystem { directory: measured.directory, entries };
    profile.file_systems.insert(key, merged);
    profile.save(&path).map_err(|error| error.to_string())?;
    Ok(path)
}
