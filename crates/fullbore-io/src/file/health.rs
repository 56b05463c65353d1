//! The state that all handles derived from one file share.

use std::fmt;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use crate::error::message;
#[cfg(feature = "fault")]
use crate::fault::plan::Plan;

/// The state that all handles derived from one file share: the failed sync, the reserved range, and a test's fault plan.
#[derive(Debug, Clone, Default)]
pub(super) struct Health {
    /// Created when a handle is derived, a sync fails or a range is reserved; most files need none.
    state: OnceLock<Arc<SyncState>>,
    #[cfg(feature = "fault")]
    pub(super) plan: Option<Plan>,
    /// The bytes read and written under that plan, for a file without offsets.
    #[cfg(feature = "fault")]
    pub(super) flowed: Option<Arc<[AtomicU64; 2]>>,
}

impl Health {
    pub(super) fn shared(&self) -> Self {
        self.state();
        self.clone()
    }

    pub(super) fn state(&self) -> &SyncState {
        self.state.get_or_init(Arc::default)
    }

    pub(super) fn set_reserved(&self, end: u64) {
        self.state().reserved.fetch_max(end, Ordering::Relaxed);
    }

    /// The end of the ranges reserved through these handles, in bytes.
    pub(super) fn reserved(&self) -> u64 {
        self.state.get().map_or(0, |state| state.reserved.load(Ordering::Relaxed))
    }

    pub(super) fn failed(&self) -> Option<&Arc<Failure>> {
        self.state.get().and_then(|state| state.failed.get())
    }
}

#[derive(Debug, Default)]
pub(super) struct SyncState {
    pub(super) failed: OnceLock<Arc<Failure>>,
    /// Held during a sync: the system reports a failure to one caller only, who must record it before a concurrent sync succeeds.
    pub(super) syncing: Mutex<()>,
    reserved: AtomicU64,
}

#[derive(Debug)]
pub(super) struct Failure {
    /// True for a failed sync, false for a failed write of a dropped stream.
    pub(super) sync: bool,
    pub(super) error: io::Error,
}

#[derive(Debug)]
pub(super) struct Poisoned(pub(super) Arc<Failure>);

impl fmt::Display for Poisoned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cause = message(&self.0.error);
        if self.0.sync {
            write!(
                f,
                "an earlier sync of this file failed ({cause}), and data written before it may be lost"
            )?;
        } else {
            write!(
                f,
                "an earlier write of a stream that was dropped failed ({cause}), and its pending data is lost"
            )?;
        }
        f.write_str("; write the file again from its source")
    }
}

impl std::error::Error for Poisoned {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.0.error)
    }
}
