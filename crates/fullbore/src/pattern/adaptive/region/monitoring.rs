//! Changes of the conditions after a choice: another trial begins.

use super::{Phase, Region};

/// The expected band: a logarithmic rate that is lower or higher by this, twice in a row, starts another trial.
const BAND: f64 = 0.3;
/// No trial is repeated in a region shorter than this, in bytes.
const RETRY: u64 = 64 << 20;
/// The least distance between trials: a share of the region, or several times the length of the last trial if that is less.
const DISTANCE: (u64, u64) = (8, 8);
/// The most times that this distance is doubled.
const DOUBLINGS: u32 = 4;

impl Region {
    /// Forgets what was measured with fewer workers: the other region has ended.
    pub(in crate::pattern::adaptive) fn forget(&mut self) {
        self.refined = (0, 0, 0);
        match &mut self.phase {
            Phase::Running { expected, outside } => (*expected, *outside) = (None, 0),
            Phase::Trying { .. } if self.left > 0 && self.slices.iter().any(|slice| slice.shared) => {
                self.begin(self.contenders.clone());
            }
            Phase::Trying { .. } => {}
        }
    }

    /// Compares the last slice of the chosen strategy with the expected rate; true if another trial is due.
    pub(super) fn watch(&mut self) -> bool {
        // The engines of the choice start in its first slice.
        let rate = self.slices.get(1..).and_then(|slices| slices.last()?.rate());
        let Phase::Running { expected, outside } = &mut self.phase else { return false };
        let Some(rate) = rate else { return false };
        let Some(known) = expected else {
            *expected = Some(rate);
            return false;
        };
        if (*known - rate).abs() <= BAND {
            *outside = 0;
            *known += 0.2 * (rate - *known);
            return false;
        }
        *outside += 1;
        let distance = (self.total / DISTANCE.0).min(self.last_trial * DISTANCE.1);
        let enough = self.since >= distance << self.confirmed.min(DOUBLINGS);
        *outside > 1 && self.tried > 1 && self.left >= RETRY && enough
    }
}
