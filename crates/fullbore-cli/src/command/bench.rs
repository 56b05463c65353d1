//! `fullbore bench`: measure the storage, report it, and save what the other commands use.

use std::fs;
use std::io::{BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use clap::Args;
use fullbore::Error;
use fullbore::file::Temporary;
use fullbore::pattern::Monitor;
use fullbore::size;
use fullbore::strategy::Profile;
use fullbore_bench::document::{Document, rfc3339};
use fullbore_bench::{Measured, Options, Progress, csv, experiment, report, table};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::exit::Exit;

/// Measure what an application gets from this storage, and save the best strategies
#[derive(Debug, Args)]
pub(crate) struct Bench {
    /// The directory to measure: its file system and the device under it
    #[arg(long, value_name = "DIR", default_value = ".")]
    dir: PathBuf,

    /// The length of the test files; chosen from memory, free space and the device's pace unless told
    #[arg(long, value_parser = |text: &str| size::parse(text))]
    size: Option<u64>,

    /// How long to measure, in seconds; cells that are not precise by then say so
    #[arg(long, value_name = "SECONDS", default_value_t = 85, value_parser = clap::value_parser!(u64).range(10..=86_400))]
    time: u64,

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

impl Bench {
    pub(crate) fn run(self) -> Result<(), Exit> {
        let output =
            self.output.clone().unwrap_or_else(|| PathBuf::from(format!("fullbore-results-{}", stamp())));
        // Learn now, not after a minute and a half, that the results have no place to go. Until they are there, the
        // folder goes with a run that fails or is stopped.
        let (folder, ()) = Temporary::make(output.clone(), |path| {
            fs::create_dir(path).map_err(|error| {
                Error::io("make the results folder", path, error).advise("name another with --output")
            })
        })?;
        let Measured { document, profile } = self.measure()?;
        write_results(&document, &output)?;
        folder.keep();
        let saved = if self.no_save { None } else { Some(save(profile)) };
        if self.json {
            let mut text = Vec::new();
            document.write(&mut text).map_err(Exit::trouble)?;
            Exit::print(&text)?;
        } else {
            let width = terminal_width();
            let colour = std::io::stdout().is_terminal()
                && std::env::var_os("NO_COLOR").is_none_or(|set| set.is_empty());
            let mut text = table::render(&document, table::TableOptions { width, colour });
            text.push_str(&format!("\nreport:  {}\n", output.join("report.html").display()));
            text.push_str(&format!("results: {} and results.csv\n", output.join("results.json").display()));
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

    fn measure(&self) -> Result<Measured, Exit> {
        let options = Options {
            directory: self.dir.clone(),
            size: self.size,
            time: Duration::from_secs(self.time),
            seed: self.seed,
            experiments: experiment::QUICK.to_owned(),
            command: std::env::args().collect(),
        };
        let line = Line::new(Duration::from_secs(self.time));
        let measured = fullbore_bench::run(&options, &Monitor::default(), |progress| line.show(&progress));
        line.end();
        Ok(measured?)
    }
}

/// The line on the terminal: how far, how long, what, how fast.
struct Line {
    bar: Option<ProgressBar>,
    time: Duration,
}

impl Line {
    fn new(time: Duration) -> Self {
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::new(1000);
            bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(10));
            if let Ok(style) = ProgressStyle::with_template("{bar:20} {percent:>3}% {prefix:>10} {wide_msg}")
            {
                bar.set_style(style);
            }
            bar
        });
        Self { bar, time }
    }

    fn show(&self, progress: &Progress<'_>) {
        let Some(bar) = &self.bar else { return };
        let left = self.time.mul_f64(1.0 - progress.share).as_secs();
        bar.set_position((progress.share * 1000.0) as u64);
        bar.set_prefix(progress.rate.map(size::rate).unwrap_or_default());
        bar.set_message(format!("{left} s left  {}", progress.now));
    }

    fn end(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// Date and time as they can stand in a file name.
fn stamp() -> String {
    rfc3339(SystemTime::now()).replace(':', "").replace('T', "-").trim_end_matches('Z').to_owned()
}

pub(super) fn terminal_width() -> usize {
    rustix::termios::tcgetwinsize(std::io::stdout()).map_or(80, |size| match size.ws_col {
        0 => 80,
        columns => usize::from(columns).clamp(60, 120),
    })
}

/// Writes the three files; all of them or none.
fn write_results(document: &Document, directory: &Path) -> Result<(), Exit> {
    let mut written = Vec::new();
    let mut write = |name: &str, fill: &dyn Fn(BufWriter<fs::File>) -> Result<(), String>| {
        let path = directory.join(name);
        let (temporary, file) = Temporary::make(path.clone(), |path| {
            fs::File::create_new(path).map_err(|error| Error::io("write", path, error))
        })?;
        written.push(temporary);
        fill(BufWriter::new(file))
            .map_err(|error| Exit::trouble(format!("{}: cannot write: {error}", path.display())))
    };
    write("results.json", &|file| document.write(file).map_err(|error| error.to_string()))?;
    write("results.csv", &|file| csv::write(document, file).map_err(|error| error.to_string()))?;
    let html = report::html(document);
    write("report.html", &|mut file| {
        file.write_all(html.as_bytes()).and_then(|()| file.flush()).map_err(|error| error.to_string())
    })?;
    written.into_iter().for_each(Temporary::keep);
    Ok(())
}

/// Adds what was measured to the profile.
fn save((key, measured): (String, fullbore::strategy::FileSystem)) -> Result<PathBuf, String> {
    let path = Profile::path().ok_or("neither XDG_CONFIG_HOME nor HOME says where")?;
    let mut profile = Profile::load(&path).map_err(|error| error.to_string())?;
    profile.file_systems.insert(key, measured);
    profile.save(&path).map_err(|error| error.to_string())?;
    Ok(path)
}
