//! The crew: workers over many files, the small ones each by one, the big ones by all, results in the order of the files.

mod file;
mod scratch;
mod turn;

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Condvar, Mutex};

use super::Monitor;
use super::deal::{Dealer, MOST, Player};
use super::threads::{FirstError, Started, on_threads};
use super::window::Window;
use crate::error::{Error, Kind, Result};
use crate::probe;
use crate::strategy::{BUDGET, Plan, Profile, Wish};

pub use scratch::Scratch;
pub use turn::Turn;

/// Who works on one file or many, and how files are read.
///
/// ```
/// use std::ops::ControlFlow;
///
/// use fullbore::file::File;
/// use fullbore::operation::Fold;
/// use fullbore::pattern::{Crew, Monitor};
/// use fullbore::strategy::Wish;
///
/// struct Bytes;
/// impl Fold for Bytes {
///     type State = u64;
///     fn identity(&self) -> u64 { 0 }
///     fn block(&self, count: &mut u64, _offset: u64, bytes: &[u8]) { *count += bytes.len() as u64 }
///     fn merge(&self, left: &mut u64, right: u64) { *left += right }
/// }
///
/// let (wish, monitor) = (Wish::default(), Monitor::default());
/// let mut report = Vec::new();
/// Crew::new(&wish, &monitor).many(
///     ["Cargo.toml", "src/lib.rs"].into_iter(),
///     |path, turn, scratch, crew| {
///         let (_, bytes) = crew.fold(&Bytes, &File::open(path)?, scratch)?;
///         turn.give((path, bytes), 0).map(drop)
///     },
///     |line| {
///         report.push(line);
///         Ok(ControlFlow::Continue(()))
///     },
/// )?;
/// assert_eq!(report[0], ("Cargo.toml", std::fs::metadata("Cargo.toml")?.len()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Crew<'a> {
    workers: usize,
    wish: &'a Wish,
    monitor: &'a Monitor,
    asked: Option<&'a str>,
    profile: Option<&'a Profile>,
    planned: Option<&'a Planned<'a>>,
    /// Whether nothing is wished for that says how a file is read.
    plain: bool,
    /// The place of the file that all workers are at, if there is one.
    big: Mutex<Option<u64>>,
    free: Condvar,
}

/// Told how a file is read.
type Planned<'a> = dyn Fn(&Path, &Plan) + Sync + 'a;

impl<'a> Crew<'a> {
    /// As many workers as are wished for, or else as there are processors.
    ///
    /// ```
    /// use fullbore::pattern::{Crew, Monitor};
    /// let (wish, monitor) = ("workers=3".parse()?, Monitor::default());
    /// assert_eq!(Crew::new(&wish, &monitor).workers(), 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new(wish: &'a Wish, monitor: &'a Monitor) -> Self {
        Self {
            workers: wish.workers.unwrap_or_else(probe::processors).max(1),
            wish,
            monitor,
            asked: None,
            profile: None,
            planned: None,
            plain: Wish { workers: None, budget: None, ..wish.clone() } == Wish::default(),
            big: Mutex::new(None),
            free: Condvar::new(),
        }
    }

    /// With what was measured on this machine, which the choice for large files then uses.
    ///
    /// ```
    /// use fullbore::pattern::{Crew, Monitor};
    /// use fullbore::strategy::Profile;
    /// let (wish, monitor) = (Default::default(), Monitor::default());
    /// let profile = Profile::path().and_then(|path| Profile::load(&path).ok());
    /// let crew = Crew::new(&wish, &monitor).with_profile(profile.as_ref());
    /// # let _ = crew;
    /// ```
    #[must_use]
    pub fn with_profile(self, profile: Option<&'a Profile>) -> Self {
        Self { profile, ..self }
    }

    /// With somebody who is told how each file is read that is not read at once, and `asked`, the words in which the
    /// wish was put.
    ///
    /// ```
    /// use fullbore::pattern::{Crew, Monitor};
    /// let (wish, monitor) = ("request=64K".parse()?, Monitor::default());
    /// let explain = |path: &std::path::Path, plan: &fullbore::strategy::Plan| eprint!("{}:\n{plan}", path.display());
    /// let crew = Crew::new(&wish, &monitor).explained(&explain, Some("request=64K"));
    /// # let _ = crew;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn explained(self, planned: &'a Planned<'a>, asked: Option<&'a str>) -> Self {
        Self { planned: Some(planned), asked, ..self }
    }

    /// How many workers there are.
    ///
    /// ```
    /// use fullbore::pattern::{Crew, Monitor};
    /// let (wish, monitor) = (Default::default(), Monitor::default());
    /// assert!(Crew::new(&wish, &monitor).workers() >= 1);
    /// ```
    pub fn workers(&self) -> usize {
        self.workers
    }

    /// The memory that a run may take, in bytes.
    ///
    /// ```
    /// use fullbore::pattern::{Crew, Monitor};
    /// let (wish, monitor) = ("budget=8M".parse()?, Monitor::default());
    /// assert_eq!(Crew::new(&wish, &monitor).budget(), 8 << 20);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn budget(&self) -> u64 {
        self.wish.budget.unwrap_or(BUDGET)
    }

    /// What others see of the run.
    ///
    /// ```
    /// use fullbore::pattern::{Crew, Monitor};
    /// let (wish, monitor) = (Default::default(), Monitor::default());
    /// assert_eq!(Crew::new(&wish, &monitor).monitor().done(), 0);
    /// ```
    pub fn monitor(&self) -> &'a Monitor {
        self.monitor
    }

    /// Calls `work` for each item, on as many threads as there are workers, and `emit` for what it gives, in the order of the
    /// items, one at a time. Results that wait for their turn keep no more than half of the budget. An error of either
    /// ends it all; what is wrong with one item only is for `work` to give as a result. When `emit` says `Break`, the
    /// rest is left.
    ///
    /// ```
    /// use std::ops::ControlFlow;
    /// use fullbore::pattern::{Crew, Monitor};
    /// let (wish, monitor) = (Default::default(), Monitor::default());
    /// let mut squares = Vec::new();
    /// Crew::new(&wish, &monitor).many(
    ///     1..=4,
    ///     |number, turn, _, _| turn.give(number * number, 0).map(drop),
    ///     |square| {
    ///         squares.push(square);
    ///         Ok(ControlFlow::Continue(()))
    ///     },
    /// )?;
    /// assert_eq!(squares, [1, 4, 9, 16]);
    /// # Ok::<(), fullbore::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of `work` and `emit`; [`Kind::Interrupted`] if the monitor says so.
    pub fn many<T: Send, R: Send>(
        &self,
        items: impl Iterator<Item = T> + Send,
        work: impl Fn(T, &mut Turn<'_, '_, R>, &mut Scratch, &Self) -> Result<()> + Sync,
        emit: impl FnMut(R) -> Result<ControlFlow<()>> + Send,
    ) -> Result<()> {
        self.go_over_plainly(items, MOST, work, emit)
    }

    /// As [`many`](Self::many), for work that needs something which is dear to make, and which a worker uses again for all
    /// its items (a matcher, a table): `make` makes it when the worker has its first item.
    ///
    /// ```
    /// use std::ops::ControlFlow;
    /// use fullbore::pattern::{Crew, Monitor};
    /// let (wish, monitor) = (Default::default(), Monitor::default());
    /// let mut text = String::new();
    /// Crew::new(&wish, &monitor).many_with(
    ///     ["b", "a"].into_iter(),
    ///     || String::with_capacity(80),
    ///     |word, turn, _, line, _| {
    ///         line.clear();
    ///         line.extend([word, "\n"]);
    ///         turn.give(line.clone(), line.len()).map(drop)
    ///     },
    ///     |line| {
    ///         text.push_str(&line);
    ///         Ok(ControlFlow::Continue(()))
    ///     },
    /// )?;
    /// assert_eq!(text, "b\na\n");
    /// # Ok::<(), fullbore::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`many`](Self::many).
    pub fn many_with<T: Send, S, R: Send>(
        &self,
        items: impl Iterator<Item = T> + Send,
        make: impl Fn() -> S + Sync,
        work: impl Fn(T, &mut Turn<'_, '_, R>, &mut Scratch, &mut S, &Self) -> Result<()> + Sync,
        emit: impl FnMut(R) -> Result<ControlFlow<()>> + Send,
    ) -> Result<()> {
        self.go_over(items, MOST, make, work, emit)
    }

    /// As [`many`](Self::many), for items that arrive when somebody sends them, names read from a pipe for example: each is
    /// worked on when it arrives, and never waits for the next one.
    ///
    /// ```
    /// use std::ops::ControlFlow;
    /// use std::sync::mpsc::channel;
    /// use fullbore::pattern::{Crew, Monitor};
    /// let (wish, monitor) = (Default::default(), Monitor::default());
    /// let (questions, arriving) = channel();
    /// questions.send(3)?;
    /// let mut questions = Some(questions);
    /// let mut squares = Vec::new();
    /// Crew::new(&wish, &monitor).many_arriving(
    ///     arriving.into_iter(),
    ///     |number, turn, _, _| turn.give(number * number, 0).map(drop),
    ///     |square| {
    ///         squares.push(square);
    ///         // The next question depends on the answer to the first.
    ///         if let Some(questions) = questions.take() {
    ///             let _ = questions.send(square);
    ///         }
    ///         Ok(ControlFlow::Continue(()))
    ///     },
    /// )?;
    /// assert_eq!(squares, [9, 81]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`many`](Self::many).
    pub fn many_arriving<T: Send, R: Send>(
        &self,
        items: impl Iterator<Item = T> + Send,
        work: impl Fn(T, &mut Turn<'_, '_, R>, &mut Scratch, &Self) -> Result<()> + Sync,
        emit: impl FnMut(R) -> Result<ControlFlow<()>> + Send,
    ) -> Result<()> {
        self.go_over_plainly(items, 1, work, emit)
    }

    /// As [`go_over`](Self::go_over), for workers that need nothing of their own.
    fn go_over_plainly<T: Send, R: Send>(
        &self,
        items: impl Iterator<Item = T> + Send,
        most: usize,
        work: impl Fn(T, &mut Turn<'_, '_, R>, &mut Scratch, &Self) -> Result<()> + Sync,
        emit: impl FnMut(R) -> Result<ControlFlow<()>> + Send,
    ) -> Result<()> {
        let work = |item: T, turn: &mut Turn<'_, '_, R>, scratch: &mut Scratch, (): &mut (), crew: &Self| {
            work(item, turn, scratch, crew)
        };
        self.go_over(items, most, || (), work, emit)
    }

    /// Distributes the items over the workers, each of which takes up to `most` at once.
    fn go_over<T: Send, S, R: Send>(
        &self,
        items: impl Iterator<Item = T> + Send,
        most: usize,
        make: impl Fn() -> S + Sync,
        work: impl Fn(T, &mut Turn<'_, '_, R>, &mut Scratch, &mut S, &Self) -> Result<()> + Sync,
        emit: impl FnMut(R) -> Result<ControlFlow<()>> + Send,
    ) -> Result<()> {
        // Of a few items each has a worker.
        let workers = items.size_hint().1.map_or(self.workers, |most| most.clamp(1, self.workers));
        let room = (self.budget() / 2) as usize;
        let window = Window::new(0, room / 2, Box::new(emit)).with_open(workers);
        let dealer = Dealer::new(items, workers, most);
        let first = FirstError::default();
        let fail = |error: Error| {
            first.put(error);
            window.abandon();
        };
        let allowance = room / 2 / workers;
        let one = |worker: usize, _: &Started| {
            let (mut scratch, mut player, mut made) = (Scratch::default(), Player::new(worker), None);
            let goes_on = || !self.monitor.stopped() && !window.enough().load(Ordering::Relaxed);
            while goes_on() {
                let Some((place, item)) = dealer.deal(&mut player) else { return };
                window.open(worker, place);
                let mut turn = Turn { window: &window, worker, places: place..place, allowance };
                let mut next = Some((place, item));
                while let Some((place, item)) = next {
                    turn.places.end = place + 1;
                    scratch.place = place;
                    let made = made.get_or_insert_with(&make);
                    if let Err(error) = work(item, &mut turn, &mut scratch, made, self) {
                        return fail(error);
                    }
                    next = if goes_on() { dealer.next(&player) } else { None };
                }
                if let Err(error) = turn.end() {
                    return fail(error);
                }
            }
            if self.monitor.stopped() {
                window.abandon();
            }
        };
        on_threads(workers, &one, &|| window.abandon());
        first.result()?;
        self.not_stopped()?;
        window.finish()
    }

    fn not_stopped(&self) -> Result<()> {
        match self.monitor.stopped() {
            true => Err(Error::new(Kind::Interrupted, "finish", "the run", "it was told to stop")),
            false => Ok(()),
        }
    }
}
