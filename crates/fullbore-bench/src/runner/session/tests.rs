//! Tests of the scheduler with simulated workloads, without files, and with a clock that only the workloads
//! advance.

use std::collections::BTreeSet;

use fullbore::Error;
use fullbore::pattern::Progress;

use super::*;
use crate::action::{DeviceIo, DeviceLimits, ExpectedState, Iteration, Ramp, RunResult, Workload};
use crate::clock::Clock;
use crate::document::{CacheState, DeviceLimit, Document, Labels, Regime, Sample, StopReason, Warning};

/// A workload that takes the time of a simulated rate.
#[derive(Debug, Clone, Copy)]
struct Simulated {
    name: &'static str,
    /// Rate of a run in bytes per second, by its number from 0.
    rate: fn(u64) -> f64,
    /// Number of the first run that fails.
    fails_at: u64,
    job: &'static str,
    cache: Option<CacheState>,
    span: u64,
    runs: u64,
    /// Seconds of a run, if a single run measures it.
    continuous: Option<f64>,
    /// Seconds of a sample, if the experiment sets them.
    sample: Option<f64>,
    device: DeviceIo,
}

impl Simulated {
    fn new(name: &'static str, rate: fn(u64) -> f64) -> Self {
        Self {
            name,
            rate,
            fails_at: u64::MAX,
            job: "",
            cache: None,
            span: 0,
            runs: 0,
            continuous: None,
            sample: None,
            device: DeviceIo::Any,
        }
    }

    fn steady(name: &'static str) -> Self {
        Self::new(name, |_| 1e9)
    }

    /// Creates a workload whose rate varies by a factor of three.
    fn noisy(name: &'static str) -> Self {
        Self::new(name, |run| 1e9 * [1.0, 0.5, 1.5, 0.7, 1.2][run as usize % 5])
    }

    fn trial(self) -> Trial {
        let (id, experiment) = (self.name.to_owned(), "simulated".to_owned());
        let (job, sample) = (self.job.to_owned(), self.sample);
        Trial { id, experiment, job, ramp: 0.0, sample, workload: Box::new(self) }
    }
}

impl Workload for Simulated {
    fn labels(&self) -> Labels {
        Labels { cache: self.cache, ..Labels::of("read", self.name) }
    }

    fn open(&mut self, _: &RunContext<'_>) -> Result<()> {
        Ok(())
    }

    fn elastic(&self) -> bool {
        self.continuous.is_none()
    }

    fn is_continuous(&self) -> bool {
        self.continuous.is_some()
    }

    fn set_time(&mut self, seconds: f64) {
        self.continuous = self.continuous.map(|_| seconds);
    }

    fn prepare(&mut self, iteration: Iteration, _: &RunContext<'_>) -> Result<ExpectedState> {
        self.span = iteration.span;
        Ok(ExpectedState { device: self.device, ..ExpectedState::default() })
    }

    fn ramp_up(&mut self, _: Ramp<'_>, _: &RunContext<'_>) -> Result<()> {
        Ok(())
    }

    fn run(&mut self, context: &RunContext<'_>) -> Result<RunResult> {
        let failed = |kind, what: &str| Err(Error::new(kind, "read", "the simulated file", what.to_owned()));
        if context.progress.is_cancelled() {
            return failed(ErrorKind::Cancelled, "interrupted");
        }
        if self.runs >= self.fails_at {
            return failed(ErrorKind::Io, "a bad sector");
        }
        let rate = (self.rate)(self.runs);
        let seconds = self.continuous.unwrap_or(self.span as f64 / rate);
        context.clock.advance(Duration::from_secs_f64(seconds));
        self.runs += 1;
        let bytes = (seconds * rate) as u64;
        Ok(RunResult { bytes, requests: 1, ..RunResult::default() })
    }
}

/// A finished or interrupted run.
struct Finished {
    result: Result<()>,
    document: Document,
    partial: Vec<Document>,
    spent: Duration,
}

impl Finished {
    /// Returns cell and round of every sample, in the order in which they were taken.
    fn samples(&self) -> Vec<(&str, u32)> {
        let cells = self.document.cells.iter();
        let mut samples: Vec<(f64, &str, u32)> = cells
            .flat_map(|cell| cell.samples.iter().map(|s| (s.start_s, cell.id.as_str(), s.round)))
            .collect();
        samples.sort_by(|a, b| a.0.total_cmp(&b.0));
        samples.into_iter().map(|(_, cell, round)| (cell, round)).collect()
    }

    fn stop(&self, id: &str) -> (usize, StopReason) {
        let cell = self.document.cell(id).unwrap();
        (cell.samples.len(), cell.summary.as_ref().unwrap().stop)
    }
}

fn seconds(time: u64) -> Options {
    Options { time: Duration::from_secs(time), ..Options::default() }
}

/// Runs one set; interrupts it after `interrupt` samples.
fn measure(workloads: &[Simulated], options: &Options, interrupt: usize) -> Finished {
    with_session(options, &DeviceLimits::default(), interrupt, |session| {
        let whole = session.whole.clone();
        session.measure(workloads.iter().map(|one| one.trial()).collect(), &[], whole)
    })
}

/// Does work in a session; interrupts it after `interrupt` samples.
fn with_session(
    options: &Options,
    limits: &DeviceLimits,
    interrupt: usize,
    work: impl FnOnce(&mut Session<'_, '_>) -> Result<()>,
) -> Finished {
    let (clock, progress, file_sets) = (Clock::set(), Progress::default(), []);
    let context =
        RunContext { clock: clock.clone(), seed: options.seed, ..RunContext::of(&file_sets, &progress) };
    let whole = Deadline { clock: clock.clone(), end: options.time };
    let builder = DocumentBuilder::open(options, clock.clone()).unwrap();
    let (mut taken, mut partial) = (0, Vec::new());
    let mut observe = |event: Event<'_>| match event {
        Event::Progress(step) => {
            taken += usize::from(!step.rates.is_empty());
            if taken == interrupt {
                progress.cancel();
            }
        }
        Event::Announcement(_) => {}
        Event::Partial(document) => partial.push(document.clone()),
    };
    let mut session = Session::new(options, &context, limits, &whole, builder, &mut observe);
    let result = work(&mut session);
    let document = session.builder.document(result.is_ok());
    Finished { result, document, partial, spent: clock.elapsed() }
}

const THREE: fn() -> [Simulated; 3] =
    || ["a", "b", "c"].map(|name| Simulated { sample: Some(2.0), ..Simulated::steady(name) });

#[test]
fn each_round_takes_one_sample_of_every_cell() {
    let run = measure(&THREE(), &seconds(100), usize::MAX);
    run.result.as_ref().unwrap();
    let samples = run.samples();
    assert_eq!(samples.len(), 21);
    for (round, cells) in (0..).zip(samples.chunks(3)) {
        assert!(cells.iter().all(|cell| cell.1 == round), "{samples:?}");
        assert_eq!(cells.iter().map(|cell| cell.0).collect::<BTreeSet<_>>().len(), 3, "{samples:?}");
    }
    assert!(run.document.run.complete && !run.document.run.interrupted);
}

#[test]
fn the_seed_decides_the_order_in_each_round() {
    let order = |seed: u64| -> Vec<String> {
        let run = measure(&THREE(), &Options { seed, ..seconds(100) }, usize::MAX);
        run.samples().into_iter().map(|(cell, _)| cell.to_owned()).collect()
    };
    assert_eq!(order(1), order(1));
    assert_ne!(order(1), order(2));
    let rounds: BTreeSet<Vec<String>> = order(1).chunks(3).map(<[String]>::to_vec).collect();
    assert!(rounds.len() > 1, "every round has the same order");
}

#[test]
fn a_precise_cell_stops_and_the_others_continue() {
    let run = measure(&[Simulated::steady("steady"), Simulated::noisy("noisy")], &seconds(8), usize::MAX);
    assert_eq!(run.stop("steady"), (StopRule::default().min_samples, StopReason::Precise));
    let (samples, stop) = run.stop("noisy");
    assert!(samples > StopRule::default().min_samples && stop == StopReason::TimeUp, "{samples} {stop:?}");
}

#[test]
fn a_run_without_precise_cells_lasts_its_time() {
    let options = Options { precision: 0.0, ..seconds(30) };
    let run = measure(&THREE()[..2], &options, usize::MAX);
    run.result.as_ref().unwrap();
    assert!(run.spent <= options.time, "{:?}", run.spent);
    // No further sample fits.
    let longest =
        run.document.cells.iter().flat_map(|cell| &cell.samples).map(|s| s.seconds).fold(0.0, f64::max);
    assert!(run.spent.as_secs_f64() + longest > 30.0, "{:?}", run.spent);
    assert_eq!((run.stop("a").1, run.stop("b").1), (StopReason::TimeUp, StopReason::TimeUp));
}

#[test]
fn a_continuous_cell_has_one_sample_of_its_share_of_the_time() {
    let continuous = |name| Simulated { continuous: Some(0.0), ..Simulated::noisy(name) };
    let run =
        measure(&[continuous("a"), Simulated::noisy("short"), continuous("b")], &seconds(90), usize::MAX);
    run.result.as_ref().unwrap();
    for name in ["a", "b"] {
        let [sample] = &run.document.cell(name).unwrap().samples[..] else { panic!("one sample of {name}") };
        // As much as many samples of the other.
        assert!((42.0..=44.0).contains(&sample.seconds), "{name}: {}", sample.seconds);
    }
    assert!(run.stop("short").0 > 1 && run.spent <= Duration::from_secs(90), "{:?}", run.spent);
    let resumed = Options { resume: Some(run.document.clone()), ..seconds(90) };
    let again = measure(&[continuous("a"), Simulated::noisy("short"), continuous("b")], &resumed, usize::MAX);
    assert_eq!(again.document.cell("a").unwrap().samples, run.document.cell("a").unwrap().samples);
}

#[test]
fn an_interrupted_run_keeps_the_last_partial_document() {
    let run = measure(&THREE(), &seconds(100), 10);
    assert_eq!(run.result.as_ref().unwrap_err().kind(), ErrorKind::Cancelled);
    let last = run.partial.last().expect("a partial document");
    assert!(last.run.interrupted && !last.run.complete);
    let samples: usize = last.cells.iter().map(|cell| cell.samples.len()).sum();
    assert!((1..=10).contains(&samples), "{samples}");
    for cell in last.cells.iter().filter(|cell| !cell.samples.is_empty()) {
        let summary = cell.summary.as_ref().unwrap();
        assert_eq!(summary.n, cell.samples.len(), "it is summarised");
        assert_eq!(summary.stop, StopReason::Interrupted, "{}", cell.id);
    }
    // The first samples may be single runs, before any round.
    let continuous = |name| Simulated { continuous: Some(0.0), ..Simulated::steady(name) };
    let single = measure(&["a", "b", "c"].map(continuous), &seconds(90), usize::MAX);
    let counts = single
        .partial
        .iter()
        .map(|document| document.cells.iter().map(|cell| cell.samples.len()).sum::<usize>());
    assert_eq!(counts.collect::<Vec<_>>(), [1, 2]);
    let times: Vec<f64> = run.partial.iter().map(|document| document.run.duration_s).collect();
    // The last one is that of the interruption.
    let (_, periodic) = times.split_last().unwrap();
    assert!(times.len() > 2 && periodic.windows(2).all(|pair| pair[1] - pair[0] >= 5.0), "{times:?}");
}

#[test]
fn a_failed_cell_does_not_stop_the_others() {
    let at = |name, run| Simulated { fails_at: run, ..Simulated::steady(name) };
    // The first run calibrates.
    let run =
        measure(&[at("never", 0), at("later", 4), Simulated::steady("sound")], &seconds(100), usize::MAX);
    run.result.as_ref().unwrap();
    let cell = |id| run.document.cell(id).unwrap();
    assert!(cell("never").samples.is_empty() && cell("never").skipped.as_deref() == Some("a bad sector"));
    let later = cell("later");
    assert_eq!((later.samples.len(), later.skipped.as_deref()), (3, None));
    assert_eq!(later.failed.as_deref(), Some("a bad sector"));
    assert_eq!(run.stop("later").1, StopReason::Failed);
    let told = |warning: &Warning| warning.to_string().contains("a bad sector");
    assert!(later.summary.as_ref().unwrap().flags.iter().any(told));
    assert_eq!(run.stop("sound").1, StopReason::Precise);
}

#[test]
fn a_resumed_run_continues_the_rounds() {
    let before = measure(&THREE(), &seconds(100), 12);
    let document = before.partial.last().unwrap().clone();
    let rounds = document.cells.iter().flat_map(|cell| &cell.samples).map(|s| s.round).max().unwrap();
    let kept: Vec<usize> = document.cells.iter().map(|cell| cell.samples.len()).collect();
    let run = measure(&THREE(), &Options { resume: Some(document), ..seconds(100) }, usize::MAX);
    run.result.as_ref().unwrap();
    for (cell, kept) in run.document.cells.iter().zip(kept) {
        assert_eq!(cell.samples.len(), StopRule::default().min_samples, "{}", cell.id);
        assert_eq!(cell.samples[kept].round, rounds + 1, "{}", cell.id);
    }
}

#[test]
fn a_resumed_run_that_is_interrupted_keeps_what_it_has_not_reached() {
    let mut before = measure(&THREE(), &seconds(100), 12).partial.last().unwrap().clone();
    let mut other = before.cells[0].clone();
    other.id = "of another set".into();
    before.cells.push(other.clone());
    let options = Options { resume: Some(before), ..seconds(100) };
    let run = measure(&THREE(), &options, 10);
    let last = run.partial.last().expect("a partial document");
    assert_eq!(last.cell("of another set").unwrap().samples, other.samples);
}

#[test]
fn samples_under_a_refuted_limit_are_judged_again_also_those_of_an_earlier_run() {
    let mut before = measure(&["a", "b"].map(Simulated::steady), &seconds(100), usize::MAX).document;
    for cell in &mut before.cells {
        for sample in &mut cell.samples {
            (sample.regime, sample.writes) = (Some(Regime::Sustained), Some(false));
        }
        let first = &cell.samples[0];
        let burst = Sample { bytes: 2 * first.bytes, regime: Some(Regime::Burst), ..first.clone() };
        cell.samples.extend(vec![burst; 6]);
    }
    let options = Options { resume: Some(before), ..seconds(100) };
    let limit = DeviceLimit { operation: "read".into(), ..DeviceLimit::default() };
    let run = with_session(&options, &DeviceLimits::refuted(limit), usize::MAX, |session| {
        let open = |session: &Session<'_, '_>, name| {
            let trials = vec![Simulated::steady(name).trial()];
            Cells::open(trials, session.context, session.options.regime, session.builder.before.as_ref())
        };
        let mut cells = open(session, "a");
        cells.judge(&session.rule());
        assert!(cells.active[0].precise, "the sustained samples agree");
        session.withdraw_limits(&mut cells);
        assert!(!cells.active[0].precise, "all samples count");
        // A set that is measured later.
        let later = open(session, "b");
        let partial = session.builder.document(false);
        for cell in [&cells.active[0].cell, &later.active[0].cell, partial.cell("b").unwrap()] {
            let is_unknown = |sample: &Sample| sample.regime == Some(Regime::Unknown);
            assert!(!cell.samples.is_empty() && cell.samples.iter().all(is_unknown), "{cell:?}");
        }
        Ok(())
    });
    run.result.unwrap();
}

/// Creates candidates for one job, each a fifth slower than the one before, with noise of 4%.
fn candidates() -> [Simulated; 4] {
    fn rate(share: f64, run: u64) -> f64 {
        1e9 * share * [1.0, 0.96, 1.04, 0.98, 1.02][run as usize % 5]
    }
    let rates: [fn(u64) -> f64; 4] =
        [|run| rate(1.0, run), |run| rate(0.8, run), |run| rate(0.6, run), |run| rate(0.4, run)];
    let names = ["first", "second", "third", "fourth"];
    std::array::from_fn(|place| Simulated { job: "scan", ..Simulated::new(names[place], rates[place]) })
}

#[test]
fn samples_go_to_open_decisions() {
    let options = Options { precision: 0.0, ..seconds(60) };
    let run = measure(&candidates(), &options, usize::MAX);
    let counts = ["first", "second", "third", "fourth"].map(|id| run.stop(id).0);
    assert!(counts[1..].iter().all(|count| (3..counts[0] / 2).contains(count)), "{counts:?}");
}

#[test]
fn samples_of_headline_figures_are_spread_over_the_run() {
    // Only the first is a path of a headline figure.
    let headline = Simulated { cache: Some(CacheState::Warm), ..Simulated::noisy("mmap") };
    let others = ["b", "c", "d", "e", "f", "g"].map(Simulated::noisy);
    let workloads: Vec<_> = std::iter::once(headline).chain(others).collect();
    let options = Options { precision: 0.0, ..seconds(12) };
    let run = measure(&workloads, &options, usize::MAX);
    let [own, other] = ["mmap", "b"].map(|id| &run.document.cell(id).unwrap().samples);
    assert!(own.len() >= 2 * other.len(), "{} {}", own.len(), other.len());
    let rounds: BTreeSet<u32> = own.iter().map(|sample| sample.round).collect();
    assert_eq!(rounds.len(), own.len(), "a sample a round");
    assert!(other.iter().all(|sample| rounds.contains(&sample.round)), "the common rounds have both");
    // From the second round on, each quarter of the time has its share.
    let begin = other[1].start_s;
    let quarter = (run.spent.as_secs_f64() - begin) / 4.0;
    let share = |part: u32| {
        let start = begin + f64::from(part) * quarter;
        own.iter().filter(|sample| (start..start + quarter).contains(&sample.start_s)).count() as f64
            / own.len() as f64
    };
    assert!((0..4).all(|part| (0.15..=0.35).contains(&share(part))), "{:?}", [0, 1, 2, 3].map(share));
}

#[test]
fn a_failed_cell_leaves_its_headline_figure_to_the_others() {
    let cached = |one: Simulated| Simulated { cache: Some(CacheState::Warm), ..one };
    let failing = Simulated { fails_at: 4, ..Simulated::new("mmap", |_| 3e9) };
    let others = ["b", "c", "d", "e", "f", "g"].map(Simulated::noisy);
    let figure = [cached(failing), cached(Simulated::noisy("buffered"))];
    let workloads: Vec<_> = figure.into_iter().chain(others).collect();
    let run = measure(&workloads, &Options { precision: 0.0, ..seconds(12) }, usize::MAX);
    let [own, other] = ["buffered", "b"].map(|id| run.document.cell(id).unwrap().samples.len());
    assert!(own >= 2 * other, "{own} {other}");
}

#[test]
fn cheap_cells_are_measured_in_the_rest_of_the_time() {
    // After the third round, no further sample of the long ones fits; one of the others takes 0.25 seconds at most.
    let long = |name| Simulated { sample: Some(9.0), ..Simulated::noisy(name) };
    let options = Options { precision: 0.0, ..seconds(80) };
    let run = measure(&[long("a"), long("b"), Simulated::noisy("short")], &options, usize::MAX);
    assert!(run.spent > Duration::from_secs(79), "{:?}", run.spent);
}

#[test]
fn slow_storage_has_fewer_cells() {
    // A sample of the others takes at least 0.02 s; a pilot of 4 MiB takes 4 s.
    let slow = |one: Simulated| Simulated { rate: |_| 1e6, ..one };
    let options = Options { may_leave_out: true, ..seconds(30) };
    let run = measure(&candidates().map(slow), &options, usize::MAX);
    let samples = run.document.cells.iter().map(|cell| cell.samples.len()).collect::<Vec<_>>();
    let left_out: Vec<&str> = run.document.cells.iter().filter_map(|cell| cell.skipped.as_deref()).collect();
    assert!(samples[0] >= StopRule::default().min_samples, "{samples:?}");
    assert!(!left_out.is_empty() && left_out.iter().all(|reason| reason.contains("--time")), "{left_out:?}");
    assert!(run.document.run.complete);
}

#[test]
fn a_pilot_of_a_slow_device_is_the_first_sample() {
    let slow = |one: Simulated| Simulated { rate: |_| 1e6, device: DeviceIo::Reads, ..one };
    let options = Options { may_leave_out: true, ..seconds(30) };
    let run = measure(&candidates().map(slow), &options, usize::MAX);
    // Pilots of 4 MiB take 17 of the 30 seconds; the others go to the cells that may be the best.
    assert!(run.document.cells.iter().all(|cell| cell.skipped.is_none() && cell.samples[0].round == 0));
    let first: Vec<f64> = run.document.cells.iter().map(|cell| cell.samples[0].seconds).collect();
    assert!(
        first.iter().all(|&seconds| seconds > 4.0),
        "pilots, which are longer than other samples: {first:?}"
    );
    let samples = run.document.cells.iter().map(|cell| cell.samples.len()).collect::<Vec<_>>();
    assert!(samples.iter().sum::<usize>() > 6 && run.spent <= Duration::from_secs(30), "{samples:?}");
}
