//! Setup CPU time: the CPU time of a worker that moves no bytes (opening, creating buffers, closing).

use fullbore_io::probe::ProcessUsage;

/// Counts setup CPU time in seconds, user and system; nothing if the system does not report it.
#[derive(Debug)]
pub(super) struct SetupCpu {
    /// CPU time of the thread when counting started or resumed.
    since: Option<ProcessUsage>,
    user: f64,
    system: f64,
}

impl SetupCpu {
    pub(super) fn begin() -> Self {
        Self { since: ProcessUsage::of_thread().ok(), user: 0.0, system: 0.0 }
    }

    pub(super) fn pause(&mut self) {
        if let Some(since) = self.since.take()
            && let Ok(now) = ProcessUsage::of_thread()
        {
            let used = now.since(&since);
            self.user += used.user;
            self.system += used.system;
        }
    }

    pub(super) fn resume(&mut self) {
        self.since = ProcessUsage::of_thread().ok();
    }

    /// Stops counting; returns user and system CPU time in seconds.
    pub(super) fn end(mut self) -> (f64, f64) {
        self.pause();
        (self.user, self.system)
    }
}

// Windows counts CPU time in ticks of 15 ms.
#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn work() -> u64 {
        std::hint::black_box((0..20_000_000u64).fold(0, |sum, one| sum ^ std::hint::black_box(one)))
    }

    #[test]
    fn work_during_a_pause_is_not_counted() {
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
