//! The experiment `auto` on files that are long enough for a choice: the contenders of the planner are cells, and the
//! regret follows from the samples.

mod measuring;

use fullbore::strategy::{Planner, Profile, Purpose, StrategySpec};
use fullbore_bench::document::{Cell, Document, Experiment, Sample};
use fullbore_bench::experiment::built_in;
use fullbore_bench::stats::median;
use fullbore_bench::table::{TableOptions, render};
use fullbore_bench::{Measured, Options, report};
use fullbore_testkit::ground::build_directory;
use measuring::{measured, options, sampled, until};

/// The shortest file on which a run tries contenders, in bytes.
const LEN: u64 = fullbore::strategy::ADAPTIVE;

/// The first grids of a built-in set, in the warm state.
fn warm(set: &str, grids: usize) -> String {
    let text = built_in(set).unwrap().text.replace(r#"["warm", "cold"]"#, r#"["warm"]"#);
    let parts: Vec<&str> = text.split("[[experiment.grid]]").collect();
    parts[..=grids].join("[[experiment.grid]]")
}

fn measure(text: String, seconds: u64) -> Measured {
    let directory = tempfile::tempdir().unwrap();
    let options = options(directory.path(), text, LEN >> 20, seconds);
    measured(&Options { precision: 0.001, ..options })
}

fn strategy(cell: &Cell) -> &str {
    cell.labels.strategy.as_deref().unwrap()
}

/// Checks every regret against the samples; returns the number of those with six rounds.
fn check(document: &Document, experiment: &Experiment) -> usize {
    let mut checked = 0;
    for found in &document.findings.regrets {
        let auto = document.cell(&found.cell).unwrap();
        assert_eq!((strategy(auto), auto.experiment.as_str()), ("auto", experiment.name.as_str()));
        let same = |cell: &&Cell| {
            cell.labels.operation == auto.labels.operation
                && cell.labels.cache == auto.labels.cache
                && cell.labels.file_state == auto.labels.file_state
                && strategy(cell) != "auto"
                && cell.summary.is_some()
        };
        let others: Vec<&Cell> = document.cells.iter().filter(same).collect();
        assert_eq!(found.strategies, others.len());
        let middle = |cell: &Cell| median(&cell.rates()).unwrap();
        let best = others.iter().max_by(|a, b| middle(a).total_cmp(&middle(b))).unwrap();
        assert_eq!((found.best.as_str(), found.strategy.as_str()), (best.id.as_str(), strategy(best)));
        // The best of a round has the highest median in the other rounds.
        let elsewhere = |cell: &Cell, round: u32| {
            let other = cell.counted().filter(|sample| sample.round != round);
            let rates: Vec<f64> = other.map(Sample::rate).collect();
            // A slow machine may measure a strategy in one round alone.
            median(&rates).unwrap_or(0.0)
        };
        let ratio = |sample: &Sample| {
            // A sample that the proof contradicts is repeated in the same round, and does not count.
            let same = |other: &&Sample| other.round == sample.round;
            let here = |cell: &&&Cell| cell.counted().any(|other| same(&other));
            let best = others
                .iter()
                .filter(here)
                .max_by(|one, two| elsewhere(one, sample.round).total_cmp(&elsewhere(two, sample.round)))?;
            let other = best.counted().find(same)?;
            let seconds_per_byte = |sample: &Sample| sample.seconds / sample.bytes as f64;
            Some(seconds_per_byte(sample) / seconds_per_byte(other))
        };
        let ratios: Vec<f64> = auto.counted().filter_map(ratio).collect();
        // With fewer rounds, on a slow machine, the medians of all samples are compared.
        if ratios.len() < 6 {
            continue;
        }
        checked += 1;
        let expected = median(&ratios).unwrap() - 1.0;
        assert!((found.regret.value - expected).abs() < 1e-9, "{found:?} {expected}");
        assert!(found.regret.contains(expected), "{found:?}");
    }
    checked
}

#[test]
fn the_regret_follows_from_the_samples_of_all_contenders() {
    // Counting lines, and searching. Rounds take longer under Wine and on a busy machine.
    let times = [if cfg!(windows) { 20 } else { 9 }, 30, 90];
    let has_rounds = |Measured { document, .. }: &Measured| check(document, &document.experiments[0]) > 0;
    let Measured { document, profile } =
        until(times, |seconds| measure(warm("auto", 4), seconds), has_rounds);
    assert!(document.cells.iter().all(|cell| cell.skipped.is_none()), "{:?}", document.cells);
    // The contenders are those of the planner.
    let file = tempfile::NamedTempFile::new_in(build_directory()).unwrap();
    std::fs::write(file.path(), vec![b'\n'; LEN as usize]).unwrap();
    let input = fullbore::file::File::open(file.path()).unwrap();
    let spec = StrategySpec::default();
    let plan = Planner::new(&spec).plan(Purpose::Fold, Some(&input), Some(LEN), None).unwrap();
    let listed: Vec<String> =
        plan.contenders.cached.iter().map(|contender| contender.strategy.to_string()).collect();
    assert!(listed.len() > 1, "{listed:?}");
    for operation in ["count lines", "search"] {
        let cells = document.cells.iter().filter(|cell| cell.labels.operation == operation);
        let mut expected = listed.clone();
        expected.push("auto".to_owned());
        assert_eq!(cells.map(strategy).collect::<Vec<_>>(), expected, "{operation}");
    }
    assert_eq!(document.findings.regrets.len(), 2, "{:?}", document.findings.regrets);
    // The entry of the job is the one that the planner of the tool looks up.
    let (key, system) = profile.unwrap();
    let profile = Profile { file_systems: [(key.clone(), system)].into(), ..Profile::default() };
    let job = plan.plan_input.job().unwrap();
    let entry = profile.entry(&key, job);
    let regrets = || document.findings.regrets.iter().filter(|found| found.job == job.to_string());
    assert_eq!(regrets().count(), 1, "{job}");
    assert_eq!(entry.is_none(), regrets().any(|found| found.regret.high < 0.0), "{entry:?}");
    if let Some(entry) = entry {
        assert_eq!((entry.job, entry.ranked.len()), (job, listed.len()));
        assert!(entry.ranked.iter().all(|measured| listed.contains(&measured.strategy)), "{entry:?}");
    }
    for regret in &document.findings.regrets {
        let table = render(&document, TableOptions::default());
        assert!(table.contains(regret.text().split(" for ").next().unwrap()), "{table}");
        assert!(report::markdown(&document).contains(&regret.job));
    }
    assert!(
        report::charts(&document)
            .iter()
            .any(|(name, svg)| name.ends_with("regret") && svg.contains("scan, warm"))
    );
}

#[test]
fn every_job_runs_under_every_contender() {
    let measure = |seconds| measure(warm("auto", 14), seconds).document;
    let document = until([12, 30, 90], measure, |document| sampled(document, 1));
    for operation in ["count lines", "search", "blake3", "compare", "shift:10", "copy"] {
        let here = || document.cells.iter().filter(|cell| cell.labels.operation == operation);
        assert!(here().any(|cell| strategy(cell) == "auto") && here().count() > 2, "{operation}");
        for cell in here() {
            assert!(cell.skipped.is_none() && !cell.samples.is_empty(), "{}: {:?}", cell.id, cell.skipped);
            // A cached file that is only read is read several times for a sample.
            let once = operation == "copy" || operation == "shift:10";
            let pass = if operation == "compare" { 2 * LEN } else { LEN };
            let whole =
                |bytes: u64| if once { bytes == LEN } else { bytes > 0 && bytes.is_multiple_of(pass) };
            assert!(cell.samples.iter().all(|sample| whole(sample.bytes)), "{}", cell.id);
        }
    }
}
