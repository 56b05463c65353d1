//! A run of the meter: interleaved rounds over all cells until each is precise or the time is up.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use fullbore::error::Kind;
use fullbore::pattern::Monitor;
use fullbore::probe;
use fullbore::{Error, Result};

use crate::audit;
use crate::bed::{self, Bed, Needs};
use crate::document::{
    CacheState, Cell, Document, Labels, Run, StopReason, SummaryOptions, findings, rfc3339,
};
use crate::experiment::{self, Action, Target, Trial, TrialOrder};
use crate::sample::{Place, Sampler};
use crate::saved;
use crate::stats::{Bootstrap, StopRule, Xoshiro256};
use crate::surroundings;

/// What to measure, where and for how long.
#[derive(Debug, Clone)]
pub struct Options {
    /// The directory measured.
    pub directory: PathBuf,
    /// The length of the test files in bytes; `None`: chosen.
    pub size: Option<u64>,
    /// How long the run may take.
    pub time: Duration,
    /// The seed of data, order and intervals.
    pub seed: u64,
    /// The experiments, as TOML.
    pub experiments: String,
    /// The command line, for the document.
    pub command: Vec<String>,
}

/// What is going on, for whoever waits.
#[derive(Debug, Clone, Copy)]
pub struct Progress<'a> {
    /// The share of the time that is over, 0 to 1.
    pub share: f64,
    /// What is done now.
    pub now: &'a str,
    /// The rate measured last, bytes a second.
    pub rate: Option<f64>,
}

/// What a run gives.
#[derive(Debug)]
pub struct Measured {
    /// The document.
    pub document: Document,
    /// What the profile keeps of it: the file system's key and the entries.
    pub profile: (String, fullbore::strategy::FileSystem),
}

/// The samples every cell should get.
const ROUNDS: u32 = 7;

/// A sample should take this long, in seconds: at least so that starting and stopping do not count, at most so
/// that a slow device does not take all the time for one cell.
const SAMPLE: (f64, f64) = (0.02, 2.0);

/// What a cell is first run over, in bytes.
const PILOT: u64 = 4 << 20;

/// The share of the time that making the test files may take.
const MAKING: f64 = 0.12;

/// The time kept for the statistics and the report.
const CLOSING: Duration = Duration::from_secs(2);

/// One cell while it is measured.
struct Running {
    sampler: Sampler,
    cell: Cell,
    span: u64,
    /// What it gave last, bytes a second.
    rate: f64,
    /// What a sample takes with its preparation, in seconds.
    cost: f64,
    precise: bool,
}

/// Measures.
///
/// # Errors
/// If the directory cannot be written, has no room, or the system refuses what every trial needs. What a single
/// trial is refused is said in its cell.
pub fn run(options: &Options, monitor: &Monitor, mut observe: impl FnMut(Progress<'_>)) -> Result<Measured> {
    let start = Instant::now();
    let started = rfc3339(SystemTime::now());
    let deadline = options.time.saturating_sub(CLOSING);
    let share = |start: Instant| (start.elapsed().as_secs_f64() / options.time.as_secs_f64()).min(1.0);
    observe(Progress { share: 0.0, now: "looking at the storage", rate: None });
    let facts = probe::facts(&options.directory).map_err(|error| {
        Error::new(Kind::Io, "measure", &options.directory, error.to_string())
            .advise("name a directory with --dir")
    })?;
    let machine = probe::machine();
    observe(Progress { share: share(start), now: "writing test files", rate: None });
    let (described, trials) = experiment::parse(&options.experiments, probe::processors())
        .map_err(|error| Error::new(Kind::Invalid, "read", "the experiments", error.to_string()))?;
    let needs = Needs {
        warm: trials
            .iter()
            .any(|trial| trial.action == Action::Read && trial.cache == Some(CacheState::Warm)),
        written: trials.iter().any(|trial| trial.action == Action::Write),
        transformed: trials.iter().any(|trial| trial.action == Action::Transform),
    };
    let len = length(options, &facts, &machine, needs)?;
    let patience = options.time.mul_f64(MAKING / 6.0);
    let bed =
        Bed::make(&options.directory, len, options.size.is_some(), patience, options.seed, needs, monitor)?;
    let devices = surroundings::devices(&facts);
    let place = Place { bed: &bed, devices: &devices, monitor, start };

    observe(Progress { share: share(start), now: "measuring the meter itself", rate: None });
    let own = audit::own_cost(&bed.warm)?;
    let order: Vec<String> = trials.iter().map(|trial| trial.id.clone()).collect();
    let (mut running, mut cells) = prepare(trials, &bed, options.seed);

    // Each cell once, to learn what it takes; these samples are not kept.
    let mut turn = 0;
    for (index, one) in running.iter_mut().enumerate() {
        observe(Progress { share: share(start), now: &one.cell.id, rate: None });
        turn += 1;
        if start.elapsed() > deadline {
            break;
        }
        one.calibrate(index as u64, &place)?;
    }
    let left = deadline.saturating_sub(start.elapsed()).as_secs_f64();
    budget(&mut running, left);

    let bootstrap = Bootstrap::default();
    let rule = StopRule::default();
    let mut dice = Xoshiro256::seeded(options.seed);
    let mut round = 0;
    let mut time_up = false;
    while !time_up && running.iter().any(|one| !one.precise) {
        bed.settle()?;
        let mut places: Vec<usize> = (0..running.len()).filter(|&index| !running[index].precise).collect();
        shuffle(&mut places, &mut dice);
        for index in places {
            let one = &mut running[index];
            if start.elapsed().as_secs_f64() + one.cost > deadline.as_secs_f64() {
                time_up = true;
                // A cheaper cell may still fit.
                continue;
            }
            turn += 1;
            let before = Instant::now();
            let mut sample = one.sampler.take(one.span, turn, &place)?;
            one.cost = one.cost.max(before.elapsed().as_secs_f64()).min(2.0 * before.elapsed().as_secs_f64());
            sample.round = round;
            observe(Progress { share: share(start), now: &one.cell.id, rate: Some(sample.rate()) });
            one.cell.samples.push(sample);
            one.precise = rule.narrow_enough(&one.cell.rates(), &bootstrap);
        }
        round += 1;
    }

    observe(Progress { share: 1.0, now: "writing the report", rate: None });
    let strategies: Vec<(String, String)> =
        running.iter().map(|one| (one.cell.id.clone(), one.sampler.strategy.to_string())).collect();
    for one in running {
        let stop = if one.precise { StopReason::Precise } else { StopReason::TimeUp };
        let mut cell = one.cell;
        cell.summarise(&SummaryOptions { bootstrap, stop, null_request_s: Some(own.request.value) });
        cells.push(cell);
    }
    cells.sort_by_key(|cell| order.iter().position(|id| *id == cell.id));
    let mut notes = bed.notes.clone();
    notes.extend(surroundings::missing_without_root());
    let run = Run {
        started: started.clone(),
        duration_s: start.elapsed().as_secs_f64(),
        fullbore_version: env!("CARGO_PKG_VERSION").into(),
        command: options.command.clone(),
        seed: options.seed,
        directory: options
            .directory
            .canonicalize()
            .unwrap_or_else(|_| options.directory.clone())
            .display()
            .to_string(),
        file_bytes: bed.len,
        complete: cells.iter().all(|cell| cell.skipped.is_some() || cell.summary.is_some()),
        interrupted: false,
        notes,
        ..Run::default()
    };
    let mut document = Document::new(run, surroundings::environment(&facts, &machine, &bed));
    document.experiments = described;
    document.findings = findings(&cells, &document.experiments, &bootstrap);
    document.cells = cells;
    document.audit = own.account(&document.cells);
    let key = fullbore::strategy::key(&bed.cold)
        .map_err(|error| Error::io("identify the file system of", &options.directory, error))?;
    let saved = saved::file_system(&document, &strategies, Path::new(&document.run.directory));
    Ok(Measured { document, profile: (key, saved) })
}

/// The length of the test files: as asked, or what fits.
fn length(options: &Options, facts: &probe::Facts, machine: &probe::Machine, needs: Needs) -> Result<u64> {
    let (total, free) = surroundings::room(facts);
    match options.size {
        Some(size) => bed::check(&options.directory, size, free, total, needs).map(|()| size),
        None => {
            let memory = machine.memory().unwrap_or(1 << 30);
            bed::suggest(&options.directory, memory, free, total, surroundings::in_memory(facts), needs)
        }
    }
}

/// Splits the trials into those that can be run and cells that say why not.
fn prepare(trials: Vec<Trial>, bed: &Bed, seed: u64) -> (Vec<Running>, Vec<Cell>) {
    let in_memory = probe::bearings(&bed.cold).is_ok_and(|found| found.in_memory);
    let mut running = Vec::new();
    let mut skipped = Vec::new();
    for trial in trials {
        let (id, experiment) = (trial.id.clone(), trial.experiment.clone());
        let labels = labels(&trial, None);
        let touches_device =
            trial.cache == Some(CacheState::Cold) || labels.cache_policy.as_deref() == Some("direct");
        if in_memory && touches_device {
            let reason = "the file system keeps its files in memory: there is no device, and nothing is cold";
            skipped.push(Cell::skipped(id, experiment, labels, reason));
            continue;
        }
        match Sampler::new(trial, bed, seed) {
            Ok(sampler) => {
                let labels = self::labels(&sampler.trial, Some(&sampler));
                let cell = Cell::new(id, experiment, labels);
                running.push(Running { sampler, cell, span: PILOT, rate: 0.0, cost: 0.0, precise: false });
            }
            Err(error) => {
                // The path is one of the meter's own, which nobody will find.
                let reason = error.what().map_or_else(|| error.to_string(), str::to_owned);
                skipped.push(Cell::skipped(id, experiment, labels, reason));
            }
        }
    }
    (running, skipped)
}

/// What tells a trial from others, in the words of the document.
fn labels(trial: &Trial, sampler: Option<&Sampler>) -> Labels {
    let (operation, file_state) = match (trial.action, trial.target) {
        (Action::Read, _) => ("read", None),
        (Action::Write, _) => ("write", Some("overwritten")),
        (Action::Transform, Target::Existing) => (trial.operation.as_str(), Some("overwritten")),
        (Action::Transform, Target::New) => (trial.operation.as_str(), Some("extended")),
        (Action::Memory, _) => ("copy", None),
    };
    let order = match trial.order {
        TrialOrder::Sequential => "sequential",
        TrialOrder::Random => "random",
    };
    let mut labels = Labels {
        job: trial.job.clone(),
        operation: operation.into(),
        file_state: file_state.map(Into::into),
        cache: trial.cache,
        order: Some(order.into()),
        strategy: Some(trial.strategy.clone()),
        ..Labels::default()
    };
    // The wish alone says most of it, also where the strategy cannot be had.
    let strategy = match sampler {
        Some(sampler) => sampler.strategy.clone(),
        None => match trial.strategy.parse::<fullbore::strategy::Wish>() {
            Ok(wish) => wish.apply(fullbore::strategy::Strategy::plain()),
            Err(_) => return labels,
        },
    };
    if trial.action == Action::Memory {
        labels.method = "memory".into();
        labels.strategy = None;
        return labels;
    }
    let writes = trial.action == Action::Write;
    let (method, cache) =
        if writes { (strategy.write, strategy.write_cache) } else { (strategy.read, strategy.read_cache) };
    labels.method = match trial.action {
        Action::Transform if strategy.read != strategy.write => {
            format!("{}+{}", strategy.read.name, strategy.write.name)
        }
        _ => method.name.into(),
    };
    labels.request_bytes = Some(strategy.request as u64);
    labels.depth = Some(strategy.depth as u32);
    labels.workers = Some(strategy.workers as u32);
    labels.model = Some(strategy.model.to_string());
    labels.cache_policy = Some(cache.to_string());
    if trial.action == Action::Transform {
        labels.allocation = Some(strategy.allocation.to_string());
    }
    labels
}

impl Running {
    /// Runs once or twice to learn how much of the file takes a moment.
    fn calibrate(&mut self, turn: u64, place: &Place<'_>) -> Result<()> {
        for _ in 0..2 {
            let clock = Instant::now();
            let sample = self.sampler.take(self.span, turn, place)?;
            self.cost = clock.elapsed().as_secs_f64();
            self.rate = sample.rate().max(1.0);
            self.span = (self.rate * SAMPLE.0) as u64;
            if sample.seconds >= SAMPLE.0 || self.sampler.trial.action == Action::Transform {
                break;
            }
        }
        Ok(())
    }
}

/// Gives every cell the same time a sample, as much as `left` seconds allow, unless its experiment says how long.
fn budget(running: &mut [Running], left: f64) {
    let count = running.len().max(1) as f64;
    let share = (left / count / f64::from(ROUNDS) * 0.7).clamp(SAMPLE.0, SAMPLE.1);
    for one in running {
        let moment = one.sampler.trial.sample.unwrap_or(share);
        one.span = (one.rate * moment) as u64;
        one.cost = one.cost.max(moment + one.sampler.trial.ramp);
    }
}

/// Puts the cells in random order, so that what drifts meanwhile becomes nobody's finding.
fn shuffle(places: &mut [usize], dice: &mut Xoshiro256) {
    for last in (1..places.len()).rev() {
        places.swap(last, dice.below(last + 1));
    }
}
