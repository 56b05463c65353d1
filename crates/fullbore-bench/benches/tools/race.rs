//! A race: one of fullbore's tools beside its peers in interleaved rounds, and its bounds.

use std::cell::RefCell;
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use super::command::CommandLine;
use super::data::Data;
use super::finding::{Bound, Finding};
use super::rounds::{Contender, Series, fastest, interleave};
use super::runs::{table, wall_ratio};
use super::{Attempt, Bench};

/// A command, or the reason why it is missing.
pub(crate) type CommandOrReason = Result<CommandLine, String>;

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

/// A bound between contenders.
enum Demand {
    /// The time of one ÷ the time of the fastest of others.
    Ratio { ours: &'static str, peers: Vec<&'static str>, bound: Bound, slowest: bool },
    /// The time of one, in milliseconds.
    Time { ours: &'static str, bound: Bound },
}

/// A race: contenders, data and bounds.
pub(crate) struct Race<'a> {
    contenders: Vec<Contender<'a>>,
    absent: Vec<(String, String)>,
    demands: Vec<(String, Demand)>,
    needs: Vec<Data>,
    answers: OutputCheck,
    bytes: u64,
}

impl<'a> Race<'a> {
    /// A race over `bytes` of `needs`.
    pub(crate) fn new(needs: &[Data], bytes: u64) -> Self {
        Self {
            contenders: Vec::new(),
            absent: Vec::new(),
            demands: Vec::new(),
            needs: needs.to_vec(),
            answers: OutputCheck::Any,
            bytes,
        }
    }

    /// Sets the required agreement of outputs.
    pub(crate) fn answers(mut self, answers: OutputCheck) -> Self {
        self.answers = answers;
        self
    }

    /// Adds a contender; `shape` sets the state before and after its runs.
    pub(crate) fn shaped(
        mut self,
        label: &str,
        entrant: CommandOrReason,
        shape: impl FnOnce(Contender<'a>) -> Contender<'a>,
    ) -> Self {
        match entrant {
            Ok(line) => self.contenders.push(shape(Contender::new(label, line))),
            Err(why) => self.absent.push((label.into(), why)),
        }
        self
    }

    /// Adds a contender with a preparation.
    pub(crate) fn enter(
        self,
        label: &str,
        entrant: CommandOrReason,
        prepare: impl FnMut() -> Attempt<()> + 'a,
    ) -> Self {
        self.shaped(label, entrant, |contender| contender.prepare(prepare))
    }

    /// Adds the bound on the time of `ours` ÷ that of `peer`.
    pub(crate) fn hold(self, what: &str, ours: &'static str, peer: &'static str, bound: Bound) -> Self {
        self.hold_best(what, ours, &[peer], bound)
    }

    /// Adds the bound on the time of `ours` ÷ that of the fastest of `peers`.
    pub(crate) fn hold_best(
        mut self,
        what: &str,
        ours: &'static str,
        peers: &[&'static str],
        bound: Bound,
    ) -> Self {
        let demand = Demand::Ratio { ours, peers: peers.to_vec(), bound, slowest: false };
        self.demands.push((what.into(), demand));
        self
    }

    /// Adds the bound on the time of `ours` ÷ that of the slowest of `others`, all of which must run.
    pub(crate) fn hold_slowest(
        mut self,
        what: &str,
        ours: &'static str,
        others: &[&'static str],
        bound: Bound,
    ) -> Self {
        let demand = Demand::Ratio { ours, peers: others.to_vec(), bound, slowest: true };
        self.demands.push((what.into(), demand));
        self
    }

    /// Adds the bound on the time of `ours`, in milliseconds.
    pub(crate) fn within(mut self, what: &str, ours: &'static str, bound: Bound) -> Self {
        self.demands.push((what.into(), Demand::Time { ours, bound }));
        self
    }

    /// Runs the race, if its contenders exist, and reports the findings.
    pub(crate) fn run(mut self, bench: &mut Bench) -> Attempt<()> {
        let missing = |label: &str, absent: &[(String, String)]| {
            absent.iter().find(|(who, _)| who == label).map(|(_, why)| why.clone())
        };
        for (who, why) in &self.absent {
            println!("  without {who}: {why}");
        }
        let demands = std::mem::take(&mut self.demands);
        let (open, closed): (Vec<_>, Vec<_>) = demands
            .into_iter()
            .partition(|(_, demand)| demand.obstacle(|who| missing(who, &self.absent)).is_none());
        for (what, demand) in closed {
            let why = demand.obstacle(|who| missing(who, &self.absent)).unwrap_or_default();
            bench.findings.skip(&what, &why);
        }
        if open.is_empty() {
            return Ok(());
        }
        for data in &self.needs {
            bench.place.need(*data)?;
        }
        let lines: Vec<(String, CommandLine)> =
            self.contenders.iter().map(|one| (one.label.clone(), one.line.clone())).collect();
        let failed = RefCell::new(Vec::new());
        let excuse = |who: &str, why: &str| failed.borrow_mut().push((who.to_owned(), why.to_owned()));
        let series = interleave(self.contenders, bench.options.rounds, &mut bench.random, excuse)?;
        let failed = failed.into_inner();
        table(&mut bench.findings, &series, self.bytes);
        for (who, why) in &failed {
            bench.findings.note(format!("{who} failed: {why}"));
        }
        let wrong = compare(self.answers, lines.iter().filter(|(who, _)| missing(who, &failed).is_none()));
        for (what, demand) in open {
            match demand.judge(&what, &series) {
                Some(finding) => match &wrong {
                    Ok(()) => bench.findings.add(finding),
                    // A contender with another output has not done the work.
                    Err(why) => bench.findings.record_error(&what, &**why),
                },
                None => {
                    let why = failed.iter().map(|(who, why)| format!("{who}: {why}"));
                    let why = why.collect::<Vec<_>>().join("; ");
                    match failed.iter().any(|(who, _)| who == demand.ours()) {
                        true => bench.findings.record_error(&what, &*super::BenchError::from(why)),
                        false => bench.findings.skip(&what, &why),
                    }
                }
            }
        }
        Ok(())
    }
}

impl Demand {
    fn ours(&self) -> &'static str {
        match self {
            Self::Ratio { ours, .. } | Self::Time { ours, .. } => ours,
        }
    }

    /// The reason why the bound cannot be judged, if any; `missing` gives the reason for a missing contender.
    fn obstacle(&self, missing: impl Fn(&str) -> Option<String>) -> Option<String> {
        if let Some(why) = missing(self.ours()) {
            return Some(why);
        }
        let Self::Ratio { peers, slowest, .. } = self else { return None };
        let gone: Vec<String> = peers.iter().filter_map(|peer| missing(peer)).collect();
        let enough = if *slowest { gone.is_empty() } else { gone.len() < peers.len() };
        if enough { None } else { Some(gone.join("; ")) }
    }

    /// The finding of the runs; `None` if a contender did not run.
    fn judge(&self, what: &str, series: &[Series]) -> Option<Finding> {
        let find = |label: &str| series.iter().find(|one| one.label == label);
        let mine = find(self.ours())?;
        match self {
            Self::Ratio { peers, bound, slowest, .. } => {
                let ran: Vec<&Series> = peers.iter().filter_map(|peer| find(peer)).collect();
                let peer = match slowest {
                    false => fastest(ran)?,
                    true if ran.len() < peers.len() => return None,
                    true => ran.into_iter().max_by(|a, b| a.wall().total_cmp(&b.wall()))?,
                };
                Some(wall_ratio(what, mine, peer, *bound))
            }
            Self::Time { bound, .. } => Some(Finding {
                what: what.into(),
                ours: format!("{}, median", mine.label),
                peer: String::new(),
                figure: mine.wall() * 1e3,
                unit: " ms",
                paired: None,
                bound: *bound,
            }),
        }
    }
}

/// Checks that the contenders' last outputs agree.
fn compare<'l>(
    answers: OutputCheck,
    mut lines: impl Iterator<Item = &'l (String, CommandLine)>,
) -> Attempt<()> {
    if answers == OutputCheck::Any {
        return Ok(());
    }
    let Some((first, first_file)) = lines.find_map(|(who, line)| Some((who, line.answered()?))) else {
        return Ok(());
    };
    if std::fs::metadata(first_file)?.len() == 0 {
        return Err(format!("{first} found nothing: no output to compare").into());
    }
    for (who, line) in lines {
        let Some(file) = line.answered() else { continue };
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

/// True if two files have the same bytes.
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
