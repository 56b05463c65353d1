//! The quick run, and runs of experiments by name.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use fullbore::file::{DOCUMENT_LIMIT, read_text};
use fullbore::pattern::Progress;
use fullbore::size;
use fullbore::strategy::{Entry, Profile};
use fullbore_bench::document::Document;
use fullbore_bench::experiment::{BUILT_IN, QUICK, built_in, describe};
use fullbore_bench::{Event, Measured, Options, fio, table};
use fullbore_cli::values::names;

use super::list::unknown;
use super::live::LiveDisplay;
use super::results::ResultsFolder;
use crate::command::report::table_options;
use crate::exit::Exit;

/// How to measure, whatever is measured.
#[derive(Debug, Args)]
pub(crate) struct MeasureArgs {
    /// The directory to measure: its file system and the device under it. Said again: another disk, for experiments
    /// of several
    #[arg(long, value_name = "DIR", default_value = ".")]
    dir: Vec<PathBuf>,

    /// The length of the test files; chosen from memory, free space and the device's pace unless told
    #[arg(long, value_parser = |text: &str| size::parse(text))]
    size: Option<u64>,

    /// How long to measure, in seconds; cells that are not precise by then say so [default: 85 for the quick run, else
    /// by the number of cells]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(10..=86_400))]
    time: Option<u64>,

    /// How narrow the 95% interval of a median must be for its cell to be done: half its width, in percent of the median
    #[arg(long, value_name = "PERCENT", default_value = "2.5%", value_parser = percent)]
    precision: f64,

    /// The directory for report.html, results.json and results.csv; it must not exist yet
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,

    /// Do not save the profile that the other commands use
    #[arg(long)]
    no_save: bool,

    /// Print the results document to standard output in place of the table
    #[arg(long)]
    json: bool,

    /// The seed of the test data, the order of the trials and the intervals
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// Run experiments by name or from a file
#[derive(Debug, Args)]
pub(crate) struct Run {
    /// Experiments as `fullbore bench list` names them, or files of experiments (*.toml)
    #[arg(value_name = "NAME|FILE.toml", required_unless_present_any = ["all", "resume", "job"])]
    names: Vec<String>,

    /// Run every experiment there is: half an hour
    #[arg(long, conflicts_with = "names")]
    all: bool,

    /// Run the jobs of a job file of fio's, on test files of the meter's own: no file that it names is touched. May be
    /// given again
    #[arg(long, value_name = "FILE.fio", conflicts_with = "all")]
    job: Vec<PathBuf>,

    /// Measure every cell that this program can do a second time by it, in the same rounds, and show the ratio
    #[arg(long, value_parser = names::<PeerProgram>(), value_name = "PROGRAM")]
    with: Option<PeerProgram>,

    /// Go on with a run that was stopped, in its results folder: same directories, experiments and seed
    #[arg(
        long,
        value_name = "FOLDER",
        conflicts_with_all = ["names", "all", "job", "with", "dir", "size", "output", "seed"]
    )]
    resume: Option<PathBuf>,

    /// Measure a whole block device in place of a directory: EVERYTHING ON IT IS LOST. Refused where it is mounted, has
    /// partitions, a file system or any other data, or is part of something
    #[arg(long, value_name = "DEVICE", requires = "serial", conflicts_with_all = ["dir", "resume"])]
    device: Option<PathBuf>,

    /// The serial number of the device, as `fullbore probe DEVICE` prints it (of a loop device the file behind it), to
    /// make sure that it is the one meant
    #[arg(long, value_name = "SERIAL", requires = "device")]
    serial: Option<String>,

    #[command(flatten)]
    how: MeasureArgs,
}

/// A program that does the same cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum PeerProgram {
    Fio,
}

/// The time of the quick run, in seconds.
const QUICK_TIME: u64 = 85;

/// The time that a cell gets when nobody says how long a run may take, in seconds.
const CELL_TIME: f64 = 3.5;

/// The shortest and the longest run that nobody set a time for, in seconds.
const RUN_TIME: (f64, f64) = (30.0, 1740.0);

/// `2%` or `2`, as a share.
fn percent(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').unwrap_or(text);
    match number.trim().parse::<f64>() {
        Ok(value) if value > 0.0 && value <= 50.0 => Ok(value / 100.0),
        _ => Err(format!("{text} is no percentage above 0 and up to 50")),
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
        let mut size = None;
        for path in &self.job {
            let (name, imported) = jobs(path)?;
            sets.push((name, imported.toml));
            size = size.max(imported.size);
        }
        // What was asked for here goes before what a file asks for.
        self.how.size = self.how.size.or(size);
        self.how.measure(sets, self.device.zip(self.serial), self.with.is_some())
    }
}

/// A set by its name, or a file's.
fn set(name: &str) -> Result<(String, String), Exit> {
    if let Some(set) = built_in(name) {
        return Ok((set.name.to_owned(), set.text.to_owned()));
    }
    let path = Path::new(name);
    if !path.exists() && path.extension().is_none_or(|suffix| suffix != "toml") {
        return Err(Exit::failure(unknown(name)));
    }
    let text = std::fs::File::open(path)
        .and_then(|file| read_text(file, DOCUMENT_LIMIT))
        .map_err(|error| Exit::failure(format!("{name}: cannot read the experiments: {error}")))?;
    Ok((name.to_owned(), text))
}

/// The jobs of a file of fio's; what is done otherwise is said.
fn jobs(path: &Path) -> Result<(String, fio::Imported), Exit> {
    let name = path.display().to_string();
    let text = std::fs::File::open(path)
        .and_then(|file| read_text(file, DOCUMENT_LIMIT))
        .map_err(|error| Exit::failure(format!("{name}: cannot read the jobs: {error}")))?;
    let imported = fio::import(&text, &name).map_err(|error| Exit::failure(format!("{name}: {error}")))?;
    for note in &imported.notes {
        Exit::eprint(&format!("fullbore: {name}: {note}\n"));
    }
    Ok((name, imported))
}

impl MeasureArgs {
    /// The quick run.
    pub(super) fn quick(mut self) -> Result<(), Exit> {
        self.time.get_or_insert(QUICK_TIME);
        self.measure(vec![("quick".into(), QUICK.into())], None, false)
    }

    fn measure(
        self,
        sets: Vec<(String, String)>,
        device: Option<(PathBuf, String)>,
        with_fio: bool,
    ) -> Result<(), Exit> {
        // A cell that is measured twice takes twice as long.
        let twice = if with_fio && self.time.is_none() { 2 } else { 1 };
        let time = self.time(&sets)? * twice;
        let folder = ResultsFolder::make(self.output.clone())?;
        let options = Options {
            directories: self.dir.clone(),
            device,
            size: self.size,
            time,
            seed: self.seed,
            sets,
            command: std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect(),
            with_fio,
            ..self.options()
        };
        self.execute(&options, folder)
    }

    /// Goes on with a run that was stopped.
    fn resume_run(self, folder: ResultsFolder, document: Document) -> Result<(), Exit> {
        let run = &document.run;
        let directories = match run.directories.as_slice() {
            [] => vec![PathBuf::from(&run.directory)],
            several => several.iter().map(PathBuf::from).collect(),
        };
        let options = Options {
            directories,
            size: Some(run.file_bytes),
            time: self.time(&run.sets)?,
            seed: run.seed,
            sets: run.sets.clone(),
            command: run.command.clone(),
            with_fio: document.cells.iter().any(|cell| cell.labels.peer.as_deref() == Some("fio")),
            resume: Some(document),
            ..self.options()
        };
        self.execute(&options, folder)
    }

    /// What every run is told alike.
    fn options(&self) -> Options {
        Options { precision: self.precision, program: std::env::current_exe().ok(), ..Options::default() }
    }

    /// The time there is: as told, or by the number of cells.
    fn time(&self, sets: &[(String, String)]) -> Result<Duration, Exit> {
        let mut cells = 0;
        for (name, text) in sets {
            let found = describe(text).map_err(|error| Exit::failure(format!("{name}: {error}")))?;
            cells += found.iter().map(|(_, cells)| cells).sum::<usize>();
        }
        let by_cells = (cells as f64 * CELL_TIME).clamp(RUN_TIME.0, RUN_TIME.1);
        Ok(self.time.map_or(Duration::from_secs_f64(by_cells), Duration::from_secs))
    }

    fn execute(&self, options: &Options, mut folder: ResultsFolder) -> Result<(), Exit> {
        let live = LiveDisplay::new(options.time);
        let mut kept = Ok(());
        let measured = fullbore_bench::run(options, &Progress::default(), |event| match event {
            Event::Progress(progress) => live.show(&progress),
            Event::Partial(document) => kept = folder.keep(document),
        });
        live.end();
        let Measured { document, profile } = measured?;
        kept?;
        folder.finish(&document)?;
        // A run without strategies for any job has nothing to say to the other commands.
        let worth = profile.filter(|(_, measured)| !self.no_save && !measured.entries.is_empty());
        let saved = worth.map(|profile| save(profile, &document));
        if self.json {
            let mut text = Vec::new();
            document.write(&mut text).map_err(Exit::failure)?;
            Exit::print(&text)?;
        } else {
            let mut text = table::render(&document.printable(), table_options());
            text.push_str(&format!("\nreport:  {}\n", folder.path().join("report.html").display()));
            text.push_str(&format!(
                "results: {} and results.csv\n",
                folder.path().join("results.json").display()
            ));
            if let Some(Ok(path)) = &saved {
                text.push_str(&format!("profile: {}\n", path.display()));
            }
            Exit::print_raw(&text)?;
        }
        match saved {
            Some(Err(error)) => {
                Err(Exit::failure(format!("the results are written, the profile is not: {error}")))
            }
            _ => Ok(()),
        }
    }
}

/// Adds what was measured to the profile. A job that the run had no trial of its own for, but reads that say something of it,
/// keeps what an earlier run found for it.
fn save(
    (key, measured): (String, fullbore::strategy::FileSystem),
    document: &Document,
) -> Result<PathBuf, String> {
    let path = Profile::path().ok_or("neither XDG_CONFIG_HOME nor HOME says where")?;
    let mut profile = Profile::load(&path).map_err(|error| error.to_string())?;
    let tried = |entry: &Entry| {
        document.cells.iter().any(|cell| {
            let cache = cell.labels.cache.map_or("", |cache| cache.word());
            format!("{}, {cache}", cell.labels.job) == entry.job.to_string()
        })
    };
    let (mut entries, others): (Vec<Entry>, Vec<Entry>) = measured.entries.into_iter().partition(tried);
    let known = profile.file_systems.remove(&key).map(|known| known.entries).unwrap_or_default();
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
