//! Notes that a run leaves beside its target for the next run: private files of this user.
//!
//! The name of a note is predictable, so another user may have created a file there. A file is a note only if it is
//! regular, has one link, belongs to this user and is private. If another file has the name, the note goes under a
//! random name, which the next run finds by reading the directory.
//!
//! A directory that a copy with `resume` began but did not finish has such a note, so that the next run recognises the
//! directory as its own target and not as an existing directory to copy into.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use fullbore_io::error::{Error, ErrorKind, Result};
use fullbore_io::file::{File, HeldDir, beginning, hidden_name};
use fullbore_io::sys::{
    self, AsHandle, AtFlags, Code, FileKind, FileSystemKind, Handle, OpenFlags, OsStrExt, OsStringExt, Status,
};

/// Attempts at a name that other processes take and release meanwhile.
const ATTEMPTS: usize = 64;

const ENDING: &str = ".fullbore-journal";

/// The beginning of the journal of a file.
const COPY: &[u8] = b"fullbore copy ";

/// Flags to open a note, or the file that it names: links are not followed, and pipes do not block.
const FLAGS: OpenFlags =
    OpenFlags::READ_WRITE.union(OpenFlags::NOFOLLOW).union(OpenFlags::NONBLOCK).union(OpenFlags::NOCTTY);

/// An open note, locked against other runs. It outlives the process, for the next run.
pub(super) struct Note {
    pub(super) file: File,
    /// True if this run created the file.
    pub(super) made: bool,
    pub(super) directory: HeldDir,
    name: OsString,
}

impl Note {
    /// Opens the note of `target`, or creates it if there is none and `make` is set.
    pub(super) fn open(directory: &HeldDir, target: &OsStr, make: bool) -> Result<Option<Self>> {
        let name = name_of(target, ENDING);
        let failed = |error: Code| Error::io("open", directory.path().join(&name), error.into());
        let uncreated = |error: Code| Error::io("create", directory.path().join(&name), error.into());
        let fd = directory.fd().map_err(|error| Error::io("open", directory.path(), error))?;
        for _ in 0..ATTEMPTS {
            let (found, at) = match open_private(&fd, &name) {
                Ok(None) => others(&fd, &name).map_err(failed)?,
                Ok(Some((own, _))) => (Some(own), name.clone()),
                Err(Code::NOT_FOUND) => (None, name.clone()),
                Err(error) => return Err(failed(error)),
            };
            let made = found.is_none();
            let note = match found {
                Some(own) => own,
                None if !make => return Ok(None),
                None => match create(&fd, &at) {
                    Err(Code::EXISTS) => continue,
                    made => made.map_err(uncreated)?,
                },
            };
            lock(&note, directory, &at)?;
            // Another run may have ended and removed it before the lock was acquired.
            let same = sys::stat_at(&fd, &at, AtFlags::NOFOLLOW)
                .is_ok_and(|there| sys::status(&note).is_ok_and(|stat| there.identity() == stat.identity()));
            if same {
                let file = File::from_fd(note, directory.path().join(&at))?;
                return Ok(Some(Self { file, made, directory: directory.clone(), name: at }));
            }
        }
        Err(failed(Code::EXISTS))
    }

    /// Reads from `offset` until `memory` is full or the note ends; returns the number of bytes.
    pub(super) fn read(&self, memory: &mut [u8], offset: u64) -> Result<usize> {
        let mut filled = 0;
        while filled < memory.len() {
            match self.file.read_at(&mut memory[filled..], offset + filled as u64)? {
                0 => break,
                count => filled += count,
            }
        }
        Ok(filled)
    }

    /// Replaces the content. A killed run leaves the old beginning, or the new content.
    pub(super) fn write(&self, bytes: &[u8]) -> Result<()> {
        self.file.set_len(bytes.len() as u64)?;
        self.file.write_all_at(bytes, 0)
    }

    /// Returns the result of a step; removes the note if this run created it and the step failed.
    pub(super) fn kept<T, E>(&self, result: std::result::Result<T, E>) -> std::result::Result<T, E> {
        if self.made && result.is_err() {
            let _ = self.remove();
        }
        result
    }

    pub(super) fn remove(&self) -> Result<()> {
        self.remove_beside(&self.name)
    }

    /// Removes a file of the same directory.
    pub(super) fn remove_beside(&self, name: &OsStr) -> Result<()> {
        let removed = self.directory.fd().and_then(|fd| Ok(sys::remove(fd, name, AtFlags::empty())?));
        removed.map_err(|error| Error::io("remove", self.directory.path().join(name), error))
    }
}

/// A hidden name made of another name and an ending.
pub(super) fn name_of(target: &OsStr, ending: &str) -> OsString {
    let name = target.as_bytes();
    let mut own = b".".to_vec();
    if name.len() <= 100 {
        own.extend_from_slice(name);
    } else {
        // Names have at most 255 bytes, or 143 (eCryptfs), and long ones may differ only at the end.
        own.extend_from_slice(beginning(name, 60));
        own.extend_from_slice(&blake3::hash(name).to_hex().as_bytes()[..32]);
    }
    own.extend_from_slice(ending.as_bytes());
    OsString::from_vec(own)
}

/// Opens a name in a directory for reading and writing, if it is a [private](private) file.
pub(super) fn open_private(directory: &Handle, name: &OsStr) -> sys::Result<Option<(Handle, Status)>> {
    match sys::open_at(directory, name, FLAGS, 0) {
        Ok(fd) => {
            let stat = sys::status(&fd)?;
            Ok(private(directory, &stat).then_some((fd, stat)))
        }
        Err(
            error @ (Code::TOO_MANY_OPEN
            | Code::TOO_MANY_OPEN_IN_ALL
            | Code::OUT_OF_MEMORY
            | Code::IO
            | Code::STALE),
        ) => Err(error),
        Err(Code::NOT_FOUND) => Err(Code::NOT_FOUND),
        Err(_) => Ok(None),
    }
}

/// Creates a file that only this user can open.
pub(super) fn create(directory: &Handle, name: &OsStr) -> sys::Result<Handle> {
    let flags = FLAGS | OpenFlags::CREATE | OpenFlags::EXCLUSIVE;
    sys::open_at(directory, name, flags, 0o600)
}

/// Removes a regular file of this user that is of no further use; leaves other files alone.
pub(super) fn remove_own(directory: &Handle, name: &OsStr) -> sys::Result<()> {
    let there = sys::stat_at(directory, name, AtFlags::NOFOLLOW)?;
    let own = there.uid == sys::effective_user() || private(directory, &there);
    if there.kind() == FileKind::Regular && own {
        sys::remove(directory, name, AtFlags::empty())?;
    }
    Ok(())
}

/// True for a regular file with one link that only this user can have created and can open.
fn private(directory: &Handle, stat: &Status) -> bool {
    let regular = stat.kind() == FileKind::Regular;
    let ours = stat.uid == sys::effective_user() && stat.mode & 0o7177 == 0;
    regular && stat.nlink == 1 && (ours || as_made_here(directory, stat))
}

/// True for files as one created now: some file systems (FAT, shares) have one owner and mode for all.
fn as_made_here(directory: &Handle, stat: &Status) -> bool {
    let look = |stat: &Status| (stat.uid, stat.mode);
    status_of_new_file(directory).is_ok_and(|made| look(&made) == look(stat))
}

/// The status of a file that is created for it and removed.
pub(super) fn status_of_new_file(directory: &Handle) -> sys::Result<Status> {
    let name = hidden_name(OsStr::new("probe"));
    let status = create(directory, &name).and_then(sys::status);
    let _ = sys::remove(directory, &name, AtFlags::empty());
    status
}

/// A note under a random name beside one whose name is taken, or a free name for it.
fn others(directory: &Handle, taken: &OsStr) -> sys::Result<(Option<Handle>, OsString)> {
    let stem = [taken.as_bytes(), b"."].concat();
    let listed = sys::Directory::read_from(directory).into_iter().flatten().flatten();
    for entry in listed.filter(|entry| entry.file_name().to_bytes().starts_with(&stem)) {
        let name = OsStr::from_bytes(entry.file_name().to_bytes()).to_owned();
        match open_private(directory, &name) {
            Ok(Some((own, _))) => return Ok((Some(own), name)),
            Ok(None) | Err(Code::NOT_FOUND) => {}
            Err(error) => return Err(error),
        }
    }
    Ok((None, OsString::from_vec([stem, random().into_bytes()].concat())))
}

pub(super) fn random() -> String {
    let name = hidden_name(OsStr::new(""));
    name.to_string_lossy().rsplit('-').next().unwrap_or_default().to_owned()
}

fn lock(fd: impl AsHandle, directory: &HeldDir, name: &OsStr) -> Result<()> {
    loop {
        match sys::lock_whole(&fd, sys::LockRequest::Exclusive) {
            Err(Code::INTERRUPTED) => {}
            Err(Code::WOULD_BLOCK) => {
                let what = "another process has locked it";
                return Err(Error::new(ErrorKind::Locked, "open", directory.path().join(name), what)
                    .advise("another run may be copying there"));
            }
            // If the file system has no locks, concurrent runs are up to the user.
            _ => return Ok(()),
        }
    }
}

/// True if inode numbers are the same after another mount: some file systems make them up (FAT, many of FUSE, shares).
pub(super) fn has_stable_inodes(file: impl AsHandle) -> bool {
    let makes_up = |kind: FileSystemKind| {
        kind.is_fuse() || matches!(kind.name(), "vfat" | "exfat" | "cifs" | "smb3" | "smbfs")
    };
    !sys::file_system_kind(file).is_ok_and(makes_up)
}

const MAGIC: &[u8; 16] = b"fullbore tree 2\n";
/// Length in bytes of magic, source and target, which the path of the source and the hash of all before follow.
const NUMBERS: usize = 16 + 6 * 8;
/// Most bytes of a note.
const MOST: usize = 1 << 16;

/// The note of a begun directory. It outlives the process, for the next run.
pub(super) struct BegunDirectory {
    note: Note,
    target: OsString,
    source: DirectoryIdentity,
    /// The path of the source, for messages.
    source_path: PathBuf,
}

/// The identity of a directory, which a later one in its place does not have. The number of its device differs from mount to
/// mount.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct DirectoryIdentity {
    inode: u64,
    /// Creation time, if the file system reports it: inode numbers are reused.
    born: (u64, u64),
}

impl DirectoryIdentity {
    fn of(directory: &Handle) -> sys::Result<Self> {
        let born = sys::birth_time(directory).map(|(seconds, rest)| (seconds as u64, rest as u64));
        let inode = match born {
            Some(_) if !has_stable_inodes(directory) => 0,
            _ => sys::status(directory)?.ino,
        };
        Ok(Self { inode, born: born.unwrap_or_default() })
    }
}

fn bytes(source: DirectoryIdentity, target: DirectoryIdentity, source_path: &Path) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    for DirectoryIdentity { inode, born } in [source, target] {
        [inode, born.0, born.1].iter().for_each(|number| bytes.extend_from_slice(&number.to_le_bytes()));
    }
    bytes.extend_from_slice(source_path.as_os_str().as_bytes());
    let hash = blake3::hash(&bytes);
    bytes.extend_from_slice(hash.as_bytes());
    bytes
}

/// The path of the source in a note; `None` if it is damaged.
fn source_path(bytes: &[u8]) -> Option<&Path> {
    let (said, hash) = bytes.split_at_checked(bytes.len().checked_sub(32)?)?;
    let whole = said.starts_with(MAGIC) && blake3::hash(said).as_bytes() == hash;
    whole.then(|| said.get(NUMBERS..).map(|path| Path::new(OsStr::from_bytes(path)))).flatten()
}

/// True if the note beside a name is the journal of a file that was copied to it.
pub(super) fn is_journal(parent: &HeldDir, target: &OsStr) -> Result<bool> {
    let Some(note) = Note::open(parent, target, false)? else { return Ok(false) };
    let mut said = [0; COPY.len()];
    Ok(note.read(&mut said, 0)? == said.len() && said == *COPY)
}

impl BegunDirectory {
    /// Notes that the open source is about to be copied to a directory that does not exist yet.
    pub(super) fn plan(parent: &HeldDir, target: &OsStr, source: (&Handle, &Path)) -> Result<Option<Self>> {
        let Some(note) = Note::open(parent, target, true)? else { return Ok(None) };
        let begun = Self::new(note, target, source)?;
        let content = bytes(begun.source, DirectoryIdentity::default(), &begun.source_path);
        begun.note.kept(begun.note.write(&content))?;
        Ok(Some(begun))
    }

    fn new(note: Note, target: &OsStr, (source, path): (&Handle, &Path)) -> Result<Self> {
        let source = DirectoryIdentity::of(source).map_err(|error| Error::io("stat", path, error.into()))?;
        let source_path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        Ok(Self { note, target: target.to_owned(), source, source_path })
    }

    /// True if it is the note of this directory.
    pub(super) fn is_of(&self, parent: &HeldDir, target: &OsStr) -> bool {
        self.target == target && self.note.directory.identity() == parent.identity()
    }

    /// Returns the result of creating the directory; removes the note if it failed.
    pub(super) fn kept<T>(&self, made: sys::Result<T>) -> sys::Result<T> {
        self.note.kept(made)
    }

    /// Notes that the directory was created.
    pub(super) fn made(&self, target: &Handle) -> Result<()> {
        let target = DirectoryIdentity::of(target).unwrap_or_default();
        self.note.write(&bytes(self.source, target, &self.source_path))
    }

    /// The note of an existing directory, if it was begun as the copy of this source.
    ///
    /// # Errors
    /// If the note is of another directory, or of a copy of another source: it may or may not be obsolete.
    pub(super) fn find(
        parent: &HeldDir,
        target: &OsStr,
        source: (&Handle, &Path),
        there: &Handle,
    ) -> Result<Option<Self>> {
        let Some(note) = Note::open(parent, target, false)? else { return Ok(None) };
        let mut said = vec![0; MOST];
        let len = note.read(&mut said, 0)?;
        said.truncate(len);
        if said.starts_with(COPY) {
            // Of a file that had this name.
            return Ok(None);
        }
        let begun = Self::new(note, target, source)?;
        let path = source_path(&said);
        let is = |made| path.is_some_and(|path| said == bytes(begun.source, made, path));
        let ours = DirectoryIdentity::of(there).is_ok_and(is)
            || is(DirectoryIdentity::default()) && untouched(there);
        if ours {
            return Ok(Some(begun));
        }
        let what = match path {
            Some(path) => format!("an incomplete copy of {} was begun under this name", path.display()),
            None => "its journal is damaged".to_owned(),
        };
        let advice = format!("remove {} or name another target", begun.note.file.path().display());
        Err(Error::new(ErrorKind::Invalid, "resume", parent.path().join(target), what).advise(advice))
    }

    pub(super) fn end(self) -> Result<()> {
        self.note.remove()
    }
}

/// True for an empty directory of this user: one that was just created.
fn untouched(directory: &Handle) -> bool {
    sys::status(directory).is_ok_and(|stat| stat.uid == sys::effective_user()) && is_empty(directory)
}

pub(super) fn is_empty(directory: &Handle) -> bool {
    let names = sys::Directory::read_from(directory).into_iter().flatten().flatten();
    names
        .map(|entry| entry.file_name().to_owned())
        .all(|name| name.as_c_str() == c"." || name.as_c_str() == c"..")
}

/// True if `target` is a directory that an earlier copy of the directory `source` with `resume` began and did not
/// finish: the next one continues in it, even where an existing directory is otherwise copied into.
///
/// # Errors
/// [`ErrorKind::Locked`] if another run is copying it, [`ErrorKind::Invalid`] if an incomplete copy of another directory was begun
/// there, and the system's.
pub fn copy_was_begun(source: &Path, target: &Path) -> Result<bool> {
    let flags = OpenFlags::READ | OpenFlags::DIRECTORY;
    let (Ok(open), Ok((parent, name))) = (sys::open(source, flags, 0), HeldDir::of(target)) else {
        return Ok(false);
    };
    let Ok(fd) = parent.fd() else { return Ok(false) };
    let Ok(there) = sys::open_at(fd, &name, flags | OpenFlags::NOFOLLOW, 0) else {
        return Ok(false);
    };
    Ok(BegunDirectory::find(&parent, &name, (&open, source), &there)?.is_some())
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn held() -> (tempfile::TempDir, HeldDir) {
        let room = tempfile::tempdir().unwrap();
        let held = HeldDir::open(room.path()).unwrap();
        (room, held)
    }

    #[test]
    fn a_file_that_another_user_could_have_planted_is_not_a_note() {
        let write = |path: &Path, mode| {
            std::fs::write(path, "planted").unwrap();
            std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
        };
        let plants: [&dyn Fn(&Path); 5] = [
            &|path| write(path, 0o644),
            &|path| {
                let other = path.with_file_name("other");
                write(&other, 0o600);
                std::fs::hard_link(other, path).unwrap();
            },
            &|path| symlink("elsewhere", path).unwrap(),
            &|path| std::fs::create_dir(path).unwrap(),
            &|path| sys::make_special(sys::CURRENT_DIRECTORY, path, FileKind::Fifo, 0o600, 0).unwrap(),
        ];
        for plant in plants {
            let (room, held) = held();
            let target = OsStr::new("target");
            plant(&room.path().join(".target.fullbore-journal"));
            assert!(Note::open(&held, target, false).unwrap().is_none());
            let note = Note::open(&held, target, true).unwrap().unwrap();
            note.write(b"ours").unwrap();
            let again = Note::open(&held, target, true);
            assert_eq!(again.err().map(|error| error.kind()), Some(ErrorKind::Locked), "it is found again");
            drop(note);
            let note = Note::open(&held, target, false).unwrap().expect("it is found again");
            let mut bytes = [0; 8];
            assert_eq!((note.read(&mut bytes, 0).unwrap(), &bytes[..4]), (4, &b"ours"[..]));
            note.remove().unwrap();
            assert!(Note::open(&held, target, false).unwrap().is_none());
            assert!(room.path().join(".target.fullbore-journal").symlink_metadata().is_ok(), "it stays");
        }
    }

    #[test]
    fn long_names_get_distinct_names() {
        for long in ["x".repeat(100), "x".repeat(254), "ß".repeat(127)] {
            let names = [1, 2].map(|end| name_of(OsStr::new(&format!("{long}{end}")), ".fullbore-part-"));
            // A random number follows.
            assert!(names[0] != names[1] && names.iter().all(|name| name.len() + 16 <= 143));
            assert!(names.iter().all(|name| name.to_str().is_some()));
        }
    }

    #[test]
    #[cfg_attr(windows, ignore = "Wine reports the last change as the creation time")]
    fn a_begun_directory_is_recognised_and_another_in_its_place_is_not() {
        let room = tempfile::tempdir().unwrap();
        let (source, target) = (room.path().join("source"), room.path().join("target"));
        std::fs::create_dir(&source).unwrap();
        let parent = HeldDir::open(room.path()).unwrap();
        let open = HeldDir::open(&source).unwrap().fd().unwrap();
        let name = OsStr::new("target");
        let begin = || {
            let begun = BegunDirectory::plan(&parent, name, (&open, &source)).unwrap().unwrap();
            std::fs::create_dir(&target).unwrap();
            begun
        };
        let held = || HeldDir::open(&target).unwrap().fd().unwrap();
        let journal = room.path().join(".target.fullbore-journal");
        let refused = |source: &Path| {
            let error = copy_was_begun(source, &target).unwrap_err().to_string();
            assert!(error.contains("copy of") && error.contains(".target.fullbore-journal"), "{error}");
            assert!(journal.exists(), "it is the user's decision");
        };
        let begun = begin();
        assert_eq!(
            copy_was_begun(&source, &target).unwrap_err().kind(),
            fullbore_io::error::ErrorKind::Locked
        );
        drop(begun);
        // Killed between the creation and its note.
        assert!(copy_was_begun(&source, &target).unwrap());
        std::fs::write(target.join("file"), "").unwrap();
        refused(&source); // Another user's files.
        std::fs::remove_dir_all(&target).unwrap();
        let begun = begin();
        begun.made(&held()).unwrap();
        std::fs::write(target.join("file"), "").unwrap();
        drop(begun);
        assert!(copy_was_begun(&source, &target).unwrap() && copy_was_begun(&source, &target).unwrap());
        refused(room.path()); // Another source.
        let begun = {
            std::fs::remove_dir_all(&target).unwrap();
            begin()
        };
        begun.made(&held()).unwrap();
        drop(begun);
        std::fs::rename(&target, room.path().join("away")).unwrap();
        std::fs::create_dir(&target).unwrap();
        refused(&source); // Another directory.
        std::fs::write(&journal, "").unwrap();
        let error = copy_was_begun(&source, &target).unwrap_err().to_string();
        assert!(error.contains("damaged"), "{error}");
        std::fs::write(&journal, COPY).unwrap();
        assert!(!copy_was_begun(&source, &target).unwrap(), "the journal of a file");
    }
}
