//! Rounds: contenders run one after another in random order, repeatedly, so that drift affects all alike.

use fullbore_bench::stats::{Xoshiro256, median};

use super::Attempt;
use super::command::{CommandLine, Run};
use super::order::shuffled;

/// A contender.
pub(crate) struct Contender<'a> {
    /// Its name in the findings.
    pub(crate) label: String,
    /// Its command.
    pub(crate) line: CommandLine,
    /// Prepares the state before a run; not measured.
    pub(crate) prepare: Box<dyn FnMut() -> Attempt<()> + 'a>,
    /// Checks the result of the first run; not measured.
    pub(crate) check: Box<dyn FnMut() -> Attempt<()> + 'a>,
    /// Cleans up after a run; not measured.
    pub(crate) clear: Box<dyn FnMut() + 'a>,
}

impl<'a> Contender<'a> {
    /// A contender without preparation.
    pub(crate) fn new(label: impl Into<String>, line: CommandLine) -> Self {
        Self {
            label: label.into(),
            line,
            prepare: Box::new(|| Ok(())),
            check: Box::new(|| Ok(())),
            clear: Box::new(|| ()),
        }
    }

    /// Sets the preparation before each run.
    pub(crate) fn prepare(mut self, prepare: impl FnMut() -> Attempt<()> + 'a) -> Self {
        self.prepare = Box::new(prepare);
        self
    }

    /// Sets the check of the first, unmeasured run: if it fails, so has the run.
    pub(crate) fn check(mut self, check: impl FnMut() -> Attempt<()> + 'a) -> Self {
        self.check = Box::new(check);
        self
    }

    /// Sets the cleanup after each run.
    pub(crate) fn clear(mut self, clear: impl FnMut() + 'a) -> Self {
        self.clear = Box::new(clear);
        self
    }

    fn first(&mut self) -> Attempt<Run> {
        (self.prepare)()?;
        let run = self.line.run().and_then(|run| (self.check)().map(|()| run));
        (self.clear)();
        run
    }

    fn once(&mut self) -> Attempt<Run> {
        (self.prepare)()?;
        let run = self.line.run();
        (self.clear)();
        run
    }
}

/// The runs of one contender, one per round.
#[derive(Debug, Clone)]
pub(crate) struct Series {
    /// The contender's name.
    pub(crate) label: String,
    /// Its runs in the order of the rounds.
    pub(crate) runs: Vec<Run>,
}

impl Series {
    /// The median wall time in seconds.
    pub(crate) fn wall(&self) -> f64 {
        self.median(|run| run.wall)
    }

    /// The median CPU time, user and system, in seconds.
    pub(crate) fn processor(&self) -> f64 {
        self.median(|run| run.user + run.system)
    }

    fn median(&self, of: impl Fn(&Run) -> f64) -> f64 {
        median(&self.runs.iter().map(of).collect::<Vec<_>>()).unwrap_or(f64::NAN)
    }

    /// The median over the rounds of this one's wall time ÷ the other's.
    pub(crate) fn paired(&self, other: &Self) -> f64 {
        let ratios: Vec<f64> = self.runs.iter().zip(&other.runs).map(|(a, b)| a.wall / b.wall).collect();
        median(&ratios).unwrap_or(f64::NAN)
    }
}

/// The series of the fastest by median wall time.
pub(crate) fn fastest<'s>(series: impl IntoIterator<Item = &'s Series>) -> Option<&'s Series> {
    series.into_iter().min_by(|a, b| a.wall().total_cmp(&b.wall()))
}

/// Runs all contenders once unmeasured and then `rounds` times. One that fails the first time is left out, and `excuse`
/// gets the reason; a later failure is an error.
pub(crate) fn interleave(
    mut contenders: Vec<Contender<'_>>,
    rounds: usize,
    random: &mut Xoshiro256,
    mut excuse: impl FnMut(&str, &str),
) -> Attempt<Vec<Series>> {
    contenders.retain_mut(|contender| match contender.first() {
        Ok(_) => true,
        Err(error) => {
            excuse(&contender.label, &error.to_string());
            false
        }
    });
    let mut series: Vec<Series> = contenders
        .iter()
        .map(|contender| Series { label: contender.label.clone(), runs: Vec::with_capacity(rounds) })
        .collect();
    for _ in 0..rounds {
        for index in shuffled(contenders.len(), random) {
            series[index].runs.push(contenders[index].once()?);
        }
    }
    Ok(series)
}
