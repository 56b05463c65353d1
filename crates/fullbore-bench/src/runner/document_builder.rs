//! Results measured so far, as a document that is readable at any time.

use std::path::PathBuf;
use std::time::SystemTime;

use fullbore::Result;
use fullbore::error::{Error, ErrorKind};
use fullbore::probe::{Facts, Machine};
use fullbore::strategy::{FileSystem, MeasuredStrategy, ProfileEntry, ProfileJob};

use super::active_cell::{ActiveCell, is_precise};
use super::cells::Cells;
use super::options::Options;
use crate::analysis::{candidates, credits, findings, regime_by_credit, variations, withdraw};
use crate::audit::OwnCost;
use crate::clock::Clock;
use crate::comparable::comparable_cells;
use crate::document::{
    Cell, DeviceLimit, Document, Environment, Experiment, Regime, Run, StopReason, SummaryOptions, rfc3339,
};
use crate::host;
use crate::model::predictions;
use crate::pipeline::pipeline;
use crate::stats::StopRule;
use crate::test_files::TestFiles;

#[derive(Debug, Clone)]
pub(super) struct DocumentBuilder {
    run: Run,
    clock: Clock,
    /// The document of the run that this one resumes.
    pub(super) before: Option<Document>,
    environment: Environment,
    experiments: Vec<Experiment>,
    pub(super) own: Option<OwnCost>,
    pub(super) limits: Vec<DeviceLimit>,
    cells: Vec<Cell>,
    /// The full strategy of each cell by its id.
    strategies: Vec<(String, String)>,
}

impl DocumentBuilder {
    /// Starts the document of a run, or continues that of a resumed one.
    pub(super) fn open(options: &Options, clock: Clock) -> Result<Self> {
        let name = |directory: &PathBuf| {
            directory.canonicalize().unwrap_or_else(|_| directory.clone()).display().to_string()
        };
        let directories: Vec<String> = options.measured_paths().map(name).collect();
        let mut run = Run {
            started: rfc3339(SystemTime::now()),
            fullbore_version: env!("CARGO_PKG_VERSION").into(),
            command: options.command.clone(),
            seed: options.seed,
            directory: directories.first().cloned().unwrap_or_default(),
            directories: if directories.len() > 1 { directories } else { Vec::new() },
            sets: options.sets.clone(),
            with_fio: options.with_fio,
            no_save: options.no_save,
            regime: options.regime,
            precision: Some(options.precision),
            ..Run::default()
        };
        if let Some(before) = &options.resume {
            let old = &before.run;
            if (&old.directory, &old.directories, &old.sets) != (&run.directory, &run.directories, &run.sets)
            {
                let what = "its directories or experiments differ from the requested ones";
                return Err(Error::new(ErrorKind::Invalid, "resume", &run.directory, what)
                    .advise("set the same directories and experiments, or leave out --resume"));
            }
            run.started.clone_from(&old.started);
        }
        Ok(Self {
            run,
            clock,
            before: options.resume.clone(),
            environment: Environment::default(),
            experiments: Vec::new(),
            own: None,
            limits: Vec::new(),
            cells: Vec::new(),
            strategies: Vec::new(),
        })
    }

    /// Seconds that the run took before it was resumed.
    pub(super) fn earlier(&self) -> f64 {
        self.before.as_ref().map_or(0.0, |before| before.run.duration_s)
    }

    /// Fails if a resumed run was measured in another environment, whose samples must not be mixed with new ones.
    pub(super) fn check_environment(&self) -> Result<()> {
        let Some(before) = &self.before else { return Ok(()) };
        let now = Document::new(self.run.clone(), self.environment.clone());
        let differences = crate::comparison::differences(before, &now);
        if differences.differences.is_empty() {
            return Ok(());
        }
        let found: Vec<String> = differences.differences.iter().map(ToString::to_string).collect();
        let what = format!("it was measured in another environment: {}", found.join("; "));
        Err(Error::new(ErrorKind::Invalid, "resume", &self.run.directory, what)
            .advise("measure without --resume, and compare the results"))
    }

    pub(super) fn set_environment(&mut self, facts: &[Facts], machine: &Machine, file_sets: &[TestFiles]) {
        self.environment = host::environment(facts, machine, &file_sets[0]);
        self.run.file_bytes = file_sets[0].len;
        self.run.transform_bytes = Some(file_sets[0].transform_len);
        self.run.notes = file_sets.iter().flat_map(|test_files| test_files.notes.clone()).collect();
        self.run.notes.extend(host::shared_devices(facts));
        self.run.notes.extend(host::missing_without_root());
        self.run.notes.extend(host::returned_memory(machine));
        // Those of earlier parts of the run that this one does not repeat: of limits that were withdrawn.
        let earlier = self.before.as_ref().map(|before| before.run.notes.clone()).unwrap_or_default();
        self.note(earlier);
    }

    /// Returns the number of samples of the closed sets.
    pub(super) fn samples(&self) -> usize {
        self.cells.iter().map(|cell| cell.samples.len()).sum()
    }

    /// Adds notes, each once.
    pub(super) fn note(&mut self, notes: Vec<String>) {
        for note in notes {
            if !self.run.notes.contains(&note) {
                self.run.notes.push(note);
            }
        }
    }

    /// Adds the experiments of a set, each once.
    pub(super) fn describe(&mut self, experiments: Vec<Experiment>) {
        for experiment in experiments {
            if self.experiments.iter().all(|known| known.name != experiment.name) {
                self.experiments.push(experiment);
            }
        }
    }

    /// Adds the cells of a set; `unfinished` is the reason why those that are not precise have no further samples.
    pub(super) fn close(&mut self, cells: &Cells, unfinished: StopReason) {
        for one in &cells.active {
            let cell = self.summarised(one, unfinished);
            self.strategies.extend(one.workload.strategy().map(|strategy| (cell.id.clone(), strategy)));
            self.cells.push(cell);
        }
    }

    /// Replaces a cell by the same one with further samples.
    pub(super) fn update(&mut self, one: &ActiveCell) {
        let cell = self.summarised(one, StopReason::TimeUp);
        let known = self.cells.iter_mut().filter(|known| known.id == cell.id);
        known.for_each(|known| known.clone_from(&cell));
    }

    fn summarised(&self, one: &ActiveCell, unfinished: StopReason) -> Cell {
        let mut cell = one.cell();
        let stop = match cell.failed {
            _ if one.precise => StopReason::Precise,
            Some(_) => StopReason::Failed,
            None if one.is_unfinished() => unfinished,
            None => StopReason::TimeUp,
        };
        self.summarise(&mut cell, stop);
        cell
    }

    fn summarise(&self, cell: &mut Cell, stop: StopReason) {
        let null_request_s = self.own.map(|own| own.request.value);
        let regime = self.run.regime;
        cell.summarise(&SummaryOptions { stop, null_request_s, regime });
    }

    /// Summarises a cell again after the regimes of its samples have changed: those that count now may be less precise.
    fn resummarise(&self, cell: &mut Cell) {
        let Some(stop) = cell.summary.as_ref().map(|summary| summary.stop) else { return };
        self.summarise(cell, stop);
        let reaches = |width| is_precise(cell, self.run.regime, &StopRule::precision(width));
        if stop == StopReason::Precise && !self.run.precision.is_none_or(reaches) {
            self.summarise(cell, StopReason::TimeUp);
        }
    }

    /// Makes the regime of the samples measured under a limit, in this run or the one that it resumes, unknown, and notes it.
    pub(super) fn withdraw(&mut self, limit: &DeviceLimit) {
        self.run.notes.push(format!(
            "{}: {}: later samples exceeded this limit, so it does not count; the regime of the {}s is unknown",
            limit.directory,
            limit.words(),
            limit.operation
        ));
        let (mut cells, mut before) = (std::mem::take(&mut self.cells), self.before.take());
        for cell in cells.iter_mut().chain(before.iter_mut().flat_map(|document| &mut document.cells)) {
            withdraw(&mut cell.samples, &limit.operation);
            self.resummarise(cell);
        }
        (self.cells, self.before) = (cells, before);
    }

    /// Labels samples by the credit that continuous transfer found, on the only directory.
    fn label_by_credit(&self, cells: &mut [Cell]) {
        let credit = credits(cells);
        if credit.is_empty() || !self.run.directories.is_empty() {
            return;
        }
        for cell in cells {
            let as_sent = cell.labels.reach_device_as_sent();
            let by_credit = |place: usize| regime_by_credit(&cell.samples[place], &credit, as_sent);
            let found: Vec<(usize, Regime)> =
                (0..cell.samples.len()).filter_map(|place| Some((place, by_credit(place)?))).collect();
            if !found.is_empty() {
                found.into_iter().for_each(|(place, regime)| cell.samples[place].regime = Some(regime));
                self.resummarise(cell);
            }
        }
    }

    /// Builds the document, of the whole run or of its results so far.
    pub(super) fn document(&self, whole: bool) -> Document {
        let mut run = self.run.clone();
        run.duration_s = self.earlier() + self.clock.seconds();
        let measured = |cell: &Cell| cell.skipped.is_some() || cell.summary.is_some();
        run.complete = whole && self.cells.iter().all(measured);
        // The last partial document remains if the run is interrupted.
        run.interrupted = !whole;
        let mut document = Document::new(run, self.environment.clone());
        document.experiments.clone_from(&self.experiments);
        document.cells.clone_from(&self.cells);
        if let (false, Some(before)) = (whole, &self.before) {
            // Cells that this run has not reached keep the samples of the run that it resumes.
            let is_new = |old: &&Experiment| self.experiments.iter().all(|one| one.name != old.name);
            document.experiments.extend(before.experiments.iter().filter(is_new).cloned());
            let is_new = |old: &&Cell| self.cells.iter().all(|one| one.id != old.id);
            document.cells.extend(before.cells.iter().filter(is_new).cloned());
        }
        self.label_by_credit(&mut document.cells);
        let comparable = comparable_cells(&document.cells, self.run.regime);
        document.findings = findings(&comparable, &document.experiments);
        document.findings.limits.clone_from(&self.limits);
        if whole {
            document.findings.predictions =
                predictions(&comparable, document.environment.usable_processors());
            document.findings.variation = variations(&comparable);
        }
        document.findings.pipeline = pipeline(&comparable, &document.environment);
        if let Some(own) = &self.own {
            document.audit = own.account(&document.cells);
        }
        let above = document.findings.peaks.iter().filter(|peak| peak.share_of_roof > Some(1.0)).count();
        if above > 0 {
            let paths = crate::units::count(above, "path");
            document.audit.findings.push(format!(
                "{paths} above the interval of the roof: other load slowed memory while the roof was measured, \
                 or the bytes did not come from this machine's memory"
            ));
        }
        document
    }

    /// Returns the profile's entries of the run: for each job the measured strategies, the best first. A job has no entry if
    /// `auto`, which the entry would guide, is faster than all of them.
    pub(super) fn profile(&self, document: &Document) -> FileSystem {
        let date = document.run.started.split('T').next().unwrap_or_default().to_owned();
        let comparable = comparable_cells(&document.cells, self.run.regime);
        let candidates = candidates(&comparable);
        let entries = ProfileJob::all()
            .filter_map(|(job, name)| {
                let mut regrets = document.findings.regrets.iter().filter(|found| found.job == name);
                if regrets.any(|found| found.regret.high < 0.0) {
                    return None;
                }
                let (_, cells) = candidates.iter().find(|(known, _)| **known == name)?;
                let mut ranked: Vec<(&str, MeasuredStrategy)> = cells
                    .iter()
                    .filter_map(|cell| {
                        let rate = cell.summary.as_ref()?.rate;
                        let strategy = self.strategies.iter().find(|(id, _)| *id == cell.id)?.1.clone();
                        let measured =
                            MeasuredStrategy { strategy, rate: rate.value, low: rate.low, high: rate.high };
                        Some((cell.id.as_str(), measured))
                    })
                    .collect();
                ranked.sort_by(|a, b| b.1.rate.total_cmp(&a.1.rate));
                // Among strategies of equal throughput, the choice is the simplest.
                let chosen = document.findings.choices.iter().find(|choice| choice.job == name)?;
                let context = ranked.iter().position(|(id, _)| *id == chosen.cell)?;
                let best = ranked.remove(context);
                ranked.insert(0, best);
                let ranked = ranked.into_iter().map(|(_, measured)| measured).collect();
                Some(ProfileEntry { job, measured: date.clone(), ranked })
            })
            .collect();
        FileSystem { directory: document.run.directory.clone().into(), entries }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::{Labels, Sample};

    #[test]
    fn a_cell_of_which_other_samples_count_may_no_longer_be_precise() {
        let sample = |(regime, rate): (Regime, u64)| Sample {
            bytes: rate,
            seconds: 1.0,
            regime: Some(regime),
            writes: Some(false),
            ..Sample::default()
        };
        let slow = (0..7).map(|place| (Regime::Sustained, 100_000_000 + 100_000 * place));
        let samples = slow.chain([(Regime::Burst, 160_000_000); 4]).map(sample);
        let mut cell = Cell { samples: samples.collect(), ..Cell::new("a", "read", Labels::default()) };
        let mut builder = DocumentBuilder::open(&Options::default(), Clock::set()).unwrap();
        builder.summarise(&mut cell, StopReason::Precise);
        builder.cells.push(cell);
        let found = |builder: &DocumentBuilder| {
            let summary = builder.cells[0].summary.as_ref().unwrap();
            (summary.n, summary.stop)
        };
        builder.withdraw(&DeviceLimit { operation: "write".into(), ..DeviceLimit::default() });
        assert_eq!(found(&builder), (7, StopReason::Precise), "the other direction");
        builder.withdraw(&DeviceLimit { operation: "read".into(), ..DeviceLimit::default() });
        assert_eq!(found(&builder), (11, StopReason::TimeUp));
    }
}
