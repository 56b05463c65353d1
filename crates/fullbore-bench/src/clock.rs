//! The clock of a run and of a measurement: the system's, or one that a test sets.

#[cfg(test)]
use std::sync::Arc;
#[cfg(test)]
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Time before a moment at which waiting stops sleeping and spins, in seconds: sleeping ends slightly late.
const SPIN_BEFORE: f64 = 100e-6;

/// A clock that counts from its start.
#[derive(Debug, Clone)]
pub(crate) struct Clock(Source);

#[derive(Debug, Clone)]
enum Source {
    /// The system's clock since this moment.
    System(Instant),
    /// Nanoseconds, advanced by tests; clones share them.
    #[cfg(test)]
    Set(Arc<AtomicU64>),
}

impl Clock {
    pub(crate) fn start() -> Self {
        Self(Source::System(Instant::now()))
    }

    pub(crate) fn elapsed(&self) -> Duration {
        match &self.0 {
            Source::System(start) => start.elapsed(),
            #[cfg(test)]
            Source::Set(nanos) => Duration::from_nanos(nanos.load(Ordering::SeqCst)),
        }
    }

    pub(crate) fn seconds(&self) -> f64 {
        self.elapsed().as_secs_f64()
    }

    /// Waits until `due` seconds after the start: sleeps, then spins at the end. A clock of a test is set to that time.
    pub(crate) fn wait_until(&self, due: f64) {
        #[cfg(test)]
        if let Source::Set(nanos) = &self.0 {
            nanos.fetch_max(Duration::from_secs_f64(due.max(0.0)).as_nanos() as u64, Ordering::SeqCst);
            return;
        }
        loop {
            let left = due - self.seconds();
            if left <= 0.0 {
                return;
            }
            if left > SPIN_BEFORE {
                std::thread::sleep(Duration::from_secs_f64((left - SPIN_BEFORE).min(1.0)));
            } else {
                std::hint::spin_loop();
            }
        }
    }
}

#[cfg(test)]
impl Clock {
    /// Creates a clock at 0 that only [`advance`](Self::advance) and [`wait_until`](Self::wait_until) move.
    pub(crate) fn set() -> Self {
        Self(Source::Set(Arc::default()))
    }

    /// Moves a clock that was created by [`set`](Self::set).
    pub(crate) fn advance(&self, time: Duration) {
        let Source::Set(nanos) = &self.0 else { panic!("the system's clock cannot be set") };
        nanos.fetch_add(time.as_nanos() as u64, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_of_the_system_waits_until_the_moment() {
        let clock = Clock::start();
        clock.wait_until(0.001);
        assert!(clock.seconds() >= 0.001);
    }

    #[test]
    fn a_set_clock_moves_only_when_told() {
        let clock = Clock::set();
        clock.wait_until(3600.0);
        clock.wait_until(1.0);
        clock.clone().advance(Duration::from_secs(1));
        assert_eq!(clock.elapsed(), Duration::from_secs(3601));
    }
}
