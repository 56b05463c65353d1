//! The facts on which the choice of a strategy depends.

use fullbore_io::buf::{HUGE_PAGE, Pool};
use fullbore_io::engine::{CachePolicy, deep_method};
use fullbore_io::names;
use serde::{Deserialize, Serialize};

use super::evidence::{Serial, Unallocated};
use super::fields::{BUDGET, Strategy};
use super::job::{InputState, ProfileJob};

/// The purpose of a run: the pattern that the bytes pass through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Purpose {
    /// Reading alone, or measuring it.
    Read,
    /// Comparing two files.
    Compare,
    /// Counting, and every other pass that is not a hash.
    Fold,
    /// Hashing.
    Hash,
    /// Searching.
    Search,
    /// Transforming into a new file or over an existing one, depending on the target.
    Transform,
    /// Copying.
    Copy,
    /// Generating: there is no input.
    Generate,
}

names!(Purpose {
    Read = "read",
    Compare = "compare",
    Fold = "fold",
    Hash = "hash",
    Search = "search",
    Transform = "transform",
    Copy = "copy",
    Generate = "generate",
});

impl Purpose {
    /// True if each byte is used once and not kept, so that a mapping saves the copy that reading makes.
    pub fn views(self) -> bool {
        matches!(self, Self::Compare | Self::Fold | Self::Hash | Self::Search)
    }
}

/// The destination of the bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Target {
    /// No output.
    Nowhere,
    /// A pipe or device, in order.
    Stream,
    /// A new file.
    New,
    /// The blocks of an existing file.
    Existing,
}

impl Target {
    /// True if workers write to their own places of a file.
    pub(super) fn is_file(self) -> bool {
        matches!(self, Self::New | Self::Existing)
    }
}

/// The facts on which a decision depends.
#[derive(Debug, Clone, PartialEq)]
pub struct PlanInput {
    /// The pattern.
    pub purpose: Purpose,
    /// The input's length in bytes; `None` if it is read sequentially to its end.
    pub len: Option<u64>,
    /// The share of the input in the page cache, 0 to 1; `None` without an input file, if the system does not report
    /// it, and where the decision does not depend on it.
    pub cached: Option<f64>,
    /// The destination.
    pub target: Target,
    /// The reason why the blocks of a new target are not allocated before they are written, if there is one.
    pub unallocated: Option<Unallocated>,
    /// The number of processors that this process may use; 1 where the decision does not depend on it.
    pub processors: usize,
    /// Memory for buffers, in bytes.
    pub budget: u64,
    /// True if the input is on rotational media.
    pub rotational: bool,
    /// The reason that asynchronous direct reading cannot be used on the input, if so.
    pub no_deep_reads: Option<String>,
    /// True if the input can be mapped, and a mapping may be chosen.
    pub can_map: bool,
    /// The reason for one worker, if there is one.
    pub serial: Option<Serial>,
    /// The number of bytes of which the lengths of parts are multiples.
    pub unit: usize,
    /// The stripes that are hashed or verified as units, if they are.
    pub units: Option<Units>,
    /// True if the run may try several strategies: it is long or one of many, and the user leaves the choice open.
    pub adapts: bool,
    /// True for one of many files, whose strategies are tried on whole files, too.
    pub among_files: bool,
}

/// Stripes that a worker reads, hashes and writes one at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Units {
    /// Length of each stripe in bytes.
    pub len: u64,
    /// True if each stripe is read back from the device, for which its worker waits.
    pub read_back: bool,
}

impl Units {
    /// Returns the memory of a worker in bytes: two stripes, one copied and one read back. On huge pages they take whole ones.
    pub(crate) fn memory(self) -> u64 {
        let len = usize::try_from(self.len).unwrap_or(usize::MAX);
        let memory = Pool::capacity(len).saturating_mul(2) as u64;
        if Pool::on_huge_pages(2, len, false) { memory.next_multiple_of(HUGE_PAGE as u64) } else { memory }
    }
}

impl PlanInput {
    /// Returns the facts of a cached file of `len` bytes, read with one processor: the base of tests and examples.
    pub fn reading(len: u64) -> Self {
        Self {
            purpose: Purpose::Read,
            len: Some(len),
            cached: Some(1.0),
            target: Target::Nowhere,
            unallocated: None,
            processors: 1,
            budget: BUDGET,
            rotational: false,
            no_deep_reads: None,
            can_map: true,
            serial: None,
            unit: 1,
            units: None,
            adapts: false,
            among_files: false,
        }
    }

    /// The number of workers that these facts allow: one per processor, up to the number beyond which more do not help.
    pub(super) fn workers(&self) -> usize {
        let most = if self.len.is_none() { MOST_ON_STREAM } else { MOST_WORKERS };
        match self.serial {
            Some(_) => 1,
            None => self.processors.clamp(1, most),
        }
    }

    /// Returns the kind of job, as in profiles; `None` for an input without a length, and without an input.
    pub fn job(&self) -> Option<ProfileJob> {
        let state = if self.is_cold() { InputState::Cold } else { InputState::Warm };
        self.len?;
        match (self.purpose, self.target) {
            (Purpose::Generate, _) => None,
            (Purpose::Read, _) => Some(ProfileJob::Read(state)),
            (Purpose::Search, _) => Some(ProfileJob::Search(state)),
            (Purpose::Hash, _) => Some(ProfileJob::Hash(state)),
            (Purpose::Compare, _) => Some(ProfileJob::Compare(state)),
            // A pipe uses each byte once, too.
            (Purpose::Fold, _) | (_, Target::Nowhere | Target::Stream) => Some(ProfileJob::Scan(state)),
            (Purpose::Copy, _) => Some(ProfileJob::Copy(state)),
            (Purpose::Transform, Target::New) => Some(ProfileJob::TransformNew(state)),
            (Purpose::Transform, Target::Existing) => Some(ProfileJob::TransformExisting(state)),
        }
    }

    /// True if the device limits the throughput, not the memory.
    pub(crate) fn is_cold(&self) -> bool {
        self.cached.is_some_and(|cached| cached < COLD)
    }

    /// True if almost nothing is cached.
    pub(crate) fn is_uncached(&self) -> bool {
        let ahead = self.len.map_or(0.0, |len| (READ_AHEAD / len.max(1) as f64).min(MOST_AHEAD));
        self.cached.is_some_and(|cached| cached < ahead.max(NONE))
    }

    /// True if a mapping hardly waits for the device.
    pub(crate) fn is_cached(&self) -> bool {
        self.cached.is_some_and(|cached| cached >= CACHED)
    }

    /// True if a part is cached and a part is not.
    pub(super) fn is_mixed(&self) -> bool {
        self.cached.is_some() && !self.is_cached() && !self.is_uncached()
    }

    /// True if a file too short for trials is read in two ways: what is cached, and what is not.
    pub(super) fn has_halves(&self) -> bool {
        self.adapts && !self.among_files && self.is_short() && self.is_mixed()
    }

    /// True if the file is too short to try several strategies on it.
    pub(crate) fn is_short(&self) -> bool {
        self.len.is_some_and(|len| len < ADAPTIVE)
    }

    /// True for a file of a length with which only a short trial pays, if there is one: a mapping and copies are compared, which no
    /// device delays.
    pub(super) fn has_short_trial(&self) -> bool {
        self.adapts && self.is_short_view() && self.len.is_some_and(|len| len >= SHORT_TRIAL)
    }

    /// True if a file too short for long trials can be mapped and is in the page cache: then figures of longer files hold for it.
    pub(super) fn is_short_view(&self) -> bool {
        let len = self.len.is_some_and(|len| (MIXED..ADAPTIVE).contains(&len));
        len && self.can_map
            && self.is_cached()
            && self.purpose.views()
            && !self.among_files
            && self.units.is_none()
    }

    /// Deep reads by one worker that bypass the page cache, if they work on the input; the other fields are those of `base`.
    pub(super) fn deep_reads(&self, base: &Strategy) -> Option<Strategy> {
        if self.no_deep_reads.is_some() {
            return None;
        }
        // On shared storage the best depth varies from hour to hour: 20 to 200 MB took 0.72 to 1.1 of the time with 8 MiB in
        // flight instead of 1.75 MiB. In a shorter run the allocation of the buffers takes a noticeable share: seven of 256 KiB,
        // with the room for unaligned ends, fit one huge page.
        let (request, depth, requests): (usize, usize, usize) = match self.len {
            Some(len) if len < MIXED => (256 << 10, 7, 7),
            // With short stripes the workers end together. Two files keep the device as busy with half the requests each.
            _ if self.is_short() && self.purpose == Purpose::Compare => (1 << 20, 4, 1),
            _ if self.is_short() => (1 << 20, 8, 1),
            _ => (1 << 20, 8, 8),
        };
        Some(Strategy {
            read: deep_method(),
            read_cache: CachePolicy::Direct,
            request,
            depth,
            stripe: (requests * request) as u64,
            ..base.clone()
        })
    }

    /// True if the run is too short for a choice to pay.
    pub(super) fn is_small(&self) -> bool {
        self.len.is_some_and(|len| len < SMALL)
    }
}

/// Below this cached share an input counts as cold.
const COLD: f64 = 0.5;

/// Below this cached share an input counts as not cached: an earlier access may have left a page or two.
const NONE: f64 = 0.02;

/// The bytes that the kernel may read ahead when the start of a file is read, to see what it contains.
const READ_AHEAD: f64 = (8 << 20) as f64;

/// The largest share that these bytes may be of a file that counts as not cached.
const MOST_AHEAD: f64 = 0.1;

/// From this cached share on, a mapping hardly waits for the device.
const CACHED: f64 = 0.98;

/// Below this length starting threads takes longer than it saves, and so do plans and allocations, in bytes.
pub const SMALL: u64 = 2 << 20;

/// The most workers with which a run over one file starts, and that copy a tree: more gained nothing in measurements, because the
/// locks of files and file systems and the memory are the limits. A long run may try more, up to the number of processors.
pub(crate) const MOST_WORKERS: usize = 8;

/// One worker reads an input without a length while another works on the bytes before.
const MOST_ON_STREAM: usize = 2;

/// Mapped part of a file per worker, in bytes, with stripes as long: 16 MiB took 0.93 (`wc`, `grep`), 0.975 (`sum`) and 1.00
/// (`cmp`) of the time of 8 MiB, as did 32 MiB, on Intel processors, and as long on AMD processors (1 GB, two processors, kernel
/// 6.18). Each part that is unmapped interrupts the other processors.
const WINDOW: u64 = 16 << 20;

/// The mapped part of each worker within the memory, in whole requests; each worker needs memory for one request besides it.
pub(super) fn mapped_part(budget: u64, workers: u64, request: u64) -> u64 {
    let room = (budget / workers).saturating_sub(request + (8 << 10));
    // Stripes of a long run end at powers of two: 14 MiB would be cut to 8.
    let part = if room < WINDOW { room.min(WINDOW / 2) } else { WINDOW };
    (part / request).max(1) * request
}

/// True if two strategies do not differ in fields that matter for a target.
pub(super) fn alike(a: &Strategy, b: &Strategy, target: Target) -> bool {
    let reading = (a.read, a.request, a.depth, a.workers, a.read_cache)
        == (b.read, b.request, b.depth, b.workers, b.read_cache);
    let writing = (a.write, a.write_cache) == (b.write, b.write_cache);
    let allocating = a.allocation == b.allocation;
    reading && (writing || !target.is_file()) && (allocating || target != Target::New)
}

/// True if two strategies for reading differ in nothing but the stripes, which may differ from file to file.
pub(crate) fn reads_alike(one: &Strategy, two: &Strategy) -> bool {
    alike(one, two, Target::Nowhere) && one.window == two.window
}

/// Below this length, in bytes, a trial of all contenders costs more than it saves: with 64 MiB, files of 100 MB took 10 to 30%
/// longer.
pub const ADAPTIVE: u64 = 256 << 20;

/// The buffers that the system registers for a run of `len` bytes: none for a short run, whose first read would wait until all have
/// their memory. Without registration `wc` of 100 MB that is not cached took 0.95 of the time, and 0.68 where the host of a virtual
/// machine has to return the memory first.
pub(crate) fn registered(pool: &Pool, len: u64) -> Option<&Pool> {
    (len >= ADAPTIVE).then_some(pool)
}

/// From this length on, in bytes, a short trial of a cached file pays: 64 MB took 0.85 to 0.99 of the time without one (`wc`, `sum`,
/// `grep`, `cmp`; Zen 5), and 36 MB as long as without one.
const SHORT_TRIAL: u64 = 32 << 20;

/// From this length on, in bytes, the cached and the other parts of a file are read in different ways.
pub(crate) const MIXED: u64 = 16 << 20;
