//! Import of fio's job files as experiments, one a job, on the meter's own test file.

mod ignored;
mod load;
mod syntax;

use std::collections::{BTreeMap, BTreeSet};

use self::load::Load;
pub use self::syntax::ImportError;
use self::syntax::{Notes, sections};

/// An imported job file.
#[derive(Debug, Clone, PartialEq)]
pub struct Imported {
    /// An experiment for each job, in the form of [`Options::sets`](crate::Options::sets).
    pub toml: String,
    /// Options that are ignored or changed, with the reason, a sentence each.
    pub notes: Vec<String>,
    /// Length of the jobs' test file in bytes: for [`Options::size`](crate::Options::size).
    pub size: Option<u64>,
}

/// Reads the job file `name` and converts each of its jobs to an experiment: `name: job`.
///
/// Files named in the job file are never touched: the meter reads and writes its own test files; the notes list them.
///
/// ```
/// let imported = fullbore_bench::fio::import("[deep]\nrw=randread\nbs=4k\ndirect=1\nioengine=io_uring\niodepth=32\n\
///     filename=/dev/nvme0n1\n", "mine")?;
/// assert!(imported.toml.contains("method=uring"));
/// assert!(imported.notes.iter().any(|note| note.contains("/dev/nvme0n1")));
/// let error = fullbore_bench::fio::import("[mixed]\nrw=randrw\n", "mine").unwrap_err();
/// assert!(error.to_string().starts_with("line 2: rw=randrw: "));
/// # Ok::<(), fullbore_bench::fio::ImportError>(())
/// ```
///
/// # Errors
/// At the first line that cannot be measured here, with the option and the reason.
pub fn import(text: &str, name: &str) -> Result<Imported, ImportError> {
    let jobs = sections(text)?;
    if jobs.is_empty() {
        return Err(ImportError { line: 1, option: "the file".into(), why: "no [job]".into() });
    }
    let mut notes = Notes::default();
    let loads = jobs.iter().map(|one| Load::read(one, &mut notes)).collect::<Result<Vec<_>, _>>()?;
    let sizes: Vec<u64> = loads.iter().filter_map(|load| load.file).collect();
    let size = sizes.iter().copied().max();
    if sizes.iter().any(|one| Some(*one) != size) {
        notes.add("", "the jobs specify different sizes: all use a file of the largest size");
    }
    if loads.len() > 1 {
        notes.add("", "the jobs are measured separately, as if each had a stonewall");
    }
    let quoted = |text: &str| toml::Value::String(text.to_owned()).to_string();
    let mut toml = String::from("# From a job file of fio.\n");
    let mut known: BTreeSet<String> = BTreeSet::new();
    let mut numbers: BTreeMap<&str, u64> = BTreeMap::new();
    for load in &loads {
        // Jobs may have the same name, experiments not.
        let (mut job, number) = (load.name.clone(), numbers.entry(&load.name).or_insert(1));
        while known.contains(&job) {
            *number += 1;
            job = format!("{} ({number})", load.name);
        }
        toml += &format!(
            "\n[[experiment]]\nname = {}\ntitle = {}\nquestion = \"How fast is this job of fio here?\"\naxis = \"none\"\n{}",
            quoted(&format!("{name}: {job}")),
            quoted(&format!("Job {job} of {name}")),
            load.grid()
        );
        known.insert(job);
    }
    Ok(Imported { toml, notes: notes.into_texts(), size })
}
