//! One logical file striped over several: chunk `i` is in file `i mod n`, as in RAID 0 and NT's `ftdisk`.
//!
//! Requests are issued in the order of the logical file, with a depth over all files together; a request longer than
//! the rest of its chunk is split. The loop waits for the oldest request, because the consumer needs the bytes in the
//! order of the logical file, regardless of which file completes first.

use std::collections::{HashMap, VecDeque};
use std::ops::Range;
use std::path::Path;
use std::time::{Duration, Instant};

use fullbore::Result;
use fullbore::buf::{Buf, Pool};
use fullbore::engine::{CachePolicy, EngineConfig, IoQueue, IoStats};
use fullbore::error::{Error, ErrorKind};
use fullbore::file::File;
use fullbore::operation::Generate;
use fullbore::pattern::{Progress, Stats};
use fullbore::strategy::Strategy;

use super::one_way::Direction;

#[derive(Debug, Clone, Copy)]
pub(super) struct Layout {
    /// Number of files that it is striped over; at least one.
    pub(super) files: usize,
    /// Bytes taken from one file before the next; at least one.
    pub(super) chunk: u64,
}

/// A run of the logical file within one chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Piece {
    /// Offset in the logical file, in bytes.
    pub(super) logical: u64,
    pub(super) file: usize,
    pub(super) offset: u64,
    pub(super) len: usize,
}

impl Layout {
    /// Returns the length of one chunk of every file together, in bytes.
    pub(super) fn row(self) -> u64 {
        self.chunk * self.files as u64
    }

    pub(super) fn pieces(self, range: Range<u64>) -> impl Iterator<Item = Piece> {
        let mut at = range.start;
        std::iter::from_fn(move || {
            (at < range.end).then(|| {
                let (chunk, within) = (at / self.chunk, at % self.chunk);
                let files = self.files as u64;
                let len = (self.chunk - within).min(range.end - at);
                let piece = Piece {
                    logical: at,
                    file: (chunk % files) as usize,
                    offset: chunk / files * self.chunk + within,
                    len: len as usize,
                };
                at += len;
                piece
            })
        })
    }

    /// Returns the range of each file that has the bytes of whole rows.
    pub(super) fn rows(self, range: &Range<u64>) -> Range<u64> {
        let files = self.files as u64;
        range.start / files..range.end.div_ceil(files)
    }
}

/// Writes `data` to a range of the logical file, or reads the range: `look` receives its pieces in order, each with its offset
/// in bytes.
pub(super) fn transfer(
    files: &[File],
    layout: Layout,
    range: Range<u64>,
    strategy: &Strategy,
    progress: &Progress,
    data: Option<&dyn Generate>,
    mut look: impl FnMut(u64, &[u8]),
) -> Result<Stats> {
    let mut stripes = Stripes::open(files, layout, strategy, data.is_some())?;
    if let Some(data) = data {
        data.prime(&mut stripes.pool);
    }
    let enqueue = |queue: &mut IoQueue, token, piece: Piece, mut buf: Buf| {
        let Some(data) = data else { return queue.read(token, piece.offset, piece.len, buf) };
        buf.place(piece.offset, piece.len);
        data.renew(piece.logical, buf.data_mut());
        queue.write(token, piece.offset, buf)
    };
    let io_stats = stripes.run(range.clone(), progress, enqueue, |piece, data| look(piece.logical, data))?;
    let mut stats = Stats::default();
    (stats.bytes, stats.elapsed) = (range.end - range.start, stripes.elapsed);
    *if data.is_some() { &mut stats.writes } else { &mut stats.reads } = io_stats;
    Ok(stats)
}

#[derive(Debug)]
struct Expected {
    token: u64,
    piece: Piece,
    /// True if it is the last piece of its request.
    ends: bool,
}

/// The files under their access method, and their buffers.
struct Stripes {
    queues: Vec<IoQueue>,
    pool: Pool,
    layout: Layout,
    request: u64,
    depth: usize,
    elapsed: Duration,
}

fn refused(method: &str, path: &Path, why: &str) -> Error {
    let what = format!("method {method} {why}");
    Error::new(ErrorKind::Unsupported, "stripe over", path, what).advise("use direct, uring, aio or buffered")
}

impl Stripes {
    fn open(files: &[File], layout: Layout, strategy: &Strategy, write: bool) -> Result<Self> {
        let direction = if write { Direction::Write } else { Direction::Read };
        let (method, cache) = direction.of(strategy);
        let path = files.first().map_or(Path::new("files"), File::path);
        if method.capabilities.mapped || !method.capabilities.transfers {
            return Err(refused(method.name, path, "takes no requests that could be split"));
        }
        let request = strategy.request as u64;
        let depth = strategy.depth.min(method.capabilities.depth).max(1);
        // A request that starts within a chunk may touch one more chunk than its length implies.
        let pieces = (request.div_ceil(layout.chunk) + 1) as usize * depth;
        let longest = request.min(layout.chunk) as usize;
        let pool = Pool::allocate(pieces, longest, cache == CachePolicy::Direct)
            .map_err(|error| Error::io("create buffers for", path, error))?;
        let queues = files
            .iter()
            .map(|file| {
                let len = file.stamp()?.len;
                let file = file.reopen(write);
                let config = EngineConfig {
                    write,
                    cache,
                    // All of them may be in one file.
                    depth: pieces,
                    pool: Some(&pool),
                    ..EngineConfig::reading(&file)
                };
                IoQueue::open(method, &config, (!write).then_some(len))
                    .map_err(|error| Error::io("use", file.path(), error))
            })
            .collect::<Result<Vec<_>>>()?;
        Ok(Self { queues, pool, layout, request, depth, elapsed: Duration::ZERO })
    }

    /// Prepares requests with `enqueue` and passes completed pieces to `take` in the order of the logical file.
    fn run(
        &mut self,
        range: Range<u64>,
        progress: &Progress,
        enqueue: impl Fn(&mut IoQueue, u64, Piece, Buf) -> Result<()>,
        mut take: impl FnMut(Piece, &[u8]),
    ) -> Result<IoStats> {
        let mut io_stats = IoStats::default();
        let mut expected: VecDeque<Expected> = VecDeque::new();
        let mut early: HashMap<u64, Buf> = HashMap::new();
        let (mut next, mut open, mut token) = (range.start, 0usize, 0u64);
        let start = Instant::now();
        loop {
            while open < self.depth && next < range.end {
                let end = (next + self.request).min(range.end);
                for piece in self.layout.pieces(next..end) {
                    let buf = self.pool.take().ok_or_else(|| self.lost("a buffer"))?;
                    enqueue(&mut self.queues[piece.file], token, piece, buf)?;
                    let ends = piece.logical + piece.len as u64 == end;
                    expected.push_back(Expected { token, piece, ends });
                    token += 1;
                }
                (next, open) = (end, open + 1);
                io_stats.requests += 1;
            }
            let Some(Expected { token: due, piece, ends }) = expected.pop_front() else { break };
            // The loop waits for one file: the others must have their requests first.
            self.queues.iter_mut().try_for_each(IoQueue::commit)?;
            if !early.contains_key(&due) && next < range.end {
                io_stats.waits += 1;
                io_stats.in_flight += open as u64;
            }
            while !early.contains_key(&due) {
                let done = self.queues[piece.file].next()?.ok_or_else(|| self.lost("a request"))?;
                early.insert(done.token, done.buf);
            }
            let buf = early.remove(&due).ok_or_else(|| self.lost("a request"))?;
            take(piece, buf.data());
            io_stats.bytes += piece.len as u64;
            self.pool.put(buf);
            if ends {
                open -= 1;
                progress.add(self.request.min(range.end - range.start));
            }
            if progress.is_cancelled() {
                return Err(Error::cancelled());
            }
        }
        self.queues.iter_mut().try_for_each(IoQueue::flush)?;
        self.elapsed = start.elapsed();
        Ok(io_stats)
    }

    fn lost(&self, what: &str) -> Error {
        Error::new(ErrorKind::Invalid, "transfer", "", format!("{what} was lost")).without_path()
    }
}

#[cfg(test)]
mod tests {
    use fullbore::engine::{CachePolicy, method};
    use fullbore::operation::generate::Random;
    use fullbore_testkit::ground::write_file;
    use fullbore_testkit::or_skip;
    use proptest::prelude::{ProptestConfig, prop, prop_assert, prop_assert_eq, proptest};

    use super::*;

    const FILE: usize = 1 << 20;

    fn files(directory: &Path, count: usize) -> Vec<File> {
        (0..count)
            .map(|index| {
                let path = write_file(directory, &index.to_string(), vec![0; FILE]);
                File::open_write(&path).unwrap()
            })
            .collect()
    }

    fn gathered(files: &[File], chunk: usize, range: Range<usize>) -> Vec<u8> {
        let bytes: Vec<Vec<u8>> = files.iter().map(|file| std::fs::read(file.path()).unwrap()).collect();
        range
            .map(|at| bytes[at / chunk % files.len()][at / chunk / files.len() * chunk + at % chunk])
            .collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        #[test]
        fn striped_data_reads_back_in_order(
            count in 1usize..5,
            chunk in prop::sample::select(vec![4096u64, 12_288, 65_536]),
            request in prop::sample::select(vec![4096usize, 8192, 65_536, 262_144, 20_480]),
            depth in 1usize..9,
            name in prop::sample::select(vec!["buffered", "direct", "uring", "aio"]),
            start in 0u64..32,
            blocks in 1u64..120,
        ) {
            let directory = tempfile::tempdir().unwrap();
            let files = files(directory.path(), count);
            let method = method(name).unwrap();
            let cache = if name == "uring" { CachePolicy::Direct } else { CachePolicy::Keep };
            let strategy = Strategy {
                read: method, write: method, request, depth,
                read_cache: cache, write_cache: cache, ..Strategy::plain()
            };
            let layout = Layout { files: count, chunk };
            let range = 4096 * start..4096 * (start + blocks);
            let (data, progress) = (Random::new(start), Progress::default());
            // This machine may lack io_uring, this file system direct I/O.
            let written = transfer(&files, layout, range.clone(), &strategy, &progress, Some(&data), |_, _| ());
            let Some(written) = or_skip(name, written) else { return Ok(()) };
            let mut expected = vec![0; (range.end - range.start) as usize];
            data.fill(range.start, &mut expected);
            let found = gathered(&files, chunk as usize, range.start as usize..range.end as usize);
            prop_assert!(found == expected, "the chunks are in the wrong files");
            let mut seen = Vec::new();
            let look = |offset: u64, data: &[u8]| {
                assert_eq!(offset, range.start + seen.len() as u64);
                seen.extend_from_slice(data);
            };
            let stats = transfer(&files, layout, range.clone(), &strategy, &progress, None, look).unwrap();
            prop_assert!(seen == expected);
            let requests = (range.end - range.start).div_ceil(request as u64);
            prop_assert_eq!((stats.bytes, stats.reads.requests), (seen.len() as u64, requests));
            prop_assert_eq!(written.writes.requests, requests);
            prop_assert!(stats.reads.depth() <= depth as f64);
        }
    }

    #[test]
    fn chunks_rotate_over_the_files() {
        let layout = Layout { files: 3, chunk: 10 };
        let pieces: Vec<Piece> = layout.pieces(25..48).collect();
        let piece = |logical, file, offset, len| Piece { logical, file, offset, len };
        assert_eq!(pieces, [piece(25, 2, 5, 5), piece(30, 0, 10, 10), piece(40, 1, 10, 8)]);
        assert_eq!(layout.rows(&(30..90)), 10..30);
    }

    #[test]
    fn methods_without_requests_are_rejected() {
        let directory = tempfile::tempdir().unwrap();
        let files = files(directory.path(), 2);
        let strategy = Strategy { read: method("mmap").unwrap(), ..Strategy::plain() };
        let layout = Layout { files: 2, chunk: 4096 };
        let error =
            transfer(&files, layout, 0..4096, &strategy, &Progress::default(), None, |_, _| ()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
    }

    #[test]
    fn stops_when_cancelled() {
        let directory = tempfile::tempdir().unwrap();
        let files = files(directory.path(), 2);
        let progress = Progress::default();
        progress.cancel();
        let layout = Layout { files: 2, chunk: 4096 };
        let error =
            transfer(&files, layout, 0..65_536, &Strategy::plain(), &progress, None, |_, _| ()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Cancelled);
    }
}
