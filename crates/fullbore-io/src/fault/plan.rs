//! The plan: decides from a seed, before each call, whether the call fails.

use std::io;
use std::sync::Arc;

use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use super::call::{Counts, Event, Fault, Operation, Subject};
use super::rules::{self, Mappings};
use super::unsynced::{CrashState, Unsynced};
use crate::file::types::Call;
use crate::lock::Mutex;
use crate::sys::{self, Code, FileKind};

/// A list of faults and a record of their effects. A clone refers to the same plan, so that several files can share it
/// and its counts can be read afterwards. The same seed with the same calls in the same order gives the same faults.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Plan {
    state: Arc<Mutex<PlanState>>,
    mappings: Mappings,
}

#[derive(Debug)]
struct PlanState {
    random: SplitMix64,
    faults: Vec<Fault>,
    counts: Counts,
    events: Vec<Event>,
    /// Changes that no sync has covered; `None` unless they are to be recorded.
    unsynced: Option<Unsynced>,
    mappings: Mappings,
    /// True if the last call failed with `EINTR` or `EAGAIN`; the next one does not.
    spared: bool,
}

impl Plan {
    /// Creates a plan without faults. `seed` selects the calls that random faults hit.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let mappings = Mappings::default();
        Self {
            mappings: mappings.clone(),
            state: Arc::new(Mutex::new(PlanState {
                random: SplitMix64::seed_from_u64(seed),
                faults: Vec::new(),
                counts: Counts::default(),
                events: Vec::new(),
                unsynced: None,
                mappings,
                spared: false,
            })),
        }
    }

    /// Adds a fault. It takes effect at once, also for files that carry the plan already.
    ///
    /// ```
    /// use fullbore_io::fault::{Fault, Plan};
    /// use fullbore_io::file::File;
    /// # let directory = tempfile::tempdir()?;
    ///
    /// let plan = Plan::new(1);
    /// let file = File::create_new(directory.path().join("file"))?.with_faults(&plan);
    /// file.write_all_at(b"bytes", 0)?;
    /// let plan = plan.with(Fault::NoSpace { at: 0 });
    /// assert!(file.write_all_at(b"bytes", 0).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with(self, fault: Fault) -> Self {
        self.state.lock().faults.push(fault);
        self
    }

    /// Records from now on everything that no sync has covered, for [`crash`](Self::crash). The bytes that writes replace
    /// are kept in memory, so this is only for files as small as those of tests.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// use fullbore_io::fault::{Plan, CrashState};
    /// use fullbore_io::file::File;
    ///
    /// let plan = Plan::new(1).with_power_failure();
    /// let path = directory.path().join("file");
    /// let file = File::create_new(&path)?.with_faults(&plan);
    /// file.write_all_at(b"synced", 0)?;
    /// file.sync_data()?;
    /// file.write_all_at(b" and not", 6)?;
    /// plan.crash(CrashState::RenameLost)?;
    /// assert_eq!(std::fs::read(&path)?, b"synced");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_power_failure(self) -> Self {
        self.state.lock().unsynced.get_or_insert_with(Unsynced::default);
        self
    }

    /// Decides whether a call may proceed and, if so, records it as made. Returns the number of bytes that it may move, or the
    /// error that replaces it; calls that move no bytes ignore the number. Files and engines that carry the plan call this
    /// themselves; code that passes calls to the system in another way calls it first (see [`Operation`]). A sync that is
    /// decided between the decision about a write and the write covers it.
    pub fn before(&self, operation: &Operation<'_>) -> io::Result<usize> {
        self.state.lock().judge(operation)
    }

    /// Puts the files into a state that a power failure could leave: unsynced bytes and lengths are lost, and names
    /// according to `worst`. The handles stay open; later writes belong to the time after the failure.
    ///
    /// # Errors
    /// `InvalidInput` if the plan does not [record changes](Self::with_power_failure), and the system's.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// use fullbore_io::fault::{Plan, CrashState};
    /// use fullbore_io::file::{Durability, Output};
    ///
    /// let path = directory.path().join("file");
    /// std::fs::write(&path, "old")?;
    /// let plan = Plan::new(1).with_power_failure();
    /// let output = Output::replace(&path)?.with_faults(&plan);
    /// output.file().write_all_at(b"new", 0)?;
    /// output.commit(Durability::None)?;
    /// plan.crash(CrashState::RenameKept)?;
    /// assert_eq!(std::fs::read(&path)?, b"", "renamed before its bytes were on the device");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn crash(&self, worst: CrashState) -> io::Result<()> {
        let state = &mut *self.state.lock();
        match &mut state.unsynced {
            Some(unsynced) => unsynced.lose(worst, &mut state.random),
            None => Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "the plan recorded no changes: create it with with_power_failure()",
            )),
        }
    }

    /// Returns the counts so far.
    pub fn counts(&self) -> Counts {
        self.state.lock().counts
    }

    /// Returns the faults, syncs and name changes so far, in order.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// use fullbore_io::fault::{Event, Plan};
    /// use fullbore_io::file::{File, Durability};
    ///
    /// let plan = Plan::new(1);
    /// let file = File::create_new(directory.path().join("file"))?.with_faults(&plan);
    /// file.set_len(5)?;
    /// file.sync_all()?;
    /// assert_eq!(plan.events(), [Event::SetLen(5), Event::Synced(Durability::Full)]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn events(&self) -> Vec<Event> {
        self.state.lock().events.clone()
    }

    /// Returns the maximum number of buffers per call, if the plan limits it.
    pub fn buffers(&self) -> Option<usize> {
        let most = |fault: &Fault| match fault {
            Fault::Buffers { most } => Some((*most).max(1)),
            _ => None,
        };
        self.state.lock().faults.iter().filter_map(most).min()
    }

    pub(crate) fn sectors(&self) -> Option<u64> {
        rules::sectors(&self.state.lock().faults)
    }

    /// Returns a plan with the device of this one and nothing else.
    pub(crate) fn device(&self) -> Option<Self> {
        self.sectors().map(|size| Self::new(0).with(Fault::Sectors { size }))
    }

    pub(crate) fn mappings(&self) -> &Mappings {
        &self.mappings
    }
}

impl PlanState {
    fn judge(&mut self, operation: &Operation<'_>) -> io::Result<usize> {
        let Operation { file, unit, memory, call } = *operation;
        match call {
            Call::Read { offset, len } | Call::Write { offset, len } => {
                self.counts.transfers += 1;
                self.counts.direct += u64::from(unit > 1);
                if let Some((rule, error)) = rules::of_transfer(&self.faults, unit, memory, offset, len) {
                    return self.fail(Event::Refused(rule), error);
                }
                self.transfer(file, offset, len, unit, matches!(call, Call::Write { .. }))
            }
            Call::View { offset, len } => self.view(file, offset, len, false),
            Call::Change { offset, len } => self.view(file, offset, len, true),
            Call::Punch { offset, len } => {
                self.remember(|unsynced| unsynced.zeroed(file, offset, len))?;
                self.done(Event::Punched { offset, len })
            }
            Call::Zero { offset, len } => {
                self.fits(offset, len)?;
                self.remember(|unsynced| unsynced.zeroed(file, offset, len))?;
                self.done(Event::Zeroed { offset, len })
            }
            Call::Allocate { offset, len, extends } => {
                self.fits(offset, len)?;
                if extends {
                    self.remember(|unsynced| unsynced.extended(file, offset.saturating_add(len)))?;
                }
                self.done(Event::Allocated { offset, len })
            }
            Call::SetLen { len } => {
                if self.faults.contains(&Fault::Mapped) && self.mappings.hold(file, len)? {
                    return self.fail(Event::Refused(Fault::Mapped), Code::MAPPED);
                }
                self.remember(|unsynced| unsynced.set_len(file, len))?;
                self.done(Event::SetLen(len))
            }
            Call::Sync(durability) => {
                let failed = self.sync_fails();
                self.remember(|unsynced| unsynced.synced(file, failed))?;
                self.synced(failed, Event::Synced(durability))
            }
            Call::WriteBack => {
                let failed = self.sync_fails();
                if failed {
                    self.remember(|unsynced| unsynced.synced(file, true))?;
                }
                self.synced(failed, Event::WrittenBack)
            }
            Call::SyncRange { offset, len } => {
                let failed = self.sync_fails();
                let range = offset..offset.saturating_add(len);
                self.remember(|unsynced| unsynced.synced_range(file, &range, failed))?;
                self.synced(failed, Event::SyncedRange { offset, len })
            }
            Call::SyncDirectory(directory) => {
                let failed = self.sync_fails();
                self.remember(|unsynced| unsynced.synced_directory(directory, failed))?;
                self.synced(failed, Event::SyncedDirectory(directory.to_owned()))
            }
            Call::Link { name } => {
                self.remember(|unsynced| unsynced.linked(name))?;
                self.done(Event::Linked(name.to_owned()))
            }
            Call::Rename { from, to } => {
                if self.faults.contains(&Fault::Held) {
                    return self.fail(Event::Refused(Fault::Held), Code::HELD);
                }
                self.remember(|unsynced| unsynced.renamed(from, to))?;
                self.done(Event::Renamed { from: from.to_owned(), to: to.to_owned() })
            }
        }
    }

    /// Decides about a transfer that may be shortened.
    fn transfer(
        &mut self,
        file: &dyn Subject,
        offset: u64,
        len: usize,
        unit: usize,
        writes: bool,
    ) -> io::Result<usize> {
        self.disturb(file, offset, len, writes)?;
        // A repeated call does not fail again.
        if !std::mem::take(&mut self.spared) {
            if self.hits(|fault| matches!(fault, Fault::Interrupted { .. })) {
                self.spared = true;
                return self.fail(Event::Interrupted, Code::INTERRUPTED);
            }
            if self.hits(|fault| matches!(fault, Fault::WouldBlock { .. })) {
                self.spared = true;
                return self.fail(Event::WouldBlock, Code::WOULD_BLOCK);
            }
        }
        let mut given = len;
        if len > unit && self.hits(|fault| matches!(fault, Fault::Short { .. })) {
            let units = ((len - 1) / unit) as u64;
            given = (1 + self.random.next_u64() % units) as usize * unit;
        }
        if writes {
            let room = self.room(offset);
            if room < given as u64 {
                given = room as usize / unit * unit;
                if given == 0 && len > 0 {
                    return self.fail(Event::NoSpace, Code::NO_SPACE);
                }
            }
            self.remember(|unsynced| unsynced.write(file, offset, given))?;
        }
        if given < len {
            self.note(Event::Short { requested: len, given });
        }
        Ok(given)
    }

    /// Decides about an all-or-nothing transfer.
    fn view(&mut self, file: &dyn Subject, offset: u64, len: usize, changes: bool) -> io::Result<usize> {
        self.counts.transfers += 1;
        self.disturb(file, offset, len, changes)?;
        if changes {
            self.fits(offset, len as u64)?;
            self.remember(|unsynced| unsynced.write(file, offset, len))?;
        }
        Ok(len)
    }

    /// Applies the faults of all kinds of transfers: truncation, an altered byte, an I/O error.
    fn disturb(&mut self, file: &dyn Subject, offset: u64, len: usize, writes: bool) -> io::Result<()> {
        let number = self.counts.transfers;
        let cut = self.faults.iter().find_map(|fault| match *fault {
            Fault::Truncated { call, len } if call == number => Some(len),
            _ => None,
        });
        if let Some(len) = cut {
            let other = std::fs::File::from(file.reopen_fd(true)?);
            if other.metadata()?.len() > len {
                self.remember(|unsynced| unsynced.set_len(file, len))?;
                other.set_len(len)?;
                self.note(Event::Truncated(len));
            }
        }
        let covered = |at: u64| offset <= at && at - offset < len as u64;
        let exists = |at: u64| {
            file.kind() != FileKind::Regular || sys::status(file).is_ok_and(|status| at < status.size)
        };
        let rots = |fault: &Fault| match *fault {
            Fault::BitRot { offset } => !writes && covered(offset) && exists(offset),
            _ => false,
        };
        if let Some(index) = self.faults.iter().position(rots)
            && let Fault::BitRot { offset } = self.faults.remove(index)
        {
            let other = file.reopen_fd(true)?;
            let mut byte = [0];
            sys::read_exact_at(&other, &mut byte, offset)?;
            sys::write_all_at(&other, &[byte[0] ^ 1], offset)?;
            self.note(Event::Rotted(offset));
        }
        let struck = self.faults.iter().position(|fault| match *fault {
            Fault::IoErrorAt { offset } => covered(offset),
            Fault::IoErrorOn { call } => call == number,
            _ => false,
        });
        match struck {
            Some(index) => {
                self.faults.remove(index);
                self.fail(Event::IoError, Code::IO)
            }
            None => Ok(()),
        }
    }

    fn hits(&mut self, is: fn(&Fault) -> bool) -> bool {
        let mut hit = false;
        for fault in self.faults.iter().filter(|fault| is(fault)) {
            if let Fault::Short { one_in } | Fault::Interrupted { one_in } | Fault::WouldBlock { one_in } =
                *fault
            {
                hit |= self.random.next_u64().is_multiple_of(u64::from(one_in.max(1)));
            }
        }
        hit
    }

    /// Returns the number of bytes with space from `offset`.
    fn room(&self, offset: u64) -> u64 {
        let end = |fault: &Fault| match fault {
            Fault::NoSpace { at } => Some(*at),
            _ => None,
        };
        self.faults.iter().filter_map(end).min().map_or(u64::MAX, |end| end.saturating_sub(offset))
    }

    fn fits(&mut self, offset: u64, len: u64) -> io::Result<()> {
        if self.room(offset) < len {
            return self.fail(Event::NoSpace, Code::NO_SPACE);
        }
        Ok(())
    }

    fn sync_fails(&mut self) -> bool {
        self.counts.syncs += 1;
        let number = self.counts.syncs;
        self.faults.contains(&Fault::SyncFails { sync: number })
    }

    fn synced(&mut self, failed: bool, event: Event) -> io::Result<usize> {
        if failed {
            return self.fail(Event::SyncFailed, Code::IO);
        }
        self.done(event)
    }

    fn remember(&mut self, note: impl FnOnce(&mut Unsynced) -> io::Result<()>) -> io::Result<()> {
        self.unsynced.as_mut().map_or(Ok(()), note)
    }

    fn note(&mut self, event: Event) {
        self.counts.note(&event);
        self.events.push(event);
    }

    /// Records a call that moves no bytes.
    fn done(&mut self, event: Event) -> io::Result<usize> {
        self.note(event);
        Ok(0)
    }

    fn fail<T>(&mut self, event: Event, error: Code) -> io::Result<T> {
        self.note(event);
        Err(error.into())
    }
}
