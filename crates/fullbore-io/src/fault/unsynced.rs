//! Changes that no sync has covered, with the previous state of files and names, so that a power failure can revert them.
//!
//! The model is the worst that POSIX allows: nothing is on the device before it is synced, a file's sync does not cover its
//! names, and a directory's sync covers only names. Real file systems keep more (`docs/durability.md`).

use std::fs;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::Rng;

use super::call::Subject;
use crate::file::held::directory_of;
use crate::sys::{self, FileKind};

/// A class of states that a power failure could leave; for [`Plan::crash`](super::Plan::crash).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CrashState {
    /// All unsynced bytes, lengths and names are lost.
    RenameLost,
    /// The names are kept, unsynced bytes and lengths are lost: the way files become empty when programs rename without
    /// syncing.
    RenameKept,
    /// Each unsynced write is kept or lost at random (by the plan's seed), in any order; of the names, the first few are
    /// kept.
    Torn,
}

/// The changes that a power failure reverts.
#[derive(Debug, Default)]
pub(super) struct Unsynced {
    files: Vec<Pending>,
    names: Vec<Name>,
}

/// The unsynced changes of one file, oldest first.
#[derive(Debug)]
struct Pending {
    identity: (u64, u64),
    /// The plan's own handle, which also prevents reuse of the inode number.
    handle: fs::File,
    changes: Vec<Change>,
}

/// A write or change of length, with the previous content.
#[derive(Debug)]
struct Change {
    len: u64,
    offset: u64,
    /// Number of bytes written; `None` if the file was truncated or extended to `offset`.
    written: Option<u64>,
    /// Previous bytes, up to the end of the file.
    before: Vec<u8>,
    /// True if a sync of this change failed: no later sync brings it to the device.
    dropped: bool,
}

/// A change of a name, with the data to undo it.
#[derive(Debug)]
struct Name {
    directory: PathBuf,
    /// Previous name; `None` if the file had none.
    from: Option<PathBuf>,
    to: PathBuf,
    /// The file previously named `to`, as on the device, and its mode.
    old: Option<(Vec<u8>, fs::Permissions)>,
    /// True if a sync of the directory failed: no later sync brings the name to the device.
    dropped: bool,
}

impl Unsynced {
    /// Records the bytes that a write replaces.
    pub(super) fn write(&mut self, file: &dyn Subject, offset: u64, len: usize) -> io::Result<()> {
        let Some(pending) = self.pending(file)? else { return Ok(()) };
        let now = pending.handle.metadata()?.len();
        let held = now.saturating_sub(offset).min(len as u64);
        pending.note(now, offset, Some(len as u64), held)
    }

    /// Records the bytes that a change of the length removes.
    pub(super) fn set_len(&mut self, file: &dyn Subject, len: u64) -> io::Result<()> {
        let Some(pending) = self.pending(file)? else { return Ok(()) };
        let now = pending.handle.metadata()?.len();
        pending.note(now, len, None, now.saturating_sub(len))
    }

    /// Records the bytes that become zeros. The length stays.
    pub(super) fn zeroed(&mut self, file: &dyn Subject, offset: u64, len: u64) -> io::Result<()> {
        let Some(pending) = self.pending(file)? else { return Ok(()) };
        let now = pending.handle.metadata()?.len();
        let held = now.saturating_sub(offset).min(len);
        pending.note(now, offset, Some(held), held)
    }

    /// Records the length if it grows.
    pub(super) fn extended(&mut self, file: &dyn Subject, len: u64) -> io::Result<()> {
        let Some(pending) = self.pending(file)? else { return Ok(()) };
        let now = pending.handle.metadata()?.len();
        if now < len { pending.note(now, len, None, 0) } else { Ok(()) }
    }

    /// Notes a sync, or failed sync, of a range and of the file's length.
    pub(super) fn synced_range(
        &mut self,
        file: &dyn Subject,
        range: &Range<u64>,
        failed: bool,
    ) -> io::Result<()> {
        let Some(pending) = self.pending(file)? else { return Ok(()) };
        if failed {
            // A failed sync may lose more than the range, so all changes are dropped.
            pending.changes.iter_mut().for_each(|change| change.dropped = true);
            return Ok(());
        }
        pending.mark_synced(range)
    }

    pub(super) fn synced(&mut self, file: &dyn Subject, failed: bool) -> io::Result<()> {
        let Some(pending) = self.pending(file)? else { return Ok(()) };
        if failed {
            pending.changes.iter_mut().for_each(|change| change.dropped = true);
        } else {
            pending.changes.retain(|change| change.dropped);
        }
        Ok(())
    }

    pub(super) fn synced_directory(&mut self, directory: &Path, failed: bool) -> io::Result<()> {
        let directory = resolved(directory);
        if failed {
            let lost = self.names.iter_mut().filter(|name| name.directory == directory);
            lost.for_each(|name| name.dropped = true);
        } else {
            self.names.retain(|name| name.dropped || name.directory != directory);
        }
        Ok(())
    }

    /// Records the first name of a nameless file.
    pub(super) fn linked(&mut self, name: &Path) -> io::Result<()> {
        self.names.push(Name {
            directory: resolved(directory_of(name)),
            from: None,
            to: name.to_owned(),
            old: None,
            dropped: false,
        });
        Ok(())
    }

    pub(super) fn renamed(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        let old = match fs::metadata(to) {
            Ok(status) => {
                let identity = sys::stat(to)?.identity();
                let content = fs::read(to)?;
                let content = match self.files.iter().find(|pending| pending.identity == identity) {
                    Some(pending) => pending.undone(content, |_| false),
                    None => content,
                };
                Some((content, status.permissions()))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        self.names.push(Name {
            directory: resolved(directory_of(to)),
            from: Some(from.to_owned()),
            to: to.to_owned(),
            old,
            dropped: false,
        });
        Ok(())
    }

    pub(super) fn lose(&mut self, worst: CrashState, random: &mut SplitMix64) -> io::Result<()> {
        for pending in self.files.drain(..).filter(|pending| !pending.changes.is_empty()) {
            let len = pending.handle.metadata()?.len();
            let mut now = vec![0; usize::try_from(len).map_err(|_| io::ErrorKind::OutOfMemory)?];
            sys::read_exact_at(&pending.handle, &mut now, 0)?;
            let kept: Vec<bool> = pending
                .changes
                .iter()
                .map(|change| worst == CrashState::Torn && !change.dropped && random.next_u64() >> 63 == 0)
                .collect();
            let then = pending.undone(now, |change| kept[change]);
            pending.handle.set_len(0)?;
            sys::write_all_at(&pending.handle, &then, 0)?;
        }
        let kept = match worst {
            CrashState::RenameLost => 0,
            CrashState::RenameKept => self.names.len(),
            CrashState::Torn => (random.next_u64() % (self.names.len() as u64 + 1)) as usize,
        };
        let names = self.names.drain(..).enumerate();
        let lost: Vec<Name> =
            names.filter(|(at, name)| *at >= kept || name.dropped).map(|(_, name)| name).collect();
        for name in lost.into_iter().rev() {
            let undone = match &name.from {
                Some(from) => fs::rename(&name.to, from),
                None => fs::remove_file(&name.to),
            };
            match undone {
                // The program removed the name again.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                undone => undone?,
            }
            if let Some((content, mode)) = name.old {
                fs::write(&name.to, content)?;
                fs::set_permissions(&name.to, mode)?;
            }
        }
        Ok(())
    }

    /// Returns the changes of a file; `None` if it is not a regular file, which loses nothing.
    fn pending(&mut self, file: &dyn Subject) -> io::Result<Option<&mut Pending>> {
        if file.kind() != FileKind::Regular {
            return Ok(None);
        }
        let stat = sys::status(file)?;
        let identity = stat.identity();
        let index = match self.files.iter().position(|pending| pending.identity == identity) {
            Some(index) => index,
            None => {
                let handle = fs::File::from(file.reopen_fd(true)?);
                self.files.push(Pending { identity, handle, changes: Vec::new() });
                self.files.len() - 1
            }
        };
        Ok(Some(&mut self.files[index]))
    }
}

impl Pending {
    fn note(&mut self, len: u64, offset: u64, written: Option<u64>, held: u64) -> io::Result<()> {
        let mut before = vec![0; usize::try_from(held).map_err(|_| io::ErrorKind::OutOfMemory)?];
        sys::read_exact_at(&self.handle, &mut before, offset)?;
        self.changes.push(Change { len, offset, written, before, dropped: false });
        Ok(())
    }

    /// Makes a range and the length, as they are now, the state that undoing the changes restores.
    fn mark_synced(&mut self, range: &Range<u64>) -> io::Result<()> {
        let now = self.handle.metadata()?.len();
        for change in self.changes.iter_mut().filter(|change| !change.dropped) {
            // Bytes then beyond the end and now before it revert to zeros.
            let end = change.written.map_or(0, |len| change.offset.saturating_add(len)).min(now);
            let held = end.saturating_sub(change.offset).max(change.before.len() as u64);
            change.before.resize(usize::try_from(held).map_err(|_| io::ErrorKind::OutOfMemory)?, 0);
            change.len = now;
            let start = range.start.max(change.offset);
            let end = range.end.min(change.offset + held).min(now);
            if start < end {
                let place = (start - change.offset) as usize..(end - change.offset) as usize;
                sys::read_exact_at(&self.handle, &mut change.before[place], start)?;
            }
        }
        Ok(())
    }

    /// Returns the content without the changes, except those whose number is `kept`.
    fn undone(&self, mut content: Vec<u8>, kept: impl Fn(usize) -> bool) -> Vec<u8> {
        let mut again = Vec::new();
        for (number, change) in self.changes.iter().enumerate().rev() {
            let start = change.offset as usize;
            if kept(number) {
                let end = change.written.map_or(start, |len| start + len as usize);
                // A write that was permitted but not made, or made in part, left the file shorter.
                let after = content.get(start..end.min(content.len())).unwrap_or_default().to_vec();
                again.push((start, change.written.is_some(), after));
            }
            let end = start + change.before.len();
            if content.len() < end {
                content.resize(end, 0);
            }
            content[start..end].copy_from_slice(&change.before);
            content.resize(change.len as usize, 0);
        }
        for (start, written, after) in again.into_iter().rev() {
            let end = start + after.len();
            if !written || content.len() < end {
                content.resize(end, 0);
            }
            content[start..end].copy_from_slice(&after);
        }
        content
    }
}

fn resolved(directory: &Path) -> PathBuf {
    directory.canonicalize().unwrap_or_else(|_| directory.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::{Call, Fault, Operation, Plan};
    use crate::file::{Access, Durability, File, Mode, OpenOptions, Output};

    #[test]
    fn a_torn_state_keeps_some_writes_whole() {
        let directory = tempfile::tempdir().unwrap();
        let mut seen = std::collections::BTreeSet::new();
        for seed in 0..64 {
            let plan = Plan::new(seed).with_power_failure();
            let path = directory.path().join(format!("{seed}"));
            let file = File::create_new(&path).unwrap();
            file.write_all_at(b"......", 0).unwrap();
            let file = file.with_faults(&plan);
            for (offset, part) in [(0, b"a"), (2, b"b"), (4, b"c")] {
                file.write_all_at(part, offset).unwrap();
            }
            plan.crash(CrashState::Torn).unwrap();
            seen.insert(String::from_utf8(fs::read(&path).unwrap()).unwrap());
        }
        let every = ["......", "....c.", "..b...", "..b.c.", "a.....", "a...c.", "a.b...", "a.b.c."]
            .map(str::to_owned);
        assert_eq!(seen, every.into());
    }

    #[test]
    fn a_failed_sync_loses_its_changes_for_good() {
        let directory = tempfile::tempdir().unwrap();
        let plan = Plan::new(1).with(Fault::SyncFails { sync: 1 }).with_power_failure();
        let path = directory.path().join("file");
        let file = File::create_new(&path).unwrap().with_faults(&plan);
        file.write_all_at(b"lost", 0).unwrap();
        file.sync_all().unwrap_err();
        // After the failure, a sync through a new handle succeeds but restores nothing.
        let reopened = File::open_write(&path).unwrap().with_faults(&plan);
        reopened.sync_all().unwrap();
        plan.crash(CrashState::RenameKept).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"");
    }

    /// A plan that records changes, and a file under it.
    fn recorded(directory: &tempfile::TempDir, faults: &[Fault]) -> (Plan, PathBuf, File) {
        let plan = faults.iter().fold(Plan::new(1), |plan, &fault| plan.with(fault)).with_power_failure();
        let path = directory.path().join("file");
        fs::write(&path, "old").unwrap();
        let file = File::open_write(&path).unwrap().with_faults(&plan);
        (plan, path, file)
    }

    #[test]
    fn pages_in_the_cache_of_the_device_are_lost() {
        let directory = tempfile::tempdir().unwrap();
        let (plan, path, file) = recorded(&directory, &[]);
        file.write_all_at(b"new", 0).unwrap();
        file.write_back().unwrap();
        plan.crash(CrashState::RenameKept).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"old");
    }

    #[test]
    fn appended_bytes_are_those_at_the_end() {
        let directory = tempfile::tempdir().unwrap();
        let (_, path, _) = recorded(&directory, &[]);
        let append = |plan: &Plan| {
            let options = OpenOptions::new().access(Access::Write).mode(Mode::Append).open(&path);
            options.unwrap().with_faults(plan).write_all_at(b"er", 0)
        };
        append(&Plan::new(1).with(Fault::NoSpace { at: 3 })).unwrap_err();
        let plan = Plan::new(1).with_power_failure();
        append(&plan).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"older");
        plan.crash(CrashState::RenameKept).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"old");
    }

    #[test]
    fn names_of_a_failed_sync_and_removed_names_are_lost() {
        let directory = tempfile::tempdir().unwrap();
        let rename = |plan: &Plan, name: &str| {
            let to = directory.path().join(name);
            let output = Output::replace(&to).unwrap().with_faults(plan);
            output.file().write_all_at(b"new", 0).unwrap();
            output.commit(Durability::None).unwrap();
            to
        };
        let plan = Plan::new(1).with(Fault::SyncFails { sync: 1 }).with_power_failure();
        let (lost, removed) = (rename(&plan, "lost"), rename(&plan, "removed"));
        let sync = || {
            let call = Call::SyncDirectory(directory.path());
            let file = File::open(&lost).unwrap();
            plan.before(&Operation { file: &file, unit: 1, memory: 0, call })
        };
        sync().unwrap_err();
        sync().unwrap();
        let kept = rename(&plan, "kept");
        sync().unwrap();
        fs::remove_file(&removed).unwrap();
        plan.crash(CrashState::RenameKept).unwrap();
        assert_eq!([lost, removed, kept].map(|path| path.exists()), [false, false, true]);
    }

    #[test]
    fn a_byte_beyond_the_end_does_not_rot() {
        let directory = tempfile::tempdir().unwrap();
        let (plan, _, file) = recorded(&directory, &[Fault::BitRot { offset: 5 }]);
        assert_eq!(file.read_at(&mut [0; 8], 0).unwrap(), 3);
        file.write_all_at(b"longer", 0).unwrap();
        let mut read = [0; 6];
        file.read_exact_at(&mut read, 0).unwrap();
        assert!(&read != b"longer" && plan.counts().rotted == 1);
    }
}
