//! The check that an existing target is the complete copy of its source, which a resumed run skips.
//!
//! A copy with `resume` gets its name and its time when its bytes are on the device, so length and time suffice for it. Targets of other
//! programs may have lost bytes in a power failure. Where they were allocated but not written, they have holes; such a
//! hole must not be where the source has other bytes than zeros. With `verify` all bytes are compared.

use std::ops::Range;

use fullbore_io::file::{CachePolicy, Durability, File, Support, open_regular};
use fullbore_io::sys::{self, FileKind, OpenFlags, Status};

use super::directory::Entry;
use super::failure::Copied;
use super::options::CopyKind;
use super::tree_copy::{TreeCopy, Worker};
use crate::pattern::holes::{Holes, StripeQueue};

/// Maximum and minimum number of bytes of each file that are compared at a time.
const PIECE: u64 = 1 << 20;
const LEAST_PIECE: u64 = 64 << 10;

/// True if a source and its target have the same kind, length and time of modification.
pub(super) fn agree(stat: &Status, there: &Status) -> bool {
    let facts = |stat: &Status| (stat.kind(), stat.size, stat.mtime, stat.mtime_nsec);
    facts(stat) == facts(there)
}

impl TreeCopy<'_> {
    /// Bytes of each file that are compared at a time, in whole blocks. All workers may compare files, and together they take an
    /// eighth of the memory budget.
    fn piece(&self) -> u64 {
        let share = self.settings.budget() / 8 / (2 * self.settings.workers() as u64);
        share.clamp(LEAST_PIECE, PIECE) / LEAST_PIECE * LEAST_PIECE
    }

    /// True if the target, whose status is `there`, is a copy of the source; it is then on the device if the options require
    /// that. A target that cannot be read does not count as a copy.
    pub(super) fn is_whole(
        &self,
        worker: &mut Worker,
        entry: &Entry<'_>,
        stat: &Status,
        there: &Status,
    ) -> Copied<bool> {
        if !self.options.resume || self.options.kind != CopyKind::Data || !agree(stat, there) {
            return Ok(false);
        }
        match stat.kind() {
            FileKind::Regular => {}
            FileKind::Symlink => {
                let source = sys::read_link(entry.directory.source()?, entry.source);
                let target = sys::read_link(entry.within()?, entry.target);
                return Ok(source.is_ok() && source == target);
            }
            _ => return Ok(stat.rdev == there.rdev),
        }
        let durability = self.settings.durability;
        let within = entry.within()?;
        let open = |access| open_regular(&*within, entry.target, access | OpenFlags::NOCTTY);
        // Some systems sync only by a handle that is open for writing.
        let target = match self.options.verify || durability != Durability::None {
            true => open(OpenFlags::READ_WRITE).or_else(|_| open(OpenFlags::READ)),
            false => open(OpenFlags::READ),
        };
        let (Ok((source, _)), Ok(target)) = (self.open(entry, FileKind::Regular), target) else {
            return Ok(false);
        };
        if !sys::status(&target).is_ok_and(|stat| stat.identity() == there.identity()) {
            return Ok(false);
        }
        let source = File::with_status(source, entry.source_path(), stat)?;
        let target = File::with_status(target, entry.target_path(), there)?;
        if self.options.verify {
            let Some(verified) = self.is_equal(&source, &target, stat)? else { return Ok(false) };
            worker.stats.verified += verified;
        } else if !self.holes_are_zeros(&source, &target, stat)? {
            return Ok(false);
        }
        if durability != Durability::None {
            target.sync(durability)?;
            self.sync_name(entry)?;
        }
        Ok(true)
    }

    /// Compares all data with that of the target on the device; returns the number of bytes, `None` if some differ.
    fn is_equal(&self, source: &File, target: &File, stat: &Status) -> Copied<Option<u64>> {
        let target = match target.with_cache(CachePolicy::Direct) {
            (direct, Support::Native) => direct,
            _ if target.sync_data().and_then(|()| target.drop_cache()).is_err() => return Ok(None),
            _ => target.clone(),
        };
        let sides =
            vec![Holes::of(source, 0, stat.size, stat.sparse), Holes::of(&target, 0, stat.size, true)];
        let piece = self.piece();
        let mut stripes = StripeQueue::new(stat.size, piece, sides);
        let (mut memory, mut compared) = (Memory::new(stat.size.min(piece)), 0);
        while let Some(range) = stripes.next_stripe(|_| ()) {
            self.progress.check()?;
            compared += range.end - range.start;
            if !memory.is_equal(source, &target, range) {
                return Ok(None);
            }
        }
        Ok(Some(compared))
    }

    /// True if the source has only zeros where the target has holes.
    fn holes_are_zeros(&self, source: &File, target: &File, stat: &Status) -> Copied<bool> {
        let piece = self.piece();
        let mut data = StripeQueue::of_data(target, stat.size, u64::MAX, true);
        let mut memory = None;
        let mut more = true;
        while more {
            let mut holes = Vec::new();
            more = data.next_stripe(|hole| holes.push(hole)).is_some();
            for hole in holes {
                let (base, len) = (hole.start, hole.end - hole.start);
                let mut stripes =
                    StripeQueue::new(len, piece, vec![Holes::of(source, base, len, stat.sparse)]);
                while let Some(range) = stripes.next_stripe(|_| ()) {
                    self.progress.check()?;
                    let memory = memory.get_or_insert_with(|| Memory::new(stat.size.min(piece)));
                    if !memory.is_equal(source, target, base + range.start..base + range.end) {
                        return Ok(false);
                    }
                }
            }
        }
        Ok(true)
    }
}

/// Memory for a piece of each file.
struct Memory([Vec<u8>; 2]);

impl Memory {
    fn new(len: u64) -> Self {
        Self([(); 2].map(|()| vec![0; len as usize]))
    }

    /// True if both files have the same bytes in a range of at most a piece.
    fn is_equal(&mut self, source: &File, target: &File, range: Range<u64>) -> bool {
        let [one, other] = &mut self.0;
        let len = (range.end - range.start) as usize;
        let read = |file: &File, memory: &mut [u8]| file.read_exact_at(memory, range.start).is_ok();
        read(source, &mut one[..len]) && read(target, &mut other[..len]) && one[..len] == other[..len]
    }
}
