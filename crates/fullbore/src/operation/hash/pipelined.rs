//! Several hashes in one pass over a file, on separate threads: reading continues while they are computed.

use std::collections::VecDeque;
use std::sync::{Arc, MutexGuard};

use fullbore_io::buf::BlockMemory;
use fullbore_io::lock::{Condvar, Mutex};

use super::algorithm::Hash;
use super::digest::Digest;
use super::hasher::HashState;
use crate::operation::traits::{Fold, Split};

/// Bytes of a block: small enough to stay in a processor's own cache between copy and hash.
const BLOCK: usize = 256 << 10;

/// Maximum number of blocks between the reader and the slowest hash.
const DEPTH: usize = 8;

/// Several hashes, computed concurrently from the blocks of a file.
///
/// Each hash takes the blocks in order. The hash that is furthest behind runs first, on any free thread, including the
/// reading one. The total time is therefore that of the slowest hash, or that of all the work divided by the number of
/// threads. The blocks take at most 2 MiB.
pub struct PipelinedHashes {
    state: Mutex<PipelineState>,
    changed: Condvar,
}

#[derive(Default)]
struct PipelineState {
    states: Vec<PipelinedHash>,
    /// Blocks that some hash still needs.
    blocks: VecDeque<Arc<Block>>,
    /// Number of the first of them.
    first: u64,
    /// Memory of blocks that all hashes have processed.
    free: Vec<Vec<u8>>,
    made: usize,
    /// True if no more blocks will follow.
    over: bool,
    /// True if a hash is lost because its thread panicked.
    lost: bool,
}

struct Block {
    offset: u64,
    bytes: Vec<u8>,
}

struct PipelinedHash {
    /// State of the hash; `None` while a thread computes it.
    sum: Option<HashState>,
    /// Number of the block it takes next.
    next: u64,
}

struct HashJob {
    hash: usize,
    sum: HashState,
    block: Arc<Block>,
}

impl PipelinedHashes {
    /// Computes `hashes` of the bytes that `pass` folds, in their order, on up to `workers` threads including the
    /// caller's.
    ///
    /// # Errors
    /// Those of `pass`.
    pub fn run<T, E>(
        hashes: &[Hash],
        workers: usize,
        pass: impl FnOnce(&Self) -> Result<((), T), E>,
    ) -> Result<(Vec<Digest>, T), E> {
        let states =
            hashes.iter().map(|hash| PipelinedHash { sum: Some(hash.identity()), next: 0 }).collect();
        let state = PipelineState { states, ..PipelineState::default() };
        let mut pipeline = Self { state: Mutex::new(state), changed: Condvar::new() };
        let result = std::thread::scope(|scope| {
            let pipeline = &pipeline;
            // On every exit the helpers stop waiting.
            let _over = Over(pipeline);
            let helpers = (1..workers)
                .take(hashes.len())
                .map_while(|_| std::thread::Builder::new().spawn_scoped(scope, || pipeline.help()).ok());
            // If no thread can be started, this one does all the work.
            helpers.for_each(drop);
            let ((), result) = pass(pipeline)?;
            pipeline.state.lock().over = true;
            pipeline.changed.notify_all();
            pipeline.help();
            pipeline.wait_for_all();
            Ok(result)
        })?;
        let state = pipeline.state.get_mut();
        let sums = state.states.drain(..).filter_map(|hash| hash.sum).map(|sum| sum.digest()).collect();
        Ok((sums, result))
    }

    fn wait<'s>(&self, state: MutexGuard<'s, PipelineState>) -> MutexGuard<'s, PipelineState> {
        assert!(!state.lost, "a hash is lost: its thread panicked");
        self.changed.wait(state)
    }

    /// Computes jobs until no more will follow.
    fn help(&self) {
        let mut state = self.state.lock();
        loop {
            if let Some(job) = state.job() {
                drop(state);
                self.compute(job);
                state = self.state.lock();
            } else if state.over {
                return;
            } else {
                state = self.wait(state);
            }
        }
    }

    fn wait_for_all(&self) {
        let mut state = self.state.lock();
        while !state.blocks.is_empty() {
            state = self.wait(state);
        }
    }

    fn compute(&self, job: HashJob) {
        let HashJob { hash, mut sum, block } = job;
        let lost = Lost(self);
        sum.update(block.offset, &block.bytes);
        std::mem::forget(lost);
        drop(block);
        let mut state = self.state.lock();
        let hash = &mut state.states[hash];
        hash.sum = Some(sum);
        hash.next += 1;
        state.recycle();
        drop(state);
        self.changed.notify_all();
    }

    /// Returns memory for one block; computes jobs while none is free.
    fn room(&self) -> Vec<u8> {
        let mut state = self.state.lock();
        loop {
            if let Some(free) = state.free.pop() {
                return free;
            }
            if state.made < DEPTH {
                state.made += 1;
                return Vec::with_capacity(BLOCK);
            }
            match state.job() {
                Some(job) => {
                    drop(state);
                    self.compute(job);
                    state = self.state.lock();
                }
                None => state = self.wait(state),
            }
        }
    }
}

impl PipelineState {
    /// Returns the next block of the hash that is furthest behind, among those that no thread computes.
    fn job(&mut self) -> Option<HashJob> {
        let end = self.first + self.blocks.len() as u64;
        let states = self.states.iter_mut().enumerate();
        let ready = states.filter(|(_, hash)| hash.sum.is_some() && hash.next < end);
        let (hash, behind) = ready.min_by_key(|(_, hash)| hash.next)?;
        let block = self.blocks[(behind.next - self.first) as usize].clone();
        Some(HashJob { hash, sum: behind.sum.take()?, block })
    }

    fn recycle(&mut self) {
        let behind = self.states.iter().map(|hash| hash.next).min().unwrap_or(self.first);
        while self.first < behind {
            self.first += 1;
            if let Some(block) = self.blocks.pop_front().and_then(Arc::into_inner) {
                let mut bytes = block.bytes;
                bytes.clear();
                self.free.push(bytes);
            }
        }
    }
}

impl Fold for PipelinedHashes {
    type State = ();

    fn memory(&self) -> BlockMemory {
        BlockMemory::REVIEWED
    }

    fn is_hash(&self) -> bool {
        true
    }

    fn split(&self) -> Split {
        Split::Sequential
    }

    fn identity(&self) {}

    fn block(&self, (): &mut (), offset: u64, bytes: &[u8]) {
        if self.state.lock().states.is_empty() {
            return; // No hash would take the blocks.
        }
        for (number, part) in bytes.chunks(BLOCK).enumerate() {
            let mut memory = self.room();
            memory.extend_from_slice(part);
            let block = Block { offset: offset + (number * BLOCK) as u64, bytes: memory };
            self.state.lock().blocks.push_back(Arc::new(block));
            self.changed.notify_all();
        }
    }

    fn merge(&self, (): &mut (), (): ()) {}
}

/// Marks the end of the blocks on drop.
struct Over<'r>(&'r PipelinedHashes);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.state.lock().over = true;
        self.0.changed.notify_all();
    }
}

/// Marks a hash as lost on drop.
struct Lost<'r>(&'r PipelinedHashes);

impl Drop for Lost<'_> {
    fn drop(&mut self) {
        self.0.state.lock().lost = true;
        self.0.changed.notify_all();
    }
}
