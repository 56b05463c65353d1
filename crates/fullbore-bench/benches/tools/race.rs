//! A race: commands of fullbore beside those of its peers in interleaved rounds, and its bounds.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use super::command::{CommandLine, Run};
use super::commands::{Bench, CommandOrReason};
use super::data::Data;
use super::harness::finding::{Bound, Finding, time};
use super::harness::rounds::{self, interleave};
use super::harness::{Attempt, BenchError};

type Series = rounds::Series<Run>;

pub(crate) struct Contender<'a> {
    line: CommandLine,
    prepare: Box<dyn FnMut() -> Attempt<()> + 'a>,
    check: Box<dyn FnMut() -> Attempt<()> + 'a>,
    clear: Box<dyn FnMut() + 'a>,
}

impl<'a> Contender<'a> {
    /// Sets the preparation of the state before each run; it is not measured.
    pub(crate) fn prepare(mut self, prepare: impl FnMut() -> Attempt<()> + 'a) -> Self {
        self.prepare = Box::new(prepare);
        self
    }

    /// Sets the check of the first, unmeasured run: if it fails, so has the run.
    pub(crate) fn check(mut self, check: impl FnMut() -> Attempt<()> + 'a) -> Self {
        self.check = Box::new(check);
        self
    }

    /// Sets the cleanup after each run; it is not measured.
    pub(crate) fn clear(mut self, clear: impl FnMut() + 'a) -> Self {
        self.clear = Box::new(clear);
        self
    }

    fn run(&mut self, first: bool) -> Attempt<Run> {
        (self.prepare)()?;
        let mut run = self.line.run();
        if first {
            run = run.and_then(|run| (self.check)().map(|()| run));
        }
        (self.clear)();
        run
    }
}

/// The required agreement of the contenders' outputs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum OutputCheck {
    /// The same bytes, at least one.
    Same,
    /// The same lines in any order, at least one.
    SameLines,
    /// No agreement: formats differ, or nothing is printed.
    Any,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Figure {
    /// The time of one ÷ that of the fastest of others.
    Fastest,
    /// The time of one ÷ that of the slowest of others, all of which must run.
    Slowest,
    /// The throughput of one ÷ that of the fastest of others.
    Throughput,
    /// The time of one ÷ that of the fastest of others. The fastest is chosen in the even rounds and compared in the odd ones, and
    /// the other way round, so that no chance selects it; the geometric mean of both.
    Regret,
    /// The time of one, in milliseconds.
    Time,
}

pub(crate) struct Demand {
    what: String,
    figure: Figure,
    ours: String,
    peers: Vec<String>,
    bound: Bound,
}

pub(crate) struct Race<'a> {
    pub(crate) contenders: Vec<(String, Contender<'a>)>,
    pub(crate) absent: Vec<(String, String)>,
    pub(crate) demands: Vec<Demand>,
    pub(crate) needs: Vec<Data>,
    pub(crate) answers: OutputCheck,
    /// The number of rounds, if not `--rounds`.
    pub(crate) rounds: Option<usize>,
    pub(crate) bytes: u64,
}

impl<'a> Race<'a> {
    pub(crate) fn new(needs: &[Data], bytes: u64) -> Self {
        Self {
            contenders: Vec::new(),
            absent: Vec::new(),
            demands: Vec::new(),
            needs: needs.to_vec(),
            answers: OutputCheck::Any,
            rounds: None,
            bytes,
        }
    }

    /// Adds a contender; `shape` sets the state before and after its runs.
    pub(crate) fn shaped(
        mut self,
        label: &str,
        entrant: CommandOrReason,
        shape: impl FnOnce(Contender<'a>) -> Contender<'a>,
    ) -> Self {
        match entrant {
            Ok(line) => {
                let (prepare, check) = (Box::new(|| Ok(())), Box::new(|| Ok(())));
                let contender = Contender { line, prepare, check, clear: Box::new(|| ()) };
                self.contenders.push((label.into(), shape(contender)));
            }
            Err(why) => self.absent.push((label.into(), why)),
        }
        self
    }

    pub(crate) fn enter(
        self,
        label: &str,
        entrant: CommandOrReason,
        prepare: impl FnMut() -> Attempt<()> + 'a,
    ) -> Self {
        self.shaped(label, entrant, |contender| contender.prepare(prepare))
    }

    pub(crate) fn demand(
        mut self,
        what: &str,
        figure: Figure,
        ours: &str,
        peers: &[&str],
        bound: Bound,
    ) -> Self {
        let peers = peers.iter().map(|peer| (*peer).to_owned()).collect();
        self.demands.push(Demand { what: what.into(), figure, ours: ours.into(), peers, bound });
        self
    }

    /// Adds the bound on the time of `ours` ÷ that of `peer`.
    pub(crate) fn hold(self, what: &str, ours: &str, peer: &str, bound: Bound) -> Self {
        self.demand(what, Figure::Fastest, ours, &[peer], bound)
    }

    /// Adds the bound on the time of `ours`, in milliseconds.
    pub(crate) fn within(self, what: &str, ours: &str, bound: Bound) -> Self {
        self.demand(what, Figure::Time, ours, &[], bound)
    }

    pub(crate) fn run(mut self, bench: &mut Bench) -> Attempt<()> {
        for (who, why) in &self.absent {
            println!("  without {who}: {why}");
        }
        let mut open = Vec::new();
        for demand in self.demands {
            match demand.obstacle(&self.absent) {
                Some(why) => bench.findings.skip(&demand.what, &why),
                None => open.push(demand),
            }
        }
        if open.is_empty() {
            return Ok(());
        }
        for data in &self.needs {
            bench.place.need(*data)?;
        }
        // The first run of each is not measured. One that fails then is left out; a later failure is an error.
        let mut failed: Vec<(String, String)> = Vec::new();
        self.contenders.retain_mut(|(label, contender)| match contender.run(true) {
            Ok(_) => true,
            Err(error) => {
                failed.push((label.clone(), error.to_string()));
                false
            }
        });
        let rounds = self.rounds.unwrap_or(bench.options.common.rounds);
        let once = |contender: &mut Contender<'_>| contender.run(false);
        let series = interleave(&mut self.contenders, rounds, &mut bench.random, once)?;
        table(bench, &series, self.bytes);
        for (who, why) in &failed {
            bench.findings.note(format!("{who} failed: {why}"));
        }
        let wrong = compare(self.answers, &self.contenders);
        let all: Vec<String> = failed.iter().map(|(who, why)| format!("{who}: {why}")).collect();
        for demand in open {
            let what = &demand.what;
            match (demand.judge(&series), &wrong) {
                (Some(finding), Ok(())) => bench.findings.add(finding),
                // A contender with another output has not done the work.
                (Some(_), Err(why)) => bench.findings.record_error(what, &**why),
                (None, _) if failed.iter().any(|(who, _)| *who == demand.ours) => {
                    bench.findings.record_error(what, &*BenchError::from(all.join("; ")));
                }
                (None, _) => bench.findings.skip(what, &all.join("; ")),
            }
        }
        Ok(())
    }
}

impl Demand {
    /// The reason why the bound cannot be judged without the `absent` contenders, if any.
    fn obstacle(&self, absent: &[(String, String)]) -> Option<String> {
        let missing = |label: &str| absent.iter().find(|(who, _)| who == label).map(|(_, why)| why.clone());
        if let Some(why) = missing(&self.ours) {
            return Some(why);
        }
        let gone: Vec<String> = self.peers.iter().filter_map(|peer| missing(peer)).collect();
        let enough = gone.is_empty() || self.figure != Figure::Slowest && gone.len() < self.peers.len();
        (!enough).then(|| gone.join("; "))
    }

    /// The finding of the runs; `None` if a contender did not run.
    fn judge(&self, series: &[Series]) -> Option<Finding> {
        let find = |label: &String| series.iter().find(|one| one.label == *label);
        let mine = find(&self.ours)?;
        let ran = self.peers.iter().filter_map(find);
        let by_time = |a: &&Series, b: &&Series| wall(a).total_cmp(&wall(b));
        let peer = match self.figure {
            Figure::Time => {
                let ours = format!("{}, median; processor {}", mine.label, time(processor(mine)));
                return Some(Finding::new(&self.what, ours, (wall(mine) * 1e3, " ms"), self.bound));
            }
            Figure::Slowest if ran.clone().count() < self.peers.len() => return None,
            Figure::Slowest => ran.max_by(by_time)?,
            Figure::Regret => {
                let [even, odd] = [0, 1].map(|half| regret(mine, ran.clone(), half));
                let best = ran.min_by(by_time)?.label.clone();
                let ours = format!("best of all rounds: {best}");
                return Some(Finding::new(&self.what, ours, ((even? * odd?).sqrt(), ""), self.bound));
            }
            Figure::Fastest | Figure::Throughput => ran.min_by(by_time)?,
        };
        let ratio = Finding::ratio(&self.what, mine, peer, |run| run.wall, time, self.bound);
        Some(if self.figure == Figure::Throughput { ratio.inverted() } else { ratio })
    }
}

/// The time of `mine` ÷ that of the contender that was the fastest in the other rounds, in the rounds whose numbers have this
/// remainder of 2.
fn regret<'s>(mine: &Series, others: impl Iterator<Item = &'s Series>, half: usize) -> Option<f64> {
    let rounds = |series: &Series, half: usize| Series {
        label: series.label.clone(),
        runs: series.runs.iter().skip(half).step_by(2).cloned().collect(),
    };
    let best = others.min_by(|a, b| wall(&rounds(a, 1 - half)).total_cmp(&wall(&rounds(b, 1 - half))))?;
    Some(rounds(mine, half).paired(&rounds(best, half), |run| run.wall))
}

fn wall(series: &Series) -> f64 {
    series.median(|run| run.wall)
}

fn processor(series: &Series) -> f64 {
    series.median(|run| run.user + run.system)
}

fn table(bench: &mut Bench, series: &[Series], bytes: u64) {
    let mut sorted: Vec<&Series> = series.iter().collect();
    sorted.sort_by(|a, b| wall(a).total_cmp(&wall(b)));
    for one in sorted {
        let rate = fullbore::size::rate(bytes as f64 / wall(one));
        let (wall, processor) = (time(wall(one)), time(processor(one)));
        bench.findings.note(format!("{wall:>11} {rate:>11}  processor {processor:>11}  {}", one.label));
    }
}

fn compare(answers: OutputCheck, contenders: &[(String, Contender<'_>)]) -> Attempt<()> {
    if answers == OutputCheck::Any {
        return Ok(());
    }
    let mut answered = contenders.iter().filter_map(|(who, one)| Some((who, one.line.answer.as_deref()?)));
    let Some((first, first_file)) = answered.next() else { return Ok(()) };
    if std::fs::metadata(first_file)?.len() == 0 {
        return Err(format!("{first} found nothing: no output to compare").into());
    }
    for (who, file) in answered {
        let same = match answers {
            OutputCheck::Same => same_bytes(first_file, file)?,
            _ => sorted(first_file)? == sorted(file)?,
        };
        if !same {
            return Err(format!("{first} and {who} answer differently").into());
        }
    }
    Ok(())
}

pub(crate) fn same_bytes(one: &Path, two: &Path) -> Attempt<bool> {
    if std::fs::metadata(one)?.len() != std::fs::metadata(two)?.len() {
        return Ok(false);
    }
    let open = |path| File::open(path).map(|file| BufReader::with_capacity(1 << 16, file));
    let (mut one, mut two) = (open(one)?, open(two)?);
    let (mut mine, mut theirs) = (vec![0; 1 << 16], vec![0; 1 << 16]);
    loop {
        let count = one.read(&mut mine)?;
        if count == 0 {
            return Ok(true);
        }
        two.read_exact(&mut theirs[..count])?;
        if mine[..count] != theirs[..count] {
            return Ok(false);
        }
    }
}

fn sorted(path: &Path) -> Attempt<Vec<Vec<u8>>> {
    let mut lines: Vec<Vec<u8>> = std::fs::read(path)?.split(|&byte| byte == b'\n').map(Vec::from).collect();
    lines.sort_unstable();
    Ok(lines)
}
