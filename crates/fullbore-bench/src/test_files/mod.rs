//! The test files: a directory of the meter with the files that trials read and write.

mod creator;
mod device;
mod directory;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use self::creator::FileCreator;
use self::device::ExclusiveDevice;
use self::directory::{OwnDirectory, Watchdog};
use fullbore::error::{Error, ErrorKind};
use fullbore::file::{Durability, File, Output, Temporary};
use fullbore::operation::Generate;
use fullbore::operation::generate::{Random, Text};
use fullbore::pattern::{self, Progress, Scope};
use fullbore::strategy::{ADAPTIVE, Planner, Purpose, Strategy, StrategySpec};
use fullbore::{Result, probe, size, sys};

/// Minimum length of a test file, in bytes.
const SMALLEST: u64 = 16 << 20;

/// Maximum length of the files of transformations, in bytes: large compared with every cache, quick enough for the run.
const TRANSFORMED: u64 = 256 << 20;

/// Length of a line of text files, in bytes.
const LINE: NonZeroU64 = NonZeroU64::new(80).unwrap();

const EVICT_ATTEMPTS: u32 = 20;

/// Number of small files of a length: enough for a pool of workers to grow, few enough to be created for a run.
pub(crate) const SMALL_FILES: u64 = 256;

/// Maximum duration of a cold transformation, in seconds.
const MOMENT: f64 = 0.35;

/// Maximum duration of a cold transformation that tries strategies, in seconds: trials pay off less in a short run.
const ADAPTIVE_MOMENT: f64 = 1.0;

/// The test files. Trials use a part of the long ones, a different one in each iteration.
#[derive(Debug)]
pub(crate) struct TestFiles {
    /// The file for warm reads, which is in the page cache.
    pub(crate) warm: File,
    /// The file for cold reads and for transfers that bypass the page cache; it is not in the page cache.
    pub(crate) cold: File,
    /// The file that is overwritten through the page cache, which holds it.
    pub(crate) written: File,
    /// Warm input of transformations.
    pub(crate) input: File,
    /// Cold input of transformations.
    pub(crate) cold_input: File,
    /// Existing output of transformations.
    pub(crate) output: PathBuf,
    /// New output of transformations, which does not exist.
    pub(crate) fresh: PathBuf,
    /// Length of the long files in bytes.
    pub(crate) len: u64,
    /// Length of the files of transformations in bytes.
    pub(crate) transform_len: u64,
    /// True if the file system keeps its files in memory.
    pub(crate) in_memory: bool,
    /// Throughput at which the first file was written, in bytes per second.
    pub(crate) pace: f64,
    pub(crate) notes: Vec<String>,
    /// Files of other lengths, created on first use.
    sized: RefCell<BTreeMap<(String, u64), File>>,
    /// Small files by their length, created on first use.
    small: RefCell<BTreeMap<u64, Vec<File>>>,
    seed: u64,
    // Dropped last, files before their directory.
    temporaries: RefCell<Vec<Temporary>>,
    backing: Backing,
}

#[derive(Debug)]
enum Backing {
    /// A directory of the meter, removed before its watchdog ends.
    Directory { directory: OwnDirectory, _watchdog: Option<Watchdog> },
    /// A whole block device, opened exclusively.
    Device { path: PathBuf, _device: ExclusiveDevice },
}

/// Test files that the trials use; the others are not created.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Needs {
    pub(crate) warm: bool,
    pub(crate) written: bool,
    pub(crate) transformed: bool,
    /// Two identical texts of the length of the files of transformations, and room for a copy.
    pub(crate) texts: bool,
    /// A file that grows up to the length of the long files.
    pub(crate) fresh: bool,
    /// True if the planner must have contenders for the files of transformations: they are longer, and as long as the
    /// others if the length is set.
    pub(crate) adaptive: bool,
    /// Bytes that trials create themselves.
    pub(crate) extra: u64,
}

impl Needs {
    /// Returns the needs of both; for files that trials create themselves, the larger.
    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            warm: self.warm || other.warm,
            written: self.written || other.written,
            transformed: self.transformed || other.transformed,
            texts: self.texts || other.texts,
            fresh: self.fresh || other.fresh,
            adaptive: self.adaptive || other.adaptive,
            extra: self.extra.max(other.extra),
        }
    }

    /// Returns the space for test files of `len` bytes, in bytes. A transformation has three files, and a new output
    /// exists together with the one that it replaces.
    pub(crate) fn bytes(self, len: u64) -> u64 {
        let long = 1 + u64::from(self.warm) + u64::from(self.written) + u64::from(self.fresh);
        let whole = if self.adaptive { len } else { len.min(TRANSFORMED) };
        let transformed = if self.transformed { whole.saturating_mul(4) } else { 0 };
        // Two texts, a copy, and texts for cold reads alone.
        let count = if sys::DROPS_BY_REOPENING { 5 } else { 3 };
        let texts = if self.texts { whole.saturating_mul(count) } else { 0 };
        long.saturating_mul(len).saturating_add(transformed).saturating_add(texts).saturating_add(self.extra)
    }
}

/// Chooses the length of the long files in bytes by memory and free space, which `sharing` directories share.
pub(crate) fn suggest(
    directory: &Path,
    memory: u64,
    (free, sharing): (u64, u64),
    total: u64,
    in_memory: bool,
    needs: Needs,
) -> Result<u64> {
    let room = free.saturating_sub(reserve(total)) / sharing;
    // Files of a file system in memory use the same memory as the page cache.
    let memory = if in_memory { memory / 4 } else { memory };
    let mut len = 1u64 << 30;
    while len > SMALLEST && (needs.bytes(len) > memory / 2 || needs.bytes(len) > room / 2) {
        len /= 2;
    }
    check(directory, len, free, total, needs).map(|()| len)
}

/// The bytes that test files leave free: a full file system is slower, and others need space.
fn reserve(total: u64) -> u64 {
    (total / 10).min(10_000_000_000)
}

/// Refuses test files that would leave less than the [`reserve`] free.
pub(crate) fn check(directory: &Path, len: u64, free: u64, total: u64, needs: Needs) -> Result<()> {
    let needed = needs.bytes(len);
    if len < SMALLEST {
        let what = format!("a file of {} is too small to measure", size::human(len));
        return Err(Error::new(ErrorKind::Invalid, "measure", directory, what)
            .advise(format!("set --size to {} or more", size::exact(SMALLEST))));
    }
    if free.saturating_sub(needed) < reserve(total) {
        let what = format!(
            "{} of test files would leave less than {} free ({} of {} are free now)",
            size::human(needed),
            size::human(reserve(total)),
            size::human(free),
            size::human(total)
        );
        let smaller = if len > SMALLEST { ", set a smaller --size" } else { "" };
        return Err(Error::new(ErrorKind::NoSpace, "measure", directory, what)
            .advise(format!("free some space{smaller} or name another --dir")));
    }
    Ok(())
}

/// True if the first file ends after `done` bytes, written in `time`: at a power of two, so that two runs on one machine
/// have the same length, unless twice as many fit into `patience`.
fn ends_here(done: u64, time: Duration, patience: Duration) -> bool {
    done >= SMALLEST && done.is_power_of_two() && 2 * time > patience
}

impl TestFiles {
    #[cfg(test)]
    pub(crate) fn of_test(parent: &Path, len: u64, needs: Needs) -> Self {
        Self::make(parent, len, None, 1, needs, None, &Progress::default()).unwrap()
    }

    /// Creates the files in a new directory within `parent`, smaller ones if writing takes longer than `patience`. Without
    /// `transform_len`, the pace of writing determines the length of the files of transformations.
    ///
    /// # Errors
    /// The system's; [`ErrorKind::Unsupported`] if the written files have holes or are not on the device as written.
    pub(crate) fn make(
        parent: &Path,
        len: u64,
        patience: Option<Duration>,
        seed: u64,
        needs: Needs,
        transform_len: Option<u64>,
        progress: &Progress,
    ) -> Result<Self> {
        let mut notes = Vec::new();
        let directory = OwnDirectory::create(parent, seed, &mut notes)?;
        let watchdog = Watchdog::spawn(directory.named());
        let mut creator = FileCreator { directory: &directory, seed, temporaries: Vec::new(), progress };
        let start = Instant::now();
        // The first file is written in steps: its speed predicts the time of the others.
        let is_enough = |done| patience.is_some_and(|patience| ends_here(done, start.elapsed(), patience));
        let cold = creator.file("cold", len, is_enough)?;
        let made = cold.stamp()?.len;
        if made < len {
            notes.push(format!(
                "test files have {} instead of {}: the time of the run permits no more",
                size::human(made),
                size::human(len)
            ));
        }
        let len = made;
        // Transformations process whole files, so these are short enough for a sample.
        let pace = len as f64 / start.elapsed().as_secs_f64();
        let (moment, least) = if needs.adaptive { (ADAPTIVE_MOMENT, ADAPTIVE) } else { (MOMENT, SMALLEST) };
        let moment = ((pace * moment) as u64).next_multiple_of(1 << 20);
        let transform_len = match transform_len {
            Some(known) => known.min(len),
            None if needs.adaptive && patience.is_none() => len,
            None => moment.clamp(least, TRANSFORMED).min(len),
        };
        // A file that no trial uses is replaced by an existing one.
        // Trials reopen the files; others would keep the pages of those that are evicted.
        let cold = cold.evictable();
        let mut file = |needed: bool, name, len| {
            if needed { creator.file(name, len, |_| false) } else { Ok(cold.clone()) }
        };
        let warm = file(needs.warm, "warm", len)?;
        let written = file(needs.written, "written", len)?;
        let input = file(needs.transformed, "input", transform_len)?;
        let cold_input = file(needs.transformed, "cold-input", transform_len)?.evictable();
        let output = file(needs.transformed, "output", transform_len)?.path().to_owned();
        let fresh = directory.path.join("fresh");
        let temporaries = creator.temporaries;
        let in_memory = probe::in_memory(&cold);
        let seed = seed.wrapping_add(1000);
        let backing = Backing::Directory { directory, _watchdog: watchdog };
        let temporaries = RefCell::new(temporaries);
        let of_one = Self::of_one(cold, len, (pace, seed), notes, backing);
        Ok(Self {
            warm,
            written,
            input,
            cold_input,
            output,
            fresh,
            transform_len,
            in_memory,
            temporaries,
            ..of_one
        })
    }

    /// Creates test files that are all one file.
    fn of_one(cold: File, len: u64, (pace, seed): (f64, u64), notes: Vec<String>, backing: Backing) -> Self {
        Self {
            warm: cold.clone(),
            written: cold.clone(),
            input: cold.clone(),
            cold_input: cold.clone(),
            output: cold.path().to_owned(),
            fresh: cold.path().to_owned(),
            cold,
            len,
            transform_len: len.min(TRANSFORMED),
            in_memory: false,
            pace,
            notes,
            sized: RefCell::default(),
            small: RefCell::default(),
            seed,
            temporaries: RefCell::default(),
            backing,
        }
    }

    /// Opens a whole block device with the serial number `serial`, and writes its first `len` bytes, or all of it if
    /// `None`: blocks never written would not be read from the medium.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] if the device is in use or has data, or has another serial number; the system's.
    pub(crate) fn on_device(
        path: &Path,
        serial: &str,
        len: Option<u64>,
        seed: u64,
        progress: &Progress,
    ) -> Result<Self> {
        let device = device::take(path, serial)?;
        let mut notes = vec![format!("{} was measured as a whole block device", path.display())];
        if let Some(len) = len.filter(|len| *len > device.len) {
            let (whole, wanted) = (size::human(device.len), size::human(len));
            notes.push(format!("the device has {whole}, not the {wanted} of --size: measured to its end"));
        }
        let len = len.unwrap_or(device.len).min(device.len) >> 20 << 20;
        if len < SMALLEST {
            let what = format!("a device of {} is too small to measure", size::human(len));
            return Err(Error::new(ErrorKind::Invalid, "measure", path, what));
        }
        let output = Output::overwrite(path)?;
        let planned =
            Planner::new(&StrategySpec::default()).plan(Purpose::Generate, None, Some(len), Some(&output))?;
        let scope = Scope::whole(len);
        let start = Instant::now();
        pattern::fill(&Random::new(seed), &scope, &output, &planned.strategy, progress, &false.into())?;
        output.commit_len(len, Durability::Data)?;
        let pace = len as f64 / start.elapsed().as_secs_f64();
        let backing = Backing::Device { path: path.to_owned(), _device: device };
        let of_one = Self::of_one(File::open(path)?, len, (pace, seed), notes, backing);
        Ok(Self { written: File::open_write(path)?, ..of_one })
    }

    /// Returns the meter's directory; its contents are removed with it.
    pub(crate) fn directory(&self) -> &Path {
        match &self.backing {
            Backing::Directory { directory, .. } => &directory.path,
            Backing::Device { path, .. } => path.parent().unwrap_or(path),
        }
    }

    /// Returns the path of the directory, or of the device, for messages and keys.
    pub(crate) fn named(&self) -> &Path {
        match &self.backing {
            Backing::Directory { directory, .. } => directory.named(),
            Backing::Device { path, .. } => path,
        }
    }

    /// Refuses trials that need files if the target is a block device.
    pub(crate) fn has_files(&self) -> Result<()> {
        self.own_directory().map(drop)
    }

    /// Returns the directory; fails if the target is a block device.
    fn own_directory(&self) -> Result<&OwnDirectory> {
        match &self.backing {
            Backing::Directory { directory, .. } => Ok(directory),
            Backing::Device { path, .. } => {
                let what = "a block device cannot hold files; its blocks are read and overwritten";
                Err(Error::new(ErrorKind::Unsupported, "measure", path, what))
            }
        }
    }

    /// Removes the new file of a sample, if it made one.
    pub(crate) fn remove_fresh(&self) {
        // On a block device, the path would be the device's own.
        if self.has_files().is_ok() {
            let _ = std::fs::remove_file(&self.fresh);
        }
    }

    /// Returns a file of `len` random bytes for a purpose, created on first use. The needs' `extra` includes its space.
    pub(crate) fn random_file(&self, purpose: &str, len: u64) -> Result<File> {
        let seed = self.seed.wrapping_add(self.temporaries.borrow().len() as u64 + 1);
        self.sized_file(purpose, len, &format!("{purpose}-{len}"), true, || Random::new(seed))
    }

    /// Returns a text of the length of the files of transformations, the same for every `name`, created on first use; for `cold`
    /// reads a file of its own where pages are dropped only if all handles bypass the cache: those of the other must stay.
    pub(crate) fn text_file(&self, name: &'static str, cold: bool) -> Result<File> {
        let evictable = cold && sys::DROPS_BY_REOPENING;
        let name = if evictable { &format!("cold-{name}") } else { name };
        self.sized_file(name, self.transform_len, name, evictable, || Text::new(self.seed, LINE))
    }

    fn sized_file<G: Generate>(
        &self,
        purpose: &str,
        len: u64,
        name: &str,
        evictable: bool,
        content: impl FnOnce() -> G,
    ) -> Result<File> {
        let directory = self.own_directory()?;
        if let Some(file) = self.sized.borrow().get(&(purpose.to_owned(), len)) {
            return Ok(file.clone());
        }
        let progress = Progress::default();
        let mut creator = FileCreator { directory, seed: 0, temporaries: Vec::new(), progress: &progress };
        let file = creator.fill(name, &content(), len, |_| false)?;
        let file = if evictable { file.evictable() } else { file };
        self.temporaries.borrow_mut().append(&mut creator.temporaries);
        self.sized.borrow_mut().insert((purpose.to_owned(), len), file.clone());
        Ok(file)
    }

    /// Returns [`SMALL_FILES`] files of this length in a directory of their own, created and flushed on first use.
    pub(crate) fn small_files(&self, len: u64) -> Result<Vec<File>> {
        self.has_files()?;
        if let Some(files) = self.small.borrow().get(&len) {
            return Ok(files.clone());
        }
        let path = self.directory().join(format!("small-{len}"));
        let (directory, ()) = Temporary::make_tree(path, |path| {
            std::fs::create_dir(path).map_err(|error| Error::io("make", path, error))
        })?;
        let mut data = vec![0; len as usize];
        let mut files = Vec::new();
        for number in 0..SMALL_FILES {
            Random::new(self.seed.wrapping_add(number)).fill(0, &mut data);
            let file = File::create_new(directory.path().join(number.to_string()))?;
            file.write_all_at(&data, 0)?;
            files.push(file);
        }
        // With all blocks written, one commit of a journal covers every file.
        files.iter().try_for_each(File::write_back)?;
        files.iter().try_for_each(File::sync_data)?;
        let files: Vec<File> = files.into_iter().map(File::evictable).collect();
        self.temporaries.borrow_mut().push(directory);
        self.small.borrow_mut().insert(len, files.clone());
        Ok(files)
    }

    pub(crate) fn remove_sized(&self) {
        let sized = std::mem::take(&mut *self.sized.borrow_mut()).into_values();
        let mut paths: Vec<PathBuf> = sized.map(|file| file.path().to_owned()).collect();
        let small = std::mem::take(&mut *self.small.borrow_mut()).into_values();
        paths.extend(small.filter_map(|files| Some(files.first()?.path().parent()?.to_owned())));
        self.temporaries.borrow_mut().retain(|temporary| !paths.iter().any(|path| path == temporary.path()));
    }

    /// Flushes written data to the device, so that the next round does not include writes of the last.
    pub(crate) fn flush(&self) -> Result<()> {
        let Ok(directory) = self.own_directory() else { return self.written.sync_data() };
        let flush = || {
            self.written.sync_data()?;
            File::open_write(&self.output)?.sync_data()?;
            self.sized.borrow().values().try_for_each(|file| File::open_write(file.path())?.sync_data())
        };
        flush().map_err(|error| directory.shown(error))
    }

    /// Makes a range of a file warm by reading it.
    pub(crate) fn load_into_cache(file: &File, range: &Range<u64>) -> Result<()> {
        if probe::residency(file, range.clone()).is_ok_and(|held| held.cached == held.total) {
            return Ok(());
        }
        Self::read(file, range, pattern::Order::Sequential)
    }

    /// Makes only a range of a file warm: reads it in an order for which the system does not read
    /// ahead.
    pub(crate) fn load_exactly_into_cache(file: &File, range: &Range<u64>) -> Result<()> {
        Self::read(file, range, pattern::Order::Random { seed: 0, count: u64::MAX })
    }

    fn read(file: &File, range: &Range<u64>, order: pattern::Order) -> Result<()> {
        let scope = Scope { range: range.clone(), order };
        let (plain, progress) = (Strategy::plain(), Progress::default());
        pattern::visit(file, &scope, &plain, &progress, &false.into(), || (), |(), _, _| ()).map(drop)
    }

    /// Makes a file cold: evicts its pages, which needs no root privileges once they are clean. For an administrator of Windows,
    /// also those of other files that no program uses, because dropping by reopening leaves some pages there.
    pub(crate) fn evict_from_cache(file: &File) -> Result<()> {
        let len = file.stamp()?.len;
        file.sync_data()?;
        for _ in 0..EVICT_ATTEMPTS {
            file.drop_cache()?;
            match probe::residency(file, 0..len) {
                // Pages under I/O remain briefly.
                Ok(held) if held.cached > 0 => std::thread::sleep(Duration::from_millis(1)),
                _ => break,
            }
        }
        // Without the privilege the sample stays unproved.
        let _ = sys::purge_unused_pages();
        Ok(())
    }
}
