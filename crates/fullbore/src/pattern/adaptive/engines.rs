//! The engines of a worker: files, queues and buffers of the contenders that it has used.

use crate::pattern::threads::Started;
use crate::strategy::Strategy;
use fullbore_io::error::Result;

/// Idle engines by strategy. A contender that is tried again reuses its own: registering buffers takes milliseconds.
pub(in crate::pattern) struct Engines<'s, T> {
    idle: Vec<(Strategy, T)>,
    /// The workers of the run, each of which may hold idle engines.
    started: &'s Started,
}

impl<'s, T> Engines<'s, T> {
    pub(in crate::pattern) fn new(started: &'s Started) -> Self {
        Self { idle: Vec::new(), started }
    }

    /// Takes the engine of a strategy, or opens one; if the memory is short, `close` gets the idle ones first.
    pub(in crate::pattern) fn take(
        &mut self,
        strategy: &Strategy,
        open: impl FnOnce() -> Result<T>,
        close: impl FnMut(T),
    ) -> Result<T> {
        if let Some(place) = self.idle.iter().position(|(idle, _)| strategy.has_the_engines_of(idle)) {
            return Ok(self.idle.swap_remove(place).1);
        }
        // The number of workers is known once all have started: the first engine does not wait for that.
        if !self.idle.is_empty() {
            let all = self.idle.iter().map(|(idle, _)| idle).chain([strategy]);
            if all.map(|one| one.memory_of(self.started.count())).sum::<u64>() > strategy.budget {
                self.close(close);
            }
        }
        open()
    }

    /// Keeps an engine for the next turn of its strategy.
    pub(in crate::pattern) fn put(&mut self, strategy: Strategy, engine: T) {
        self.idle.push((strategy, engine));
    }

    /// Passes all idle engines to `close`.
    pub(in crate::pattern) fn close(&mut self, close: impl FnMut(T)) {
        self.idle.drain(..).map(|(_, engine)| engine).for_each(close);
    }
}
