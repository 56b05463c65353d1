//! A run of the meter: set after set, each in interleaved rounds over its cells until every one is precise or the time
//! is up.

mod cells;
mod document_builder;
mod options;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use fullbore::error::ErrorKind;
use fullbore::pattern::Progress;
use fullbore::probe::{self, DeviceNumber, Facts, Machine};
use fullbore::{Error, Result};

use self::cells::{Cells, Clock};
use self::document_builder::DocumentBuilder;
pub use self::options::Options;
use crate::action::{Iteration, RunContext};
use crate::audit;
use crate::document::{Document, Experiment};
use crate::experiment::{self, Trial};
use crate::fio;
use crate::host;
use crate::sample::take_sample;
use crate::stats::{Bootstrap, StopRule, Xoshiro256};
use crate::test_files::{self, Needs, TestFiles};

/// Progress of a run.
#[derive(Debug, Clone, Copy)]
pub struct RunProgress<'a> {
    /// Elapsed share of the time, 0 to 1.
    pub share: f64,
    /// Current step: the id of a cell, or words.
    pub now: &'a str,
    /// Its rates measured so far, in bytes per second.
    pub rates: &'a [f64],
}

/// An event of a run.
#[derive(Debug)]
pub enum Event<'a> {
    /// Progress of the run.
    Progress(RunProgress<'a>),
    /// All results so far, complete and readable; to be kept in case the run is interrupted.
    Partial(&'a Document),
}

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

/// Minimum pause between two partial documents.
const PARTIAL: Duration = Duration::from_secs(5);

/// The same, in multiples of the time to compute one, because the statistics take longer with more cells.
const PARTIAL_TIMES: u32 = 20;

/// Runs the experiments and returns the results.
///
/// # Errors
/// If a directory cannot be written or has no space, or the system refuses a call that every trial needs. The error of
/// a single trial is recorded in its cell.
pub fn run(options: &Options, progress: &Progress, mut observe: impl FnMut(Event<'_>)) -> Result<Measured> {
    let start = Instant::now();
    let mut builder = DocumentBuilder::open(options, start)?;
    let clock = Clock { start, end: options.time.saturating_sub(CLOSING) };
    let say = |observe: &mut dyn FnMut(Event<'_>), now: &str| {
        observe(Event::Progress(RunProgress { share: clock.share(), now, rates: &[] }));
    };
    say(&mut observe, "probing the storage");
    let machine = probe::machine();
    let facts = options.measured_paths().map(probe_path).collect::<Result<Vec<_>>>()?;
    let (sets, notes) = with_peers(read(options)?, options)?;
    say(&mut observe, "writing test files");
    let trials = || sets.iter().flat_map(|(_, trials)| trials);
    let needs = trials().fold(Needs::default(), |needs, trial| needs.and(trial.workload.needs()));
    let file_sets = create_file_sets(options, &facts, &machine, needs, progress)?;
    let devices = devices(&facts);
    let context = RunContext {
        file_sets: &file_sets,
        devices: &devices,
        progress,
        start,
        seed: options.seed,
        program: options.program.as_deref(),
    };
    builder.set_environment(&facts[0], &machine, &file_sets);
    builder.note(notes);

    say(&mut observe, "measuring the meter itself");
    builder.own = Some(audit::own_cost(&file_sets[0].warm)?);
    let mut left: usize = trials().count();
    let rng = Xoshiro256::seeded(options.seed);
    let mut session = Session {
        options,
        context: &context,
        whole: &clock,
        builder,
        iteration: 0,
        rng,
        partial_due: Instant::now() + PARTIAL,
        observe: &mut observe,
    };
    for (described, trials) in sets {
        // Every trial has the same share of the remaining time, whichever its set.
        let now = start.elapsed();
        let share = clock.end.saturating_sub(now).mul_f64(trials.len() as f64 / left.max(1) as f64);
        left -= trials.len();
        session.builder.describe(described);
        session.measure(trials, Clock { start, end: now + share })?;
        file_sets.iter().for_each(TestFiles::remove_sized);
        (session.observe)(Event::Partial(&session.builder.document(false)));
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

/// State of a run from its first set to its last.
struct Session<'a, 'b> {
    options: &'a Options,
    context: &'a RunContext<'b>,
    whole: &'a Clock,
    builder: DocumentBuilder,
    /// Number of samples started.
    iteration: u64,
    rng: Xoshiro256,
    partial_due: Instant,
    observe: &'a mut dyn FnMut(Event<'_>),
}

impl Session<'_, '_> {
    /// Measures one set until its cells are precise or its time is up.
    fn measure(&mut self, trials: Vec<Trial>, clock: Clock) -> Result<()> {
        let (context, whole) = (self.context, self.whole);
        let mut cells = Cells::open(trials, context, self.options.resume.as_ref());
        let rule = StopRule::precision(self.options.precision);
        let bootstrap = Bootstrap::default();
        cells.calibrate(&clock, context, &mut self.iteration, |now| {
            (self.observe)(Event::Progress(RunProgress { share: whole.share(), now, rates: &[] }));
        })?;
        cells.budget(clock.left());
        cells.judge(&rule, &bootstrap);
        let mut round = cells.rounds();
        let mut time_up = false;
        while !time_up && cells.unfinished().next().is_some() {
            context.file_sets.iter().try_for_each(TestFiles::flush)?;
            let mut order: Vec<usize> = cells.unfinished().collect();
            shuffle(&mut order, &mut self.rng);
            for index in order {
                let one = &mut cells.active[index];
                if one.cost > clock.left() {
                    time_up = true;
                    // A cheaper cell may still fit.
                    continue;
                }
                self.iteration += 1;
                let iteration = Iteration { span: one.span, number: self.iteration };
                let before = Instant::now();
                match take_sample(one.workload.as_mut(), iteration, one.ramp, context) {
                    Ok(mut sample) => {
                        sample.round = round;
                        one.cell.samples.push(sample);
                        one.cell.skipped = None;
                        one.correct();
                        let spent = before.elapsed().as_secs_f64();
                        one.cost = one.cost.clamp(spent, 2.0 * spent);
                        let rates = one.cell.rates();
                        one.precise = rule.narrow_enough(&rates, &bootstrap);
                        let (share, now) = (whole.share(), one.cell.id.as_str());
                        (self.observe)(Event::Progress(RunProgress { share, now, rates: &rates }));
                    }
                    Err(error) if error.kind() == ErrorKind::Cancelled => return Err(error),
                    Err(error) => one.refuse(&error),
                }
                self.report_partial(&cells);
            }
            round += 1;
        }
        self.builder.close(cells);
        Ok(())
    }

    /// Emits a partial document if the last one is old enough.
    fn report_partial(&mut self, cells: &Cells) {
        let begin = Instant::now();
        if begin >= self.partial_due {
            (self.observe)(Event::Partial(&self.builder.with(cells).document(false)));
            self.partial_due = Instant::now() + PARTIAL.max(begin.elapsed() * PARTIAL_TIMES);
        }
    }
}

fn probe_path(directory: &PathBuf) -> Result<Facts> {
    probe::facts(directory).map_err(|error| {
        Error::new(ErrorKind::Io, "measure", directory, error.to_string())
            .advise("name a directory with --dir")
    })
}

/// A set: the descriptions of its experiments, and their trials.
type ParsedSet = (Vec<Experiment>, Vec<Trial>);

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

/// Parses the sets; skips trials whose id an earlier set has.
fn read(options: &Options) -> Result<Vec<ParsedSet>> {
    let mut known = std::collections::BTreeSet::new();
    options
        .sets
        .iter()
        .map(|(name, text)| {
            let (described, mut trials) =
                experiment::parse(text, probe::processors(), options.measured_paths().count())
                    .map_err(|error| Error::new(ErrorKind::Invalid, "read", name, error.to_string()))?;
            trials.retain(|trial| known.insert(trial.id.clone()));
            Ok((described, trials))
        })
        .collect()
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
    let mut file_sets: Vec<TestFiles> = Vec::new();
    for (index, (directory, facts)) in options.directories.iter().zip(facts).enumerate() {
        let needs = if index == 0 { needs } else { Needs { written: needs.written, ..Needs::default() } };
        let (total, free) = host::room(facts);
        let fitting = match len {
            Some(size) => test_files::check(directory, size, free, total, needs).map(|()| size)?,
            None => {
                let memory = machine.memory().unwrap_or(1 << 30);
                test_files::suggest(directory, memory, free, total, host::in_memory(facts), needs)?
            }
        };
        let insist = options.size.is_some() || index > 0;
        let seed = options.seed.wrapping_add(1_000_000 * index as u64);
        let test_files = TestFiles::make(directory, fitting, insist, patience, seed, needs, progress)?;
        // One length for all, so that a file can be striped over them.
        len = Some(test_files.len);
        file_sets.push(test_files);
    }
    Ok(file_sets)
}

/// Returns the devices under all directories, without duplicates.
fn devices(facts: &[Facts]) -> Vec<DeviceNumber> {
    let mut all = Vec::new();
    for device in facts.iter().flat_map(host::devices) {
        if !all.contains(&device) {
            all.push(device);
        }
    }
    all
}

/// Puts the cells in random order, so that drift does not bias the comparison of cells.
fn shuffle(places: &mut [usize], rng: &mut Xoshiro256) {
    for last in (1..places.len()).rev() {
        places.swap(last, rng.below(last + 1));
    }
}
