//! `fullbore profile`: shows or removes the profile that `bench` saved, and the figures learned from runs.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use clap::{Args, Subcommand};
use fullbore::quote::Shown;
use fullbore::size;
use fullbore::strategy::{Learned, LearnedFigure, Profile as Saved};

use super::print_json;
use super::report::table_options;
use crate::exit::Exit;

/// Columns before the fields of a strategy that do not fit on its first line.
const INDENT: usize = 8;

/// Show or remove the profile that `fullbore bench` saved, and the figures learned from runs
#[derive(Debug, Args)]
#[command(after_help = "Exit status: 0 done, 1 nothing to forget, 2 error.")]
pub(crate) struct Profile {
    #[command(subcommand)]
    verb: ProfileAction,
}

#[derive(Debug, Subcommand)]
enum ProfileAction {
    /// Show the saved strategies of each file system and job, the fastest first, and the learned figures
    Show {
        /// Limit to the file system that contains this path
        #[arg(value_name = "PATH")]
        path: Option<PathBuf>,

        /// Print the profile as JSON
        #[arg(long)]
        json: bool,
    },
    /// Remove the saved profile and the learned figures, or those of one file system
    Forget {
        /// Limit to the file system that contains this path
        #[arg(value_name = "PATH")]
        path: Option<PathBuf>,
    },
}

impl Profile {
    pub(crate) fn run(self) -> Result<(), Exit> {
        let place = Saved::default_path().ok_or_else(|| {
            Exit::failure("no home directory for the profile: set XDG_CONFIG_HOME to an absolute path")
        })?;
        match self.verb {
            ProfileAction::Show { path, json } => show(&place, path.as_deref(), json),
            ProfileAction::Forget { path: None } => forget_all(&place),
            ProfileAction::Forget { path: Some(path) } => forget(&place, &path),
        }
    }
}

fn show(place: &Path, path: Option<&Path>, json: bool) -> Result<(), Exit> {
    let mut saved = Saved::load(place).map_err(Exit::failure)?;
    let mut learned = Learned::load(&Learned::path(place)).figures();
    if let Some(path) = path {
        let key = key(path)?;
        saved.file_systems.retain(|known, _| *known == key);
        learned.retain(|figure| figure.circumstances.file_system == key);
    }
    // As runs order them.
    learned.sort_by(|one, two| {
        let place = |figure: &LearnedFigure| {
            (figure.circumstances.file_system.clone(), figure.circumstances.to_string())
        };
        place(one).cmp(&place(two)).then(two.share.total_cmp(&one.share))
    });
    if json {
        let mut value = serde_json::to_value(&saved).map_err(Exit::failure)?;
        value["learned"] = serde_json::to_value(&learned).map_err(Exit::failure)?;
        return print_json(&value);
    }
    let width = table_options().width;
    if !saved.file_systems.is_empty() {
        return Exit::print(&(table(place, &saved, width) + &learned_table(&learned, width)));
    }
    if !learned.is_empty() {
        return Exit::print(learned_table(&learned, width).trim_start());
    }
    let (of, directory) = match path {
        Some(path) => (format!(" for the file system of {}", Shown(path)), "a directory on it"),
        None => (String::new(), "a directory of a file system"),
    };
    let mut text = format!("nothing is saved{of} ({})\n", Shown(place));
    let advice = format!(
        "run `fullbore bench` in {directory} to measure it; until then strategies are chosen from facts alone"
    );
    append_words(&mut text, 0, width, advice.split_inclusive(' '));
    Exit::print(&text)
}

fn table(place: &Path, saved: &Saved, width: usize) -> String {
    let mut text = format!("profile {}\n", Shown(place));
    for (key, system) in &saved.file_systems {
        // Writing to a string does not fail.
        let _ = write!(text, "\n{}\n  identified by ", Shown(&system.directory));
        append_words(&mut text, 4, width, key.split_inclusive([' ', ':']));
        for entry in &system.entries {
            let _ = writeln!(text, "\n  {} (measured {})", entry.job, entry.measured);
            for (index, measured) in entry.ranked.iter().enumerate() {
                let interval = match measured.low == measured.high {
                    true => "no interval".into(),
                    false => format!("{} to {}", size::rate(measured.low), size::rate(measured.high)),
                };
                let (place, rate) = (index + 1, size::rate(measured.rate));
                let _ = write!(text, "  {place:>3}. {rate:>10} ({interval})  ");
                append_words(&mut text, INDENT, width, measured.strategy.split_inclusive(','));
            }
        }
    }
    text
}

fn learned_table(figures: &[LearnedFigure], width: usize) -> String {
    let (mut text, mut last) = (String::new(), None);
    for figure in figures {
        if last != Some(&figure.circumstances) {
            text.push('\n');
            let heading = format!("learned for {}", figure.circumstances);
            append_words(&mut text, 4, width, heading.split_inclusive([' ', ':']));
            last = Some(&figure.circumstances);
        }
        let age = UNIX_EPOCH + Duration::from_secs(figure.updated);
        let days = age.elapsed().map_or(0, |age| age.as_secs() / (24 * 3600));
        let trials = if figure.count == 1 { "trial, " } else { "trials," };
        let unit = if days == 1 { "day old  " } else { "days old " };
        let _ = write!(
            text,
            "  {:>10}  {:>4.0}%  {:>3} {trials} {days:>2} {unit} ",
            size::rate(figure.rate),
            100.0 * figure.share,
            figure.count
        );
        append_words(&mut text, INDENT, width, figure.strategy.split_inclusive(','));
    }
    text
}

/// Appends words, each with the separator after it, to the last line, and ends that line. A word that does not fit into `width`
/// columns begins another line, after `indent` spaces.
fn append_words<'w>(text: &mut String, indent: usize, width: usize, words: impl Iterator<Item = &'w str>) {
    let mut column = text.rsplit('\n').next().map_or(0, |line| line.chars().count());
    for word in words {
        if column > indent && column + word.trim_end().chars().count() > width {
            text.truncate(text.trim_end_matches(' ').len());
            text.push('\n');
            text.push_str(&" ".repeat(indent));
            column = indent;
        }
        text.push_str(word);
        column += word.chars().count();
    }
    text.push('\n');
}

/// Removes the profile and the learned figures, even unreadable ones.
fn forget_all(place: &Path) -> Result<(), Exit> {
    let learned = forget_learned(place, None)?;
    match std::fs::remove_file(place) {
        Ok(()) => Exit::print(&format!("removed {}\n", Shown(place))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && learned => {
            Exit::print(&format!("removed {}\n", Shown(&Learned::path(place))))
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Err(no_profile(place, None)),
        Err(error) => Err(Exit::failure(format!("{}: cannot remove the profile: {error}", Shown(place)))),
    }
}

fn forget(place: &Path, path: &Path) -> Result<(), Exit> {
    let key = key(path)?;
    let mut saved = Saved::load(place).map_err(Exit::failure)?;
    let learned = forget_learned(place, Some(&key))?;
    let Some(forgotten) = saved.file_systems.remove(&key) else {
        return match learned {
            true => Exit::print(&format!("removed the figures learned on {key}\n")),
            false => Err(no_profile(place, Some(path))),
        };
    };
    if saved.file_systems.is_empty() {
        std::fs::remove_file(place).map_err(|error| {
            Exit::failure(format!("{}: cannot remove the profile: {error}", Shown(place)))
        })?;
        return Exit::print(&format!("removed {}\n", Shown(place)));
    }
    saved.save(place).map_err(Exit::failure)?;
    Exit::print(&format!("removed the results measured in {}\n", Shown(&forgotten.directory)))
}

/// Removes learned figures; true if there were any.
fn forget_learned(place: &Path, file_system: Option<&str>) -> Result<bool, Exit> {
    let place = Learned::path(place);
    Learned::forget(&place, file_system)
        .map_err(|error| Exit::failure(format!("{}: cannot remove the figures: {error}", Shown(&place))))
}

fn no_profile(place: &Path, path: Option<&Path>) -> Exit {
    let of = path.map_or_else(String::new, |path| format!(" of the file system of {}", Shown(path)));
    Exit::No(format!("nothing to forget: {} has no entries{of}", Shown(place)))
}

/// Returns the key of the file system that contains a path of any kind, without opening the path for reading.
fn key(path: &Path) -> Result<String, Exit> {
    let fail = |error: std::io::Error| {
        Exit::failure(format!("{}: cannot determine its file system: {error}", Shown(path)))
    };
    fullbore::probe::identity_of(path).map_err(fail)
}
