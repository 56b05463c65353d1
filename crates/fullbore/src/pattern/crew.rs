//! The crew: workers over many files, the small ones each by one, the big ones by all, results in the order of the files.

use std::ops::{ControlFlow, Range};
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Condvar, Mutex, PoisonError};

use super::deal::{Dealer, Player};
use super::threads::{FirstError, on_threads};
use super::window::Window;
use super::{Monitor, Outcome, fold, fold_bytes, search, search_bytes};
use crate::error::{Error, Kind, Result};
use crate::file::{File, FileKind, Neighbours};
use crate::operation::{Fold, Search, Split};
use crate::probe;
use crate::strategy::{BUDGET, Model, Plan, Profile, Strategy, Wish, plan};

/// Files up to this long are read in one request, in bytes.
const ONE_REQUEST: u64 = 1 << 20;

/// Files up to this long are read by one worker: threads cost more than they bring (as `strategy::choose` has it), in bytes.
const SMALL: u64 = 2 << 20;

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

/// What a large file is read for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Purpose {
    /// Workers fold its parts.
    Fold,
    /// One worker folds it, each step on the one before.
    Steps,
    /// Workers search its parts, and what they find is given out before all of it was read.
    Search,
}

/// What a worker has for small files and uses again and again: memory, and the directory that it is in.
///
/// ```
/// use fullbore::pattern::{Crew, Monitor, Scratch};
/// # use fullbore::operation::Fold;
/// # struct Bytes;
/// # impl Fold for Bytes {
/// #     type State = u64;
/// #     fn identity(&self) -> u64 { 0 }
/// #     fn block(&self, count: &mut u64, _offset: u64, bytes: &[u8]) { *count += bytes.len() as u64 }
/// #     fn merge(&self, left: &mut u64, right: u64) { *left += right }
/// # }
/// let (wish, monitor) = (Default::default(), Monitor::default());
/// let (crew, mut scratch) = (Crew::new(&wish, &monitor), Scratch::default());
/// for path in ["Cargo.toml", "src/lib.rs"] {
///     let file = scratch.open(path)?;
///     assert!(crew.fold(&Bytes, &file, &mut scratch)?.1 > 0);
/// }
/// # Ok::<(), fullbore::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct Scratch {
    bytes: Vec<u8>,
    place: u64,
    neighbours: Neighbours,
}

impl Scratch {
    /// Opens a file for reading: by its name, if it stands in the directory of the one before.
    ///
    /// ```
    /// let mut scratch = fullbore::pattern::Scratch::default();
    /// assert_eq!(scratch.open("src/lib.rs")?.path().to_str(), Some("src/lib.rs"));
    /// # Ok::<(), fullbore::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`File::open`].
    pub fn open(&mut self, path: impl AsRef<Path>) -> Result<File> {
        self.neighbours.open(path)
    }
}

/// A worker's right to give results for one item, which come out in the order of the items.
///
/// ```
/// use std::ops::ControlFlow;
/// use fullbore::pattern::{Crew, Monitor};
/// let (wish, monitor) = (Default::default(), Monitor::default());
/// let mut text = String::new();
/// Crew::new(&wish, &monitor).many(
///     0..3,
///     |number, turn, _, _| {
///         let _ = turn.give(format!("{number}:"), 2)?;
///         turn.give(format!("{} ", number * number), 2).map(drop)
///     },
///     |part: String| {
///         text.push_str(&part);
///         Ok(ControlFlow::Continue(()))
///     },
/// )?;
/// assert_eq!(text, "0:0 1:1 2:4 ");
/// # Ok::<(), fullbore::Error>(())
/// ```
pub struct Turn<'t, 'e, R> {
    window: &'t Window<'e, R>,
    /// The places of the items, this one and the quick ones before it.
    places: Range<u64>,
    held: Vec<R>,
    weight: usize,
    allowance: usize,
}

impl<R> Turn<'_, '_, R> {
    /// Gives one result, which keeps `weight` bytes beside its own size. Before its turn a worker keeps a few; with
    /// more, it waits. `Break`: nobody wants any more.
    ///
    /// ```
    /// # use std::ops::ControlFlow;
    /// # use fullbore::pattern::{Crew, Monitor};
    /// # let (wish, monitor) = (Default::default(), Monitor::default());
    /// # let mut sum = 0;
    /// Crew::new(&wish, &monitor).many(
    ///     [1, 2, 3].into_iter(),
    ///     |number, turn, _, _| turn.give(number, 0).map(drop),
    ///     |number| {
    ///         sum += number;
    ///         Ok(if number == 2 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    ///     },
    /// )?;
    /// assert_eq!(sum, 1 + 2);
    /// # Ok::<(), fullbore::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of whoever takes the results.
    pub fn give(&mut self, result: R, weight: usize) -> Result<ControlFlow<()>> {
        self.held.push(result);
        self.weight += weight + size_of::<R>();
        if self.weight > self.allowance || self.window.is_due(self.places.start) {
            self.weight = 0;
            self.window.part(self.places.start, std::mem::take(&mut self.held))?;
        }
        Ok(match self.window.enough().load(Ordering::Relaxed) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        })
    }

    fn end(self) -> Result<()> {
        self.window.bring(self.places.start, self.places.end, self.weight, self.held)
    }
}

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
        let with_nothing =
            |item: T, turn: &mut Turn<'_, '_, R>, scratch: &mut Scratch, (): &mut (), crew: &Self| {
                work(item, turn, scratch, crew)
            };
        self.many_with(items, || (), with_nothing, emit)
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
        // Of a few items each has a worker.
        let workers = items.size_hint().1.map_or(self.workers, |most| most.clamp(1, self.workers));
        let room = (self.budget() / 2) as usize;
        let window = Window::new(0, room / 2, Box::new(emit));
        let dealer = Dealer::new(items, workers);
        let first = FirstError::default();
        let fail = |error: Error| {
            first.put(error);
            window.abandon();
        };
        let allowance = room / 2 / workers;
        let turn_at =
            |place| Turn { window: &window, places: place..place, held: Vec::new(), weight: 0, allowance };
        let one = |worker: usize| {
            let (mut scratch, mut player, mut made) = (Scratch::default(), Player::new(worker), None);
            let goes_on = || !self.monitor.stopped() && !window.enough().load(Ordering::Relaxed);
            while goes_on() {
                let Some((place, item)) = dealer.deal(&mut player) else { return };
                let (mut turn, mut next) = (turn_at(place), Some((place, item)));
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
        on_threads(workers, &one, &fail);
        first.result()?;
        self.not_stopped()?;
        window.finish()
    }

    /// Folds `operation` over a whole file: a small one is read at once, a large one planned and spread over all workers (one
    /// such file at a time), what has no length is read from front to back.
    ///
    /// ```
    /// # use fullbore::operation::Fold;
    /// # struct Bytes;
    /// # impl Fold for Bytes {
    /// #     type State = u64;
    /// #     fn identity(&self) -> u64 { 0 }
    /// #     fn block(&self, count: &mut u64, _offset: u64, bytes: &[u8]) { *count += bytes.len() as u64 }
    /// #     fn merge(&self, left: &mut u64, right: u64) { *left += right }
    /// # }
    /// use fullbore::file::File;
    /// use fullbore::pattern::{Crew, Monitor, Scratch};
    /// let (wish, monitor) = (Default::default(), Monitor::default());
    /// let crew = Crew::new(&wish, &monitor);
    /// let (outcome, bytes) = crew.fold(&Bytes, &File::open("Cargo.toml")?, &mut Scratch::default())?;
    /// assert_eq!(outcome.bytes, bytes);
    /// # Ok::<(), fullbore::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`fold`](super::fold).
    pub fn fold<F: Fold>(
        &self,
        operation: &F,
        input: &File,
        scratch: &mut Scratch,
    ) -> Result<(Outcome, F::State)> {
        let len = input.seekable_len()?;
        match self.at_once(input, len, scratch)? {
            Some(bytes) => Ok((
                Outcome { bytes: bytes.len() as u64, ..Outcome::default() },
                fold_bytes(operation, bytes),
            )),
            None => {
                let purpose =
                    if operation.split() == Split::Sequential { Purpose::Steps } else { Purpose::Fold };
                self.with_plan(input, len, scratch.place, purpose, |strategy| {
                    fold(operation, input, strategy, self.monitor)
                })
            }
        }
    }

    /// Searches a whole file, as [`fold`](Self::fold) folds it; `emit` is given the results in the order of the file.
    ///
    /// ```
    /// # use fullbore::operation::{Part, Search};
    /// # struct Lines;
    /// # impl Search for Lines {
    /// #     type Found = usize;
    /// #     fn search(&self, part: &Part<'_>) -> usize { part.own().iter().filter(|&&byte| byte == b'\n').count() }
    /// # }
    /// use std::ops::ControlFlow;
    /// use fullbore::file::File;
    /// use fullbore::pattern::{Crew, Monitor, Scratch};
    /// let (wish, monitor) = (Default::default(), Monitor::default());
    /// let (crew, mut lines) = (Crew::new(&wish, &monitor), 0);
    /// crew.search(&Lines, &File::open("Cargo.toml")?, &mut Scratch::default(), |count| {
    ///     lines += count;
    ///     Ok(ControlFlow::Continue(()))
    /// })?;
    /// assert!(lines > 10);
    /// # Ok::<(), fullbore::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`search`](super::search).
    pub fn search<S: Search>(
        &self,
        operation: &S,
        input: &File,
        scratch: &mut Scratch,
        emit: impl FnMut(S::Found) -> Result<ControlFlow<()>> + Send,
    ) -> Result<Outcome> {
        let len = input.seekable_len()?;
        match self.at_once(input, len, scratch)? {
            Some(bytes) => {
                search_bytes(operation, bytes, emit)?;
                Ok(Outcome { bytes: bytes.len() as u64, ..Outcome::default() })
            }
            None => self.with_plan(input, len, scratch.place, Purpose::Search, |strategy| {
                search(operation, input, strategy, self.monitor, emit)
            }),
        }
    }

    /// The bytes of a small regular file; `None` for all others, and where it matters by which method it is read.
    fn at_once<'s>(
        &self,
        input: &File,
        len: Option<u64>,
        scratch: &'s mut Scratch,
    ) -> Result<Option<&'s [u8]>> {
        let Some(len) = len.filter(|&len| len <= ONE_REQUEST) else { return Ok(None) };
        if input.kind() != FileKind::Regular || !self.plain || self.planned.is_some() {
            return Ok(None);
        }
        self.not_stopped()?;
        // One byte more tells a file that grows.
        scratch.bytes.resize(ONE_REQUEST as usize + 1, 0);
        let mut read = 0;
        while read < len as usize {
            match input.read_at(&mut scratch.bytes[read..], read as u64)? {
                0 => {
                    let what = "the file became shorter while it was read";
                    return Err(Error::new(Kind::Changed, "read", input.path(), what).at(read as u64));
                }
                count => read += count,
            }
        }
        if read as u64 != len {
            let what = "the file became longer while it was read";
            return Err(Error::new(Kind::Changed, "trust", input.path(), what).at(len));
        }
        self.monitor.add(len);
        Ok(Some(&scratch.bytes[..read]))
    }

    /// Runs `job` with the strategy for a file that is not read at once.
    fn with_plan<T>(
        &self,
        input: &File,
        len: Option<u64>,
        place: u64,
        purpose: Purpose,
        job: impl FnOnce(&Strategy) -> Result<T>,
    ) -> Result<T> {
        if self.plain
            && self.planned.is_none()
            && len.is_some_and(|len| len < SMALL)
            && input.kind() == FileKind::Regular
        {
            return job(&Strategy::plain());
        }
        let mut plan = plan(Some(input), len, None, self.wish, self.asked, self.profile)?;
        if purpose == Purpose::Fold && plan.strategy.model != Model::Striped {
            plan = plan.for_comparing(input, self.wish);
        }
        if purpose == Purpose::Steps && plan.strategy.workers > 1 {
            // The other workers are free for other files.
            plan.notes.push("workers=1: each step needs the one before".into());
            plan.strategy.workers = 1;
        }
        let all = plan.strategy.workers > 1 && self.workers > 1;
        let alone = if all { self.alone(place) } else { None };
        if all && alone.is_none() {
            plan.notes.push("workers=1: the others are at a file that comes later".into());
            plan.strategy.workers = 1;
        }
        if let Some(planned) = self.planned {
            planned(input.path(), &plan);
        }
        job(&plan.strategy)
    }

    /// Waits until no other file has all workers. `None` where one has them whose results come later than those of the file
    /// at `place`: it may have to wait for this one.
    fn alone(&self, place: u64) -> Option<Alone<'_>> {
        let mut big = self.big.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(other) = *big {
            if other > place {
                return None;
            }
            big = self.free.wait(big).unwrap_or_else(PoisonError::into_inner);
        }
        *big = Some(place);
        Some(Alone { big: &self.big, free: &self.free })
    }

    fn not_stopped(&self) -> Result<()> {
        match self.monitor.stopped() {
            true => Err(Error::new(Kind::Interrupted, "finish", "the run", "it was told to stop")),
            false => Ok(()),
        }
    }
}

/// One file has all workers, until this is dropped.
struct Alone<'c> {
    big: &'c Mutex<Option<u64>>,
    free: &'c Condvar,
}

impl Drop for Alone<'_> {
    fn drop(&mut self) {
        *self.big.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.free.notify_all();
    }
}
