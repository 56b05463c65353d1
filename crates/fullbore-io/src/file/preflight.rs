//! Checks before calls: the poisoned state of the file, and a test's fault plan.

use std::io;
#[cfg(feature = "fault")]
use std::sync::Arc;
#[cfg(feature = "fault")]
use std::sync::atomic::Ordering;

use super::calls::BUFFERS;
use super::inner::File;
#[cfg(feature = "fault")]
use super::types::CachePolicy;
use super::types::Call;
use crate::buf::Direction;
#[cfg(feature = "fault")]
use crate::fault::call::{Operation, Subject};
#[cfg(feature = "fault")]
use crate::fault::plan::Plan;
#[cfg(feature = "fault")]
use crate::sys::{self, FileKind, Handle};

impl File {
    /// Returns the number of bytes, up to `len`, that a transfer may request under the plan. `memory`: the addresses of the
    /// buffers, and of several their lengths, combined by bitwise or.
    #[inline]
    pub(crate) fn before(
        &self,
        direction: Direction,
        offset: u64,
        len: usize,
        memory: usize,
    ) -> io::Result<usize> {
        #[cfg(feature = "fault")]
        if let Some(plan) = &self.inner.health.plan {
            // In append mode the system ignores the offset of a write.
            let offset = match direction {
                Direction::Write if self.appends() => sys::status(self)?.size,
                _ => offset,
            };
            let call = match direction {
                Direction::Read => Call::Read { offset, len },
                Direction::Write => Call::Write { offset, len },
            };
            return plan.before(&Operation { file: self, unit: self.inner.unit, memory, call });
        }
        let _ = (direction, offset, memory);
        Ok(len)
    }

    /// The offset of the next byte for a fault plan, in a file without offsets: the bytes transferred so far in that direction.
    #[inline]
    pub(super) fn flowed(&self, direction: Direction) -> u64 {
        #[cfg(feature = "fault")]
        if let Some(flowed) = &self.inner.health.flowed {
            return flowed[direction as usize].load(Ordering::Relaxed);
        }
        let _ = direction;
        0
    }

    #[inline]
    pub(super) fn flows(&self, direction: Direction, count: usize) {
        #[cfg(feature = "fault")]
        if let Some(flowed) = &self.inner.health.flowed {
            flowed[direction as usize].fetch_add(count as u64, Ordering::Relaxed);
        }
        let _ = (direction, count);
    }

    #[inline]
    pub(crate) fn most_buffers(&self) -> usize {
        #[cfg(feature = "fault")]
        if let Some(most) = self.inner.health.plan.as_ref().and_then(Plan::buffers) {
            return most.clamp(1, BUFFERS);
        }
        BUFFERS
    }

    /// Returns the number of whole buffers that a transfer may take under the plan; if it is 0, also the number of bytes of the
    /// first.
    #[inline]
    pub(super) fn before_vector<'a>(
        &self,
        direction: Direction,
        offset: u64,
        buffers: impl ExactSizeIterator<Item = &'a [u8]> + Clone,
    ) -> io::Result<(usize, usize)> {
        #[cfg(feature = "fault")]
        if self.inner.health.plan.is_some() {
            let memory = buffers.clone().fold(0, |bits, part| bits | part.as_ptr().addr() | part.len());
            let total = buffers.clone().map(<[u8]>::len).sum();
            let mut left = self.before(direction, offset, total, memory)?;
            let whole = buffers.take_while(|part| {
                let fits = part.len() <= left;
                left -= if fits { part.len() } else { 0 };
                fits
            });
            let whole = whole.count();
            return Ok((whole, left));
        }
        let _ = (direction, offset);
        Ok((buffers.len(), 0))
    }

    /// Returns the fault plan of the file, for callers that make system calls themselves and so must consult
    /// [`Plan::before`].
    #[cfg(feature = "fault")]
    pub fn plan(&self) -> Option<&Plan> {
        self.inner.health.plan.as_ref()
    }

    #[cfg(feature = "fault")]
    pub(crate) fn under_plan(&self, plan: Option<Plan>) -> Self {
        let mut inner = self.inner.derived();
        inner.health.flowed = plan.is_some().then(Arc::default);
        inner.health.plan = plan;
        let file = Self { inner: Arc::new(inner), ..self.clone() };
        match self.cache_policy().0 {
            CachePolicy::Keep => file,
            // The cache mode has handles and state of its own, which must be under the plan too.
            policy => file.with_cache(policy).0,
        }
    }

    /// Consults the plan about a call that moves no bytes, or all of them or none.
    #[inline]
    pub(super) fn judge(&self, call: Call<'_>) -> io::Result<()> {
        #[cfg(feature = "fault")]
        if let Some(plan) = &self.inner.health.plan {
            plan.before(&Operation { file: self, unit: 1, memory: 0, call })?;
        }
        let _ = call;
        Ok(())
    }

    /// Called before bytes are read or changed as a whole or not at all.
    #[inline]
    pub(crate) fn before_whole(&self, direction: Direction, offset: u64, len: usize) -> io::Result<()> {
        match direction {
            Direction::Read => self.judge(Call::View { offset, len }),
            Direction::Write => self.sound().and_then(|()| self.judge(Call::Change { offset, len })),
        }
    }

    /// Returns the same open file with a plan attached, which every handle made from it inherits.
    ///
    /// ```
    /// # let directory = tempfile::tempdir().unwrap();
    /// use fullbore_io::fault::{Fault, Plan};
    /// use fullbore_io::file::File;
    ///
    /// let plan = Plan::new(1).with(Fault::SyncFails { sync: 1 });
    /// let file = File::create_new(directory.path().join("file"))?.with_faults(&plan);
    /// assert!(file.sync_data().is_err());
    /// // The kernel would report success now; the poisoned file does not.
    /// assert!(file.sync_data().is_err());
    /// # Ok::<(), fullbore_io::Error>(())
    /// ```
    #[cfg(feature = "fault")]
    #[must_use]
    pub fn with_faults(&self, plan: &Plan) -> Self {
        self.under_plan(Some(plan.clone()))
    }

    /// Returns the same open file without its plan, for a caller that consults the plan itself.
    #[cfg(feature = "fault")]
    #[must_use]
    pub fn without_faults(&self) -> Self {
        self.under_plan(None)
    }
}

#[cfg(feature = "fault")]
impl Subject for File {
    fn reopen_fd(&self, write: bool) -> io::Result<Handle> {
        Self::reopen_fd(self, write)
    }

    fn kind(&self) -> FileKind {
        Self::kind(self)
    }
}
