//! The quick run, and runs of experiments by name.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use fullbore::pattern::Monitor;
use fullbore::size;
use fullbore::strategy::Profile;
use fullbore_bench::document::Document;
use fullbore_bench::experiment::{BUILT_IN, QUICK, built_in, describe};
use fullbore_bench::{Event, Measured, Options, table};

use super::list::unknown;
use super::live::Live;
use super::results::Folder;
use crate::command::report::look;
use crate::exit::Exit;

/// How to measure, whatever is measured.
#[derive(Debug, Args)]
pub(crate) struct Measure {
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
    #[arg(value_name = "NAME|FILE.toml", required_unless_present_any = ["all", "resume"])]
    names: Vec<String>,

    /// Run every experiment there is: half an hour
    #[arg(long, conflicts_with = "names")]
    all: bool,

    /// Go on with a run that was stopped, in its results folder: same directories, experiments and seed
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["names", "all", "dir", "size", "output", "seed"])]
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
    how: Measure,
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
            let (folder, document) = Folder::again(folder)?;
            return self.how.go_on(folder, document);
        }
        let sets: Vec<(String, String)> = if self.all {
            let others = BUILT_IN.iter().filter(|set| set.text != QUICK);
            others.map(|set| (set.name.to_owned(), set.text.to_owned())).collect()
        } else {
            self.names.iter().map(|name| set(name)).collect::<Result<_, _>>()?
        };
        self.how.measure(sets, self.device.zip(self.serial))
    }
}

/// A set by its name, or a file's.
fn set(name: &str) -> Result<(String, String), Exit> {
    if let Some(set) = built_in(name) {
        return Ok((set.name.to_owned(), set.text.to_owned()));
    }
    let path = Path::new(name);
    if !path.exists() && path.extension().is_none_or(|suffix| suffix != "toml") {
        return Err(Exit::trouble(unknown(name)));
    }
    let text = std::fs::read_to_string(path)
        .map_err(|error| Exit::trouble(format!("{name}: cannot read the experiments: {error}")))?;
    Ok((name.to_owned(), text))
}

impl Measure {
    /// The quick run.
    pub(super) fn quick(mut self) -> Result<(), Exit> {
        self.time.get_or_insert(QUICK_TIME);
        self.measure(vec![("quick".into(), QUICK.into())], None)
    }

    fn measure(self, sets: Vec<(String, String)>, device: Option<(PathBuf, String)>) -> Result<(), Exit> {
        let time = self.time(&sets)?;
        let folder = Folder::make(self.output.clone())?;
        let options = Options {
            directories: self.dir.clone(),
            device,
            size: self.size,
            time,
            precision: self.precision,
            seed: self.seed,
            sets,
            command: std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect(),
            resume: None,
            with_fio: false,
            program: std::env::current_exe().ok(),
        };
        self.carry_out(&options, folder)
    }

    /// Goes on with a run that was stopped.
    fn go_on(self, folder: Folder, document: Document) -> Result<(), Exit> {
        let run = &document.run;
        let directories = match run.directories.as_slice() {
            [] => vec![PathBuf::from(&run.directory)],
            several => several.iter().map(PathBuf::from).collect(),
        };
        let options = Options {
            directories,
            device: None,
            size: Some(run.file_bytes),
            time: self.time(&run.sets)?,
            precision: self.precision,
            seed: run.seed,
            sets: run.sets.clone(),
            command: run.command.clone(),
            resume: Some(document),
            with_fio: false,
            program: std::env::current_exe().ok(),
        };
        self.carry_out(&options, folder)
    }

    /// The time there is: as told, or by the number of cells.
    fn time(&self, sets: &[(String, String)]) -> Result<Duration, Exit> {
        let mut cells = 0;
        for (name, text) in sets {
            let found = describe(text).map_err(|error| Exit::trouble(format!("{name}: {error}")))?;
            cells += found.iter().map(|(_, cells)| cells).sum::<usize>();
        }
        let by_cells = (cells as f64 * CELL_TIME).clamp(RUN_TIME.0, RUN_TIME.1);
        Ok(self.time.map_or(Duration::from_secs_f64(by_cells), Duration::from_secs))
    }

    fn carry_out(&self, options: &Options, mut folder: Folder) -> Result<(), Exit> {
        let live = Live::new(options.time);
        let mut kept = Ok(());
        let measured = fullbore_bench::run(options, &Monitor::default(), |event| match event {
            Event::Progress(progress) => live.show(&progress),
            Event::Partial(document) => kept = folder.keep(document),
        });
        live.end();
        let Measured { document, profile } = measured?;
        kept?;
        folder.finish(&document)?;
        // A run without strategies for any job has nothing to say to the other commands.
        let worth = profile.filter(|(_, measured)| !self.no_save && !measured.entries.is_empty());
        let saved = worth.map(save);
        if self.json {
            let mut text = Vec::new();
            document.write(&mut text).map_err(Exit::trouble)?;
            Exit::print(&text)?;
        } else {
            let mut text = table::render(&document, look());
            text.push_str(&format!("\nreport:  {}\n", folder.path().join("report.html").display()));
            text.push_str(&format!(
                "results: {} and results.csv\n",
                folder.path().join("results.json").display()
            ));
            if let Some(Ok(path)) = &saved {
                text.push_str(&format!("profile: {}\n", path.display()));
            }
            Exit::print(&text)?;
        }
        match saved {
            Some(Err(error)) => {
                Err(Exit::trouble(format!("the results are written, the profile is not: {error}")))
            }
            _ => Ok(()),
        }
    }
}

/// Adds what was measured to the profile: of the jobs measured now, the others stay as they were.
fn save((key, measured): (String, fullbore::strategy::FileSystem)) -> Result<PathBuf, String> {
    let path = Profile::path().ok_or("neither XDG_CONFIG_HOME nor HOME says where")?;
    let mut profile = Profile::load(&path).map_err(|error| error.to_string())?;
    let known = profile.file_systems.remove(&key);
    let mut entries = measured.entries;
    let jobs: Vec<_> = entries.iter().map(|entry| entry.job).collect();
    entries.extend(known.into_iter().flat_map(|known| known.entries).filter(|old| !jobs.contains(&old.job)));
    let merged = fullbore::strategy::FileSystem { directory: measured.directory, entries };
    profile.file_systems.insert(key, merged);
    profile.save(&path).map_err(|error| error.to_string())?;
    Ok(path)
}
