//! The processor time of a worker that moves no bytes: opening, making its buffers, closing.

use crate::probe::ProcessUsage;

/// Counts it, in seconds, in the program and in the kernel; nothing where the system does not tell.
#[derive(Debug)]
pub(super) struct SetupCpu {
    /// What the thread had used when counting began or went on.
    since: Option<ProcessUsage>,
    user: f64,
    system: f64,
}

impl SetupCpu {
    /// From now on.
    pub(super) fn begin() -> Self {
        Self { since: ProcessUsage::of_thread().ok(), user: 0.0, system: 0.0 }
    }

    /// Bytes move from now on.
    pub(super) fn pause(&mut self) {
        if let Some(since) = self.since.take()
            && let Ok(now) = ProcessUsage::of_thread()
        {
            let used = now.since(&since);
            self.user += used.user;
            self.system += used.system;
        }
    }

    /// Until now.
    pub(super) fn resume(&mut self) {
        self.since = ProcessUsage::of_thread().ok();
    }

    /// In the program and in the kernel, in seconds.
    pub(super) fn end(mut self) -> (f64, f64) {
        self.pause();
        (self.user, self.system)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn work() -> u64 {
        std::hint::black_box((0..20_000_000u64).fold(0, |sum, one| sum ^ std::hint::black_box(one)))
    }

    #[test]
    fn what_is_done_in_a_pause_is_not_counted() {
        let mut setup = SetupCpu::begin();
        work();
        setup.pause();
        let counted = setup.user + setup.system;
        assert!(counted > 0.0);
        for _ in 0..4 {
            work();
        }
        setup.resume();
        let (user, system) = setup.end();
        assert!(user + system < 3.0 * counted, "{} after {counted}", user + system);
    }
}
