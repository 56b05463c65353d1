//! Learned figures: the rates of contenders in earlier runs, kept beside the profile as a prior for the next run.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use fullbore_io::lock::Mutex;
use fullbore_io::probe;

use super::contender::{Contender, Tried, text};
use super::fields::Strategy;
use super::figure::{Circumstances, LearnedFigure, age, is_old, may_write, now, read, write};
use super::spec::StrategySpec;

/// The weight of a new figure, once there are several.
const WEIGHT: f64 = 0.3;
/// A figure of a strategy that is not a contender by the facts counts from this many trials on.
const ENOUGH: u32 = 2;
/// The standard deviation of a logarithmic rate from one run to another, in the page cache and from a device: one short slice
/// of a device may be wrong by a third.
const SPREAD: [f64; 2] = [0.05, 0.15];
/// The time in which the variance of a figure doubles.
const FRESH: Duration = Duration::from_secs(7 * 24 * 3600);
/// The figures of earlier runs and of this one; copies share them.
#[derive(Debug, Clone, Default)]
pub struct Learned(Arc<Mutex<Notebook>>);

#[derive(Debug, Default)]
struct Notebook {
    path: Option<PathBuf>,
    /// The figures, read at the first long run; most commands need none.
    figures: Option<Vec<LearnedFigure>>,
    /// The trials of this process, not written yet.
    pending: Vec<(Circumstances, Vec<Tried>)>,
}

impl Notebook {
    fn figures(&mut self) -> &mut Vec<LearnedFigure> {
        self.figures.get_or_insert_with(|| self.path.as_deref().map(read).unwrap_or_default())
    }
}

impl PartialEq for Learned {
    /// All are equal: learned figures do not distinguish profiles.
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Learned {
    /// Returns the path of the document beside a profile.
    pub fn path(profile: &Path) -> PathBuf {
        profile.with_file_name("learned.json")
    }

    /// Opens the figures at `path`, which are read when they are needed; [`save`](Self::save) writes there. A document
    /// that is missing, broken or another user's gives no figures.
    pub fn load(path: &Path) -> Self {
        let path = Some(path.to_owned());
        Self(Arc::new(Mutex::new(Notebook { path, ..Notebook::default() })))
    }

    /// True if there are no figures.
    pub(super) fn is_empty(&self) -> bool {
        self.0.lock().figures().is_empty()
    }

    /// Returns the figures.
    pub fn figures(&self) -> Vec<LearnedFigure> {
        self.0.lock().figures().clone()
    }

    /// Adds the result of a trial.
    pub(super) fn add(&self, circumstances: &Circumstances, tried: &[Tried]) {
        let mut state = self.0.lock();
        learn(state.figures(), circumstances, tried, now());
        if state.path.is_some() {
            state.pending.push((circumstances.clone(), tried.to_vec()));
        }
    }

    /// Orders contenders by the learned figures, which become their expected rates. Returns the figure of the first, if there
    /// is one. `works` returns a strategy fitted to the files, or `None` if it does not work there.
    pub(super) fn arrange(
        &self,
        circumstances: &Circumstances,
        contenders: &mut Vec<Contender>,
        works: impl Fn(&Strategy) -> Option<Strategy>,
    ) -> Option<LearnedFigure> {
        let spread = SPREAD[usize::from(circumstances.cached != Some(true))];
        let mut state = self.0.lock();
        let known: Vec<&LearnedFigure> = state
            .figures()
            .iter()
            .filter(|figure| figure.circumstances == *circumstances && !is_old(figure))
            .collect();
        let figure = |strategy: &Strategy| {
            let text = text(strategy);
            known.iter().find(|figure| figure.strategy == text).copied()
        };
        // A figure of something that is not among the contenders now, a neighbour of one, is a contender, too. It reads,
        // writes and allocates as one of them: the document may be old, from anywhere, or from outputs on another file system.
        let (_, best) =
            known.iter().map(|figure| (figure.share, figure)).max_by(|one, two| one.0.total_cmp(&two.0))?;
        if best.count >= ENOUGH
            && !contenders.iter().any(|contender| text(&contender.strategy) == best.strategy)
            && let (Some(first), Ok(spec)) = (contenders.first(), best.strategy.parse::<StrategySpec>())
        {
            let budget = first.strategy.budget;
            let strategy = Strategy { budget, ..spec.apply(first.strategy.clone()) };
            let methods =
                |one: &Strategy| (one.read, one.read_cache, one.write, one.write_cache, one.allocation);
            let same = |other: &Contender| methods(&other.strategy) == methods(&strategy);
            // Another run may have had more processors.
            let most = probe::processors().max(first.strategy.workers);
            if strategy.memory() <= strategy.budget
                && strategy.workers <= most
                && contenders.iter().any(same)
                && works(&strategy).as_ref() == Some(&strategy)
            {
                contenders.push(Contender { strategy, expected: 0.0, deviation: spread });
            }
        }
        let share = |contender: &Contender| figure(&contender.strategy).map(|figure| figure.share);
        // The best one known is the measure; those without a figure are as far from it as they were expected to be.
        let best = contenders.iter().filter_map(share).max_by(f64::total_cmp)?;
        for contender in contenders.iter_mut() {
            if let Some(figure) = figure(&contender.strategy) {
                contender.expected = (figure.share / best).max(0.01).ln();
                // With each trial the deviation shrinks to that of one run from another; with time it grows again, up to that
                // before any trial.
                let age = age(figure) as f64 / FRESH.as_secs_f64();
                let own = contender.deviation.powi(2) / (1.0 + f64::from(figure.count));
                let learned = (own + spread.powi(2) * (1.0 + age)).sqrt();
                contender.deviation = contender.deviation.min(learned);
            }
        }
        // The order of those without a figure remains.
        contenders.sort_by(|one, two| two.expected.total_cmp(&one.expected));
        figure(&contenders.first()?.strategy).cloned()
    }

    /// Writes the figures that this process learned, if any, completely or not at all. A failure has no effect,
    /// because no result depends on the figures.
    pub fn save(&self) {
        let (path, pending) = {
            let mut state = self.0.lock();
            let Some(path) = state.path.clone() else { return };
            (path, std::mem::take(&mut state.pending))
        };
        if pending.is_empty() || !may_write(&path) {
            return;
        }
        // Another process may have written meanwhile.
        let mut figures = read(&path);
        pending.iter().for_each(|(circumstances, tried)| learn(&mut figures, circumstances, tried, now()));
        let _ = write(&path, figures);
    }

    /// Removes the figures of a file system, or all; true if there were any.
    ///
    /// # Errors
    /// The system's.
    pub fn forget(path: &Path, file_system: Option<&str>) -> std::io::Result<bool> {
        let mut figures = read(path);
        let count = figures.len();
        match file_system {
            Some(key) => figures.retain(|figure| figure.circumstances.file_system != key),
            None => figures.clear(),
        }
        // A document that cannot be read, such as one of a later version, may have figures of other file systems.
        if file_system.is_some() && count == 0 {
            return Ok(false);
        }
        if !figures.is_empty() {
            write(path, figures.clone())?;
            return Ok(figures.len() < count);
        }
        match std::fs::remove_file(path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
            removed => removed.map(|()| true),
        }
    }
}

/// Adds a trial to the averages.
fn learn(figures: &mut Vec<LearnedFigure>, circumstances: &Circumstances, tried: &[Tried], now: u64) {
    let best = tried.iter().map(|tried| tried.rate).fold(0.0, f64::max);
    for tried in tried.iter().filter(|tried| tried.rate > 0.0) {
        let share = tried.rate / best;
        let same = |figure: &&mut LearnedFigure| {
            figure.circumstances == *circumstances && figure.strategy == tried.strategy
        };
        match figures.iter_mut().find(same) {
            Some(figure) => {
                figure.count = figure.count.saturating_add(1);
                let weight = WEIGHT.max(1.0 / f64::from(figure.count));
                for (average, new) in
                    [(&mut figure.share, share), (&mut figure.rate, tried.rate), (&mut figure.cpu, tried.cpu)]
                {
                    *average += weight * (new - *average);
                }
                figure.updated = now;
            }
            None => figures.push(LearnedFigure {
                circumstances: circumstances.clone(),
                strategy: tried.strategy.clone(),
                share,
                rate: tried.rate,
                cpu: tried.cpu,
                count: 1,
                updated: now,
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::strategy::fields::Allocation;
    use crate::strategy::figure::LARGEST;
    use crate::strategy::plan_input::{Purpose, Target};
    use fullbore_io::engine::{CachePolicy, method};
    use std::time::SystemTime;

    /// Makes a document old enough to be written again: that happens once a second at most.
    fn rest(path: &Path) {
        let file = std::fs::File::options().write(true).open(path).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(5)).unwrap();
    }

    fn circumstances() -> Circumstances {
        Circumstances {
            file_system: "ext4 1".into(),
            purpose: Purpose::Fold,
            target: Target::Nowhere,
            serial: false,
            cached: Some(true),
        }
    }

    fn works(strategy: &Strategy) -> Option<Strategy> {
        Some(strategy.clone())
    }

    fn strategy(name: &str) -> Strategy {
        Strategy { read: method(name).unwrap(), ..Strategy::plain() }
    }

    fn contender(name: &str) -> Contender {
        Contender { strategy: strategy(name), expected: 0.0, deviation: 0.2 }
    }

    fn trial(rates: &[(&str, f64)]) -> Vec<Tried> {
        rates.iter().map(|(name, rate)| Tried::new(&strategy(name), 1, *rate, 1e-10, 3)).collect()
    }

    #[test]
    fn after_three_runs_the_best_is_first_and_the_others_are_known_to_be_slower() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("new/learned.json");
        let rates = trial(&[("buffered", 5e9), ("mmap", 1e10), ("stdio", 9e9)]);
        let all = ["buffered", "mmap", "stdio"].map(contender).to_vec();
        for run in 0..4 {
            let learned = Learned::load(&path);
            let mut contenders = all.clone();
            let figure = learned.arrange(&circumstances(), &mut contenders, works);
            let names: Vec<_> = contenders.iter().map(|contender| contender.strategy.read.name).collect();
            let expected = [["buffered", "mmap", "stdio"], ["mmap", "stdio", "buffered"]][run.min(1)];
            assert_eq!(names, expected);
            assert_eq!(figure.map(|figure| figure.count), (run > 0).then_some(run as u32));
            if run == 3 {
                let [first, _, last] = &contenders[..] else { panic!("{contenders:?}") };
                assert!(first.expected.abs() < 1e-9 && first.deviation < 0.12, "{first:?}");
                assert!((last.expected - 0.5f64.ln()).abs() < 1e-9, "{last:?}");
            }
            learned.add(&circumstances(), &rates);
            learned.save();
            rest(&path);
        }
        // Figures of a device vary more.
        let cold = Circumstances { cached: Some(false), ..circumstances() };
        let learned = Learned::default();
        learned.add(&cold, &rates);
        let mut contenders = all.clone();
        learned.arrange(&cold, &mut contenders, works);
        assert!(contenders[0].deviation > 0.15, "{contenders:?}");
        for other in [
            cold,
            Circumstances { target: Target::New, ..circumstances() },
            Circumstances { serial: true, ..circumstances() },
        ] {
            let mut contenders = all.clone();
            assert_eq!(Learned::load(&path).arrange(&other, &mut contenders, works), None);
            assert_eq!(contenders, all);
        }
    }

    #[test]
    fn a_document_adds_no_method_and_no_strategy_that_does_not_work() {
        let all = ["buffered", "mmap"].map(contender).to_vec();
        let wide = Strategy { request: 1 << 20, ..strategy("buffered") };
        for (best, works, added) in [
            (&strategy("null"), true, false),
            (&Strategy { read_cache: CachePolicy::DontCache, ..wide.clone() }, true, false),
            (&Strategy { write: method("mmap").unwrap(), ..wide.clone() }, true, false),
            (&Strategy { allocation: Allocation::Size, ..wide.clone() }, true, false),
            (&wide, false, false),
            (&wide, true, true),
        ] {
            let learned = Learned::default();
            let figure = LearnedFigure {
                circumstances: circumstances(),
                strategy: best.to_string(),
                share: 1.0,
                rate: 1e12,
                cpu: 0.0,
                count: u32::MAX,
                updated: now(),
            };
            learned.0.lock().figures().push(figure);
            let mut contenders = all.clone();
            let fits = |strategy: &Strategy| Some(strategy.clone()).filter(|_| works);
            learned.arrange(&circumstances(), &mut contenders, fits);
            assert_eq!(contenders.len() > all.len(), added, "{best}");
            assert!(contenders.iter().all(|contender| contender.deviation.is_finite()));
        }
    }

    #[test]
    fn figures_do_not_depend_on_the_budget() {
        let learned = Learned::default();
        let small = |name| Strategy { budget: 8 << 20, ..strategy(name) };
        let tried = ["buffered", "mmap"].map(|name| Tried::new(&small(name), 1, 1e9, 1e-10, 3));
        learned.add(&circumstances(), &tried);
        assert!(learned.arrange(&circumstances(), &mut vec![contender("mmap")], works).is_some());
    }

    #[test]
    fn averages_follow_a_change() {
        let mut figures = Vec::new();
        for _ in 0..10 {
            learn(&mut figures, &circumstances(), &trial(&[("buffered", 1e9), ("mmap", 2e9)]), 1);
        }
        assert!((figures[0].share - 0.5).abs() < 1e-9 && (figures[0].rate - 1e9).abs() < 1.0);
        for _ in 0..10 {
            learn(&mut figures, &circumstances(), &trial(&[("buffered", 4e9), ("mmap", 2e9)]), 1);
        }
        assert!(figures[0].share > 0.95 && figures[1].share < 0.55, "{figures:?}");
    }

    #[test]
    fn the_document_stays_small_and_is_written_once_a_second() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("learned.json");
        let learned = Learned::load(&path);
        for number in 0..1000 {
            let circumstances = Circumstances { file_system: format!("device {number}"), ..circumstances() };
            learned.add(&circumstances, &trial(&[("buffered", 1e9)]));
        }
        learned.save();
        assert!((1000..=LARGEST).contains(&std::fs::metadata(&path).unwrap().len()));
        let before = std::fs::read(&path).unwrap();
        learned.add(&circumstances(), &trial(&[("mmap", 1e9)]));
        learned.save();
        assert_eq!(std::fs::read(&path).unwrap(), before, "a second has not passed");
        assert!(Learned::forget(&path, Some("device 999")).unwrap());
        assert!(!Learned::forget(&path, Some("device 999")).unwrap());
        assert!(Learned::forget(&path, None).unwrap() && !path.exists());
    }

    #[test]
    fn a_document_of_a_later_version_stays() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("learned.json");
        let text = "{\"version\":9,\"figures\":[]}";
        std::fs::write(&path, text).unwrap();
        rest(&path);
        let learned = Learned::load(&path);
        learned.add(&circumstances(), &trial(&[("buffered", 1e9)]));
        learned.save();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    }

    #[cfg(unix)]
    #[test]
    fn figures_of_another_user_are_neither_used_nor_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("learned.json");
        let learned = Learned::load(&path);
        learned.add(&circumstances(), &trial(&[("buffered", 1e9)]));
        learned.save();
        let before = std::fs::read(&path).unwrap();
        rest(&path);
        assert_eq!(Learned::load(&path).figures().len(), 1);
        if std::os::unix::fs::chown(&path, Some(12_345), None).is_err() {
            return println!("skipped: figures of another user: needs root");
        }
        let learned = Learned::load(&path);
        assert_eq!(learned.figures(), []);
        learned.add(&circumstances(), &trial(&[("mmap", 1e9)]));
        learned.save();
        assert_eq!(std::fs::read(&path).unwrap(), before);
    }

    #[cfg(unix)]
    #[test]
    fn a_broken_document_or_place_has_no_effect() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("learned.json");
        for text in ["", "no JSON", "{\"version\":9,\"figures\":[]}", &"x".repeat(LARGEST as usize + 1)] {
            std::fs::write(&path, text).unwrap();
            assert_eq!(Learned::load(&path).figures(), []);
        }
        for place in ["/proc/learned.json", "/dev/null/learned.json"] {
            let learned = Learned::load(Path::new(place));
            learned.add(&circumstances(), &trial(&[("buffered", 1e9)]));
            learned.save();
        }
        // A link is not followed to be written.
        std::fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink("/dev/null", &path).unwrap();
        let learned = Learned::load(&path);
        learned.add(&circumstances(), &trial(&[("buffered", 1e9)]));
        learned.save();
        assert!(std::fs::symlink_metadata(&path).unwrap().is_symlink());
        // A pipe would wait for a writer.
        std::fs::remove_file(&path).unwrap();
        let works = |program: &str, arguments: &[&str]| {
            let mut command = std::process::Command::new(program);
            assert!(command.args(arguments).arg(&path).status().unwrap().success(), "{program}");
        };
        works("mkfifo", &[]);
        works("touch", &["-c", "-t", "202001010000"]);
        let learned = Learned::load(&path);
        learned.add(&circumstances(), &trial(&[("buffered", 1e9)]));
        learned.save();
        assert!(!std::fs::symlink_metadata(&path).unwrap().is_file());
    }
}
