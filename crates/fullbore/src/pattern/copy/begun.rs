//! Directories begun but not finished by a copy with `resume`: the next run must recognise them as its own targets, not
//! as existing directories to copy into.

use std::ffi::OsStr;
use std::path::Path;

use super::note::{Note, identity};
use fullbore_io::error::Result;
use fullbore_io::file::HeldDir;
use fullbore_io::sys::{self, AsHandle, FileKind, Handle, OpenFlags};

const MAGIC: &[u8; 16] = b"fullbore tree 1\n";
/// Magic, source, target, creation time of the target, hash of all before.
const LEN: usize = 16 + 6 * 8 + 32;

/// The note of a begun directory. It outlives the process, for the next run.
pub(super) struct Begun(Note);

/// The identity of a directory, which a later one in its place does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Made {
    identity: (u64, u64),
    /// Creation time, if the file system reports it: inode numbers are reused.
    born: (u64, u64),
}

impl Made {
    fn of(directory: impl AsHandle) -> sys::Result<Self> {
        let identity = identity(&sys::status(&directory)?);
        let born =
            sys::birth_time(&directory).map_or((0, 0), |(seconds, rest)| (seconds as u64, rest as u64));
        Ok(Self { identity, born })
    }
}

fn bytes(source: (u64, u64), target: Made) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    let Made { identity, born } = target;
    for number in [source.0, source.1, identity.0, identity.1, born.0, born.1] {
        bytes.extend_from_slice(&number.to_le_bytes());
    }
    let hash = blake3::hash(&bytes);
    bytes.extend_from_slice(hash.as_bytes());
    bytes
}

impl Begun {
    /// Notes that the source, given by device and inode, is about to be copied to a directory that does not exist yet.
    pub(super) fn plan(parent: &HeldDir, target: &OsStr, source: (u64, u64)) -> Result<Option<Self>> {
        let Some(note) = Note::open(parent, target, true)? else { return Ok(None) };
        note.write(&bytes(source, Made::default()))?;
        Ok(Some(Self(note)))
    }

    /// Notes that the directory was created.
    pub(super) fn made(&self, source: (u64, u64), target: &Handle) -> Result<()> {
        self.0.write(&bytes(source, Made::of(target).unwrap_or_default()))
    }

    /// The note of an existing directory, if it was begun as the copy of this source.
    pub(super) fn find(
        parent: &HeldDir,
        target: &OsStr,
        source: (u64, u64),
        there: &Handle,
    ) -> Result<Option<Self>> {
        let Some(note) = Note::open(parent, target, false)? else { return Ok(None) };
        let mut said = vec![0; LEN + 1];
        let len = note.read(&mut said, 0)?;
        said.truncate(len);
        let is = |made: Made| said == bytes(source, made);
        let ours = Made::of(there).is_ok_and(is) || is(Made::default()) && untouched(there);
        if ours {
            return Ok(Some(Self(note)));
        }
        if said.starts_with(MAGIC) {
            // Of a directory that is gone, or of another copy to it.
            note.remove()?;
        }
        Ok(None)
    }

    pub(super) fn end(self) -> Result<()> {
        self.0.remove()
    }
}

/// True for an empty directory of this user: one that was just created.
fn untouched(directory: &Handle) -> bool {
    let own = sys::status(directory).is_ok_and(|stat| stat.uid == sys::effective_user());
    let names = sys::Directory::read_from(directory).into_iter().flatten().flatten();
    own && names
        .map(|entry| entry.file_name().to_owned())
        .all(|name| name.as_c_str() == c"." || name.as_c_str() == c"..")
}

/// True if `target` is a directory that an earlier [`copy`](super::copy) of the directory `source` with `resume` began and did not
/// finish: the next one continues in it, even where an existing directory is otherwise copied into.
///
/// # Errors
/// [`ErrorKind::Locked`] if another run is copying it, and the system's.
pub fn copy_was_begun(source: &Path, target: &Path) -> Result<bool> {
    let flags = OpenFlags::READ | OpenFlags::DIRECTORY;
    let (Ok(stat), Ok((parent, name))) = (sys::stat(source), HeldDir::of(target)) else {
        return Ok(false);
    };
    if stat.kind() != FileKind::Directory {
        return Ok(false);
    }
    let Ok(fd) = parent.fd() else { return Ok(false) };
    let Ok(there) = sys::open_at(fd, &name, flags | OpenFlags::NOFOLLOW, 0) else {
        return Ok(false);
    };
    Ok(Begun::find(&parent, &name, identity(&stat), &there)?.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg_attr(windows, ignore = "Wine reports the last change as the time of birth")]
    fn a_begun_directory_is_recognised_and_another_in_its_place_is_not() {
        let room = tempfile::tempdir().unwrap();
        let (source, target) = (room.path().join("source"), room.path().join("target"));
        std::fs::create_dir(&source).unwrap();
        let parent = HeldDir::open(room.path()).unwrap();
        let id = identity(&sys::stat(&source).unwrap());
        let name = OsStr::new("target");
        let begin = || {
            let begun = Begun::plan(&parent, name, id).unwrap().unwrap();
            std::fs::create_dir(&target).unwrap();
            begun
        };
        let held = || HeldDir::open(&target).unwrap().fd().unwrap();
        let begun = begin();
        assert_eq!(
            copy_was_begun(&source, &target).unwrap_err().kind(),
            fullbore_io::error::ErrorKind::Locked
        );
        drop(begun);
        // Killed between the creation and its note.
        assert!(copy_was_begun(&source, &target).unwrap());
        std::fs::write(target.join("file"), "").unwrap();
        assert!(!copy_was_begun(&source, &target).unwrap(), "another user's files");
        std::fs::remove_dir_all(&target).unwrap();
        let begun = begin();
        begun.made(id, &held()).unwrap();
        std::fs::write(target.join("file"), "").unwrap();
        drop(begun);
        assert!(copy_was_begun(&source, &target).unwrap() && copy_was_begun(&source, &target).unwrap());
        assert!(!copy_was_begun(room.path(), &target).unwrap(), "another source");
        let begun = {
            std::fs::remove_dir_all(&target).unwrap();
            begin()
        };
        begun.made(id, &held()).unwrap();
        drop(begun);
        std::fs::rename(&target, room.path().join("away")).unwrap();
        std::fs::create_dir(&target).unwrap();
        assert!(!copy_was_begun(&source, &target).unwrap(), "another directory");
        assert!(!room.path().join(".target.fullbore-journal").exists(), "its note is obsolete");
    }
}
