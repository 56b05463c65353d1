//! A run of the meter: set after set, each in interleaved rounds over its cells until every one is precise or the time
//! is up.

mod active_cell;
mod cells;
mod decisions;
mod document_builder;
mod headlines;
mod options;
mod session;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use fullbore::error::ErrorKind;
use fullbore::pattern::Progress;
use fullbore::probe::{self, Facts, Machine};
use fullbore::{Error, Result};

use self::cells::Deadline;
use self::document_builder::DocumentBuilder;
pub use self::options::{Event, Options, RunProgress};
use self::session::Session;
use crate::action::{DeviceLimits, RunContext};
use crate::clock::Clock;
use crate::document::{Document, Experiment, MOST_CELLS, Operation};
use crate::experiment::{self, Trial};
use crate::grouping::distinct;
use crate::test_files::{self, Needs, TestFiles};
use crate::{audit, fio, host, units};

/// Result of a run.
#[derive(Debug)]
pub struct Measured {
    /// The results document.
    pub document: Document,
    /// Key of the file system and its entries for the profile; `None` for a device.
    pub profile: Option<(String, fullbore::strategy::FileSystem)>,
}

/// Maximum share of the time for creating the test files.
const MAKING: f64 = 0.12;

/// Time reserved for the statistics and the report.
const CLOSING: Duration = Duration::from_secs(2);

/// Runs the experiments and returns the results.
///
/// # Errors
/// If a directory cannot be written or has no space, or the system refuses a call that every trial needs. The error of
/// a single trial is recorded in its cell.
pub fn run(options: &Options, progress: &Progress, mut observe: impl FnMut(Event<'_>)) -> Result<Measured> {
    let clock = Clock::start();
    let mut builder = DocumentBuilder::open(options, clock.clone())?;
    let whole = Deadline { clock: clock.clone(), end: options.time.saturating_sub(CLOSING) };
    let say = |observe: &mut dyn FnMut(Event<'_>), now: &str| {
        observe(Event::Progress(RunProgress { share: whole.share(), now, rates: &[] }));
    };
    say(&mut observe, "probing the storage");
    let machine = probe::machine();
    let facts = options.measured_paths().map(|path| probe::facts(path)).collect::<Result<Vec<_>>>();
    let facts = facts.map_err(|error| match &options.resume {
        Some(_) => error.advise("the run that is resumed measured there"),
        None => error.advise("name a directory with --dir"),
    })?;
    let (sets, notes) = with_peers(read(options)?, options)?;
    check_cells(&sets, options)?;
    say(&mut observe, "writing test files");
    let trials = || sets.iter().flat_map(|(_, trials)| trials);
    let needs = trials().fold(Needs::default(), |needs, trial| needs.and(trial.workload.needs()));
    let file_sets = create_file_sets(options, &facts, &machine, needs, progress)?;
    let devices = distinct(facts.iter().flat_map(host::devices));
    let names = options.measured_paths().map(|path| path.display().to_string());
    let limits = DeviceLimits::new(names.zip(facts.iter().map(host::devices)).collect(), options.regime);
    let context = RunContext {
        file_sets: &file_sets,
        devices: &devices,
        read_ahead: host::read_ahead(&facts),
        progress,
        clock: clock.clone(),
        earlier: builder.earlier(),
        seed: options.seed,
        program: options.program.as_deref(),
        returns_free_memory: machine.returns_free_memory,
    };
    builder.set_environment(&facts, &machine, &file_sets);
    builder.check_environment()?;
    builder.note(notes);

    let sets = with_contenders(sets, &context);
    check_cells(&sets, options)?;
    say(&mut observe, "measuring the meter itself");
    builder.own = Some(audit::own_cost(&file_sets[0].warm)?);
    let of = |trials: &[Trial]| trials.iter().map(|trial| trial.workload.shares()).sum::<usize>();
    let mut left: usize = sets.iter().map(|(_, trials)| of(trials)).sum();
    if let Some(text) = announcement(&sets, options.time, &file_sets[0]) {
        observe(Event::Announcement(&text));
    }
    let mut session = Session::new(options, &context, &limits, &whole, builder, &mut observe);
    for (described, trials) in sets {
        // Trials have equal shares of the remaining time, whichever their set.
        let (now, own) = (clock.elapsed(), of(&trials));
        let share = whole.end.saturating_sub(now).mul_f64(own as f64 / left.max(1) as f64);
        left -= own;
        session.builder.describe(described.clone());
        session.measure(trials, &described, Deadline { clock: clock.clone(), end: now + share })?;
        file_sets.iter().for_each(TestFiles::remove_sized);
        session.emit_partial();
    }
    let builder = session.builder;
    say(&mut observe, "writing the report");
    let document = builder.document(true);
    let profile = match &options.device {
        // A file system created on the device later is not the measured one.
        Some(_) => None,
        None => {
            let key = fullbore::strategy::key(&file_sets[0].cold)
                .map_err(|error| Error::io("identify the file system of", &options.directories[0], error))?;
            Some((key, builder.profile(&document)))
        }
    };
    Ok(Measured { document, profile })
}

/// Returns a message on the volume that cells of continuous transfer will write, if any do: they write for their whole
/// time, over the blocks of the test file.
fn announcement(sets: &[ParsedSet], time: Duration, test_files: &TestFiles) -> Option<String> {
    let workloads = || sets.iter().flat_map(|(_, trials)| trials).map(|trial| &trial.workload);
    let all: usize = workloads().map(|workload| workload.shares()).sum();
    let writers = workloads().filter(|one| one.is_continuous() && one.labels().operation == Operation::Write);
    let writing: usize = writers.map(|workload| workload.shares()).sum();
    let seconds = time.as_secs_f64() * writing as f64 / all.max(1) as f64;
    let pace = test_files.pace;
    (writing > 0).then(|| {
        format!(
            "writes continuously for up to {seconds:.0} s, overwriting the test file of {} again and again: about {} \
             at the {} at which that file was written; this takes no more space",
            units::size(test_files.len),
            units::rate(pace * seconds).trim_end_matches("/s"),
            units::rate(pace)
        )
    })
}

/// A set: the descriptions of its experiments, and their trials.
type ParsedSet = (Vec<Experiment>, Vec<Trial>);

/// Fails if the sets have no cells, or more than a results document may have.
fn check_cells(sets: &[ParsedSet], options: &Options) -> Result<()> {
    let cells = sets.iter().map(|(_, trials)| trials.len()).sum::<usize>();
    let names: Vec<_> = options.sets.iter().map(|(name, _)| name.as_str()).collect();
    let wrong = |what: String| Error::new(ErrorKind::Invalid, "measure", names.join(", "), what);
    match cells {
        0 => Err(wrong("it has no cells that this system can measure".into())),
        1..=MOST_CELLS => Ok(()),
        _ => {
            let what = format!("{cells} cells; a results document has at most {MOST_CELLS}");
            Err(wrong(what).advise("name fewer experiments"))
        }
    }
}

/// Adds the trials of the requested peers to the sets; also returns notes on trials without a peer.
fn with_peers(sets: Vec<ParsedSet>, options: &Options) -> Result<(Vec<ParsedSet>, Vec<String>)> {
    if !options.with_fio {
        return Ok((sets, Vec::new()));
    }
    let program = fio::Program::find()?;
    let mut notes = vec![format!("compared with {}", program.version)];
    let beside = sets.into_iter().map(|(described, trials)| {
        let (trials, said) = fio::add_peer_trials(trials, &program);
        notes.extend(said);
        (described, trials)
    });
    let sets = beside.collect();
    Ok((sets, notes))
}

/// Replaces the trials that stand for the planner's contenders by those of the contenders.
fn with_contenders(sets: Vec<ParsedSet>, context: &RunContext<'_>) -> Vec<ParsedSet> {
    let expand = |trials: Vec<Trial>| trials.into_iter().flat_map(|trial| trial.into_contenders(context));
    first_of_each_id(
        sets.into_iter().map(|(described, trials)| (described, expand(trials).collect())).collect(),
    )
}

/// Removes trials whose id an earlier trial has.
fn first_of_each_id(mut sets: Vec<ParsedSet>) -> Vec<ParsedSet> {
    let mut known = std::collections::BTreeSet::new();
    sets.iter_mut().for_each(|(_, trials)| trials.retain(|trial| known.insert(trial.id.clone())));
    sets
}

fn read(options: &Options) -> Result<Vec<ParsedSet>> {
    let parse = |(name, text): &(String, String)| {
        experiment::parse(text, probe::processors(), options.measured_paths().count())
            .map_err(|error| Error::new(ErrorKind::Invalid, "read", name, error.to_string()))
    };
    options.sets.iter().map(parse).collect::<Result<_>>().map(first_of_each_id)
}

/// Creates the test files in each directory; those after the first have the files that trials of several disks need.
fn create_file_sets(
    options: &Options,
    facts: &[Facts],
    machine: &Machine,
    needs: Needs,
    progress: &Progress,
) -> Result<Vec<TestFiles>> {
    if let Some((path, serial)) = &options.device {
        return Ok(vec![TestFiles::on_device(path, serial, options.size, options.seed, progress)?]);
    }
    let mut len = options.size;
    let patience = options.time.mul_f64(MAKING / 6.0);
    // A resumed run measures the same work.
    let transform_len = options.resume.as_ref().and_then(|before| before.run.transform_bytes);
    let mut file_sets: Vec<TestFiles> = Vec::new();
    // Directories of one file system share its free space, which was read before any file was made.
    let device = |path: &PathBuf| fullbore::sys::stat(path).map_or(0, |stat| stat.dev);
    let devices: Vec<u64> = options.directories.iter().map(device).collect();
    if let Some(size) = options.size {
        // All of them, before anything is written.
        let mut planned = BTreeMap::new();
        for (index, (directory, facts)) in options.directories.iter().zip(facts).enumerate() {
            let ((total, free), needs) = (host::room(facts), needs_of(needs, index));
            let planned: &mut u64 = planned.entry(devices[index]).or_default();
            test_files::check(directory, size, free.saturating_sub(*planned), total, needs)?;
            *planned += needs.bytes(size);
        }
    }
    let mut planned = BTreeMap::new();
    for (index, (directory, facts)) in options.directories.iter().zip(facts).enumerate() {
        let needs = needs_of(needs, index);
        let (total, free) = host::room(facts);
        let planned: &mut u64 = planned.entry(devices[index]).or_default();
        // Volumes of one pool have devices of their own.
        let now = fullbore::sys::space_of(directory).map_or(u64::MAX, |space| space.available);
        let free = free.saturating_sub(*planned).min(now);
        let fitting = match len {
            Some(size) => test_files::check(directory, size, free, total, needs).map(|()| size)?,
            None => {
                let memory = machine.memory().unwrap_or(1 << 30);
                let sharing = devices.iter().filter(|other| **other == devices[index]).count() as u64;
                let in_memory = host::in_memory(facts);
                test_files::suggest(directory, memory, (free, sharing), total, in_memory, needs)?
            }
        };
        let patience = (options.size.is_none() && index == 0).then_some(patience);
        let seed = options.seed.wrapping_add(1_000_000 * index as u64);
        let test_files = TestFiles::make(directory, fitting, patience, seed, needs, transform_len, progress)?;
        // One length for all, so that a file can be striped over them.
        len = Some(test_files.len);
        *planned += needs.bytes(test_files.len);
        file_sets.push(test_files);
    }
    Ok(file_sets)
}

/// Returns the needs of a directory: those after the first have the files of trials of several disks.
fn needs_of(needs: Needs, index: usize) -> Needs {
    if index == 0 { needs } else { Needs { written: needs.written, ..Needs::default() } }
}

#[cfg(test)]
mod tests {
    use fullbore_testkit::ground::build_directory;

    use super::*;
    use crate::document::{Environment, Run};

    #[test]
    fn a_resumed_run_transforms_files_of_the_same_length() {
        let directory = tempfile::tempdir_in(build_directory()).unwrap();
        let before = Run { transform_bytes: Some(16 << 20), ..Run::default() };
        let options = Options {
            directories: vec![directory.path().to_owned()],
            size: Some(32 << 20),
            resume: Some(Document::new(before, Environment::default())),
            ..Options::default()
        };
        let facts = [probe::facts(directory.path()).unwrap()];
        // In a new run of this size, they would be as long as the others.
        let needs = Needs { transformed: true, adaptive: true, ..Needs::default() };
        let file_sets =
            create_file_sets(&options, &facts, &probe::machine(), needs, &Progress::default()).unwrap();
        assert_eq!((file_sets[0].len, file_sets[0].transform_len), (32 << 20, 16 << 20));
        assert_eq!(file_sets[0].input.len().unwrap(), 16 << 20);
    }

    #[test]
    fn directories_share_the_space_above_the_reserve() {
        let suggest = |total: u64, free: u64, sharing: u64| {
            let memory = 64 << 30;
            test_files::suggest("d".as_ref(), memory, (free, sharing), total, false, Needs::default())
        };
        let [one, two] = [1, 2].map(|sharing| suggest(50 << 30, 6 << 30, sharing).unwrap());
        assert!(one >= two && two >= 16 << 20, "{one} {two}");
        assert!(suggest(50 << 30, 5 << 30, 1).is_err());
        // A tenth of a large file system is more than anybody needs.
        assert!(suggest(100 << 40, 11 << 30, 1).is_ok() && suggest(100 << 40, 9 << 30, 1).is_err());
    }

    #[test]
    fn the_volume_of_continuous_writes_is_announced() {
        let directory = tempfile::tempdir_in(build_directory()).unwrap();
        let mut test_files = TestFiles::of_test(directory.path(), 1 << 20, Needs::default());
        test_files.pace = 2e9;
        let set = |name: &str| [experiment::parse(experiment::built_in(name).unwrap().text, 2, 1).unwrap()];
        // Half of the cells of the experiment write.
        let text = announcement(&set("sustained"), Duration::from_secs(100), &test_files).unwrap();
        for part in ["50 s", "100 GB", "2.00 GB/s"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert_eq!(announcement(&set("depth"), Duration::from_secs(100), &test_files), None);
    }
}
