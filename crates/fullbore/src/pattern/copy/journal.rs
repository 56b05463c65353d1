//! The journal of a resumable copy: its source, the part with the bytes written so far, and the hash of each stripe in it.
//!
//! The header names the source and the part; each record after it marks one stripe as written, with its hash. A
//! truncated record is ignored. The content of a journal is checked: a part is adopted only if it is the file that this
//! user created, and a stripe counts as done only if its bytes in the part have the recorded hash.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};

use super::note::{Note, create, has_stable_inodes, name_of, open_private, random, remove_own};
use fullbore_io::error::{Error, Result};
use fullbore_io::file::{File, HeldDir};
use fullbore_io::lock::Mutex;
use fullbore_io::sys::{self, AtFlags, Code, FileKind, Handle, OsStrExt, OsStringExt, Status};

/// The unit of hashing and of the journal, in bytes.
pub(super) const STRIPE: u64 = 4 << 20;

const MAGIC: &[u8; 16] = b"fullbore copy 3\n";
/// Length in bytes of the identity of a source: six numbers. The number of a device differs from mount to mount.
const SOURCE: usize = 6 * 8;
const NAME: usize = 255;
/// The text between the target's name and 16 random hexadecimal digits in the name of a part.
const ENDING: &str = ".fullbore-part-";
/// Length in bytes of the header: magic, source, the part's inode, length of its name, its name, hash of all before.
const HEADER: usize = 16 + SOURCE + 8 + 1 + NAME + 32;
/// Length in bytes of a record: offset, length, the stripe's hash, the start of the record's own hash.
const RECORD: usize = 8 + 8 + 32 + 16;
/// Limit on the bytes of records read: no copy has 4 GiB of them.
const RECORDS: u64 = 1 << 32;

pub(super) type Hash = [u8; 32];

/// An open journal. It outlives the process, for the next run.
pub(super) struct Journal {
    note: Note,
    part: OsString,
    done: HashMap<u64, (u64, Hash)>,
    end: Mutex<u64>,
}

/// The open part, and its name.
pub(super) type Part = (Handle, OsString);

struct Header {
    source: [u8; SOURCE],
    part: OsString,
    /// The part's inode; 0 before it is created.
    inode: u64,
}

fn source_of(stat: &Status) -> [u8; SOURCE] {
    // At most a billion; the type differs between system-call interfaces.
    let nanoseconds = |part: i32| u64::from(part.cast_unsigned());
    let numbers = [
        stat.ino,
        stat.size,
        stat.mtime as u64,
        nanoseconds(stat.mtime_nsec as i32),
        // Detects a file whose modification time was set back: users cannot set this time.
        (stat.ctime as u64).wrapping_mul(1_000_000_000).wrapping_add(nanoseconds(stat.ctime_nsec as i32)),
        STRIPE,
    ];
    let mut bytes = [0; SOURCE];
    for (place, number) in bytes.chunks_exact_mut(8).zip(numbers) {
        place.copy_from_slice(&number.to_le_bytes());
    }
    bytes
}

fn number(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

impl Header {
    fn bytes(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend_from_slice(&self.source);
        bytes.extend_from_slice(&self.inode.to_le_bytes());
        let name = self.part.as_bytes();
        bytes.push(name.len().min(NAME) as u8);
        bytes.extend_from_slice(&name[..name.len().min(NAME)]);
        bytes.resize(HEADER - 32, 0);
        let hash = blake3::hash(&bytes);
        bytes.extend_from_slice(hash.as_bytes());
        bytes
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let (said, hash) = bytes.split_at_checked(HEADER - 32)?;
        if !said.starts_with(MAGIC) || blake3::hash(said).as_bytes() != hash {
            return None;
        }
        let rest = &said[16 + SOURCE..];
        let name = rest.get(9..9 + usize::from(rest[8]))?;
        Some(Self {
            source: said[16..16 + SOURCE].try_into().ok()?,
            part: OsString::from_vec(name.to_vec()),
            inode: number(rest, 0)?,
        })
    }
}

fn record(offset: u64, len: u64, hash: &Hash) -> [u8; RECORD] {
    let mut bytes = [0; RECORD];
    bytes[..8].copy_from_slice(&offset.to_le_bytes());
    bytes[8..16].copy_from_slice(&len.to_le_bytes());
    bytes[16..48].copy_from_slice(hash);
    let check = blake3::hash(&bytes[..48]);
    bytes[48..].copy_from_slice(&check.as_bytes()[..16]);
    bytes
}

fn parse(bytes: &[u8]) -> Option<(u64, u64, Hash)> {
    let (offset, len) = (number(bytes, 0)?, number(bytes, 8)?);
    let hash: Hash = bytes.get(16..48)?.try_into().ok()?;
    (record(offset, len, &hash) == bytes).then_some((offset, len, hash))
}

impl Journal {
    /// Opens the journal of `target` in a directory, and the part. A journal of another source, of an earlier state of
    /// this one, or of an untrusted part is started again; then nothing in the part is used ([`fresh`](Self::fresh)).
    /// The inode of `source` is 0 if its file system has no stable ones.
    pub(super) fn open(directory: &HeldDir, target: &OsStr, source: &Status) -> Result<(Self, Part)> {
        let failed = |error: std::io::Error| Error::io("create", directory.path().join(target), error);
        let fd = directory.fd().map_err(failed)?;
        let Some(note) = Note::open(directory, target, true)? else {
            return Err(failed(Code::NOT_FOUND.into()));
        };
        let source = source_of(source);
        let found = read_header(&note, target)?;
        if found.is_none() && !note.made {
            remove_parts(&fd, target);
        }
        let adopted = match &found {
            Some(header) => adopt(&fd, header).map_err(|error| failed(error.into()))?,
            None => None,
        };
        let (part, name, known) = match (adopted, found) {
            (Some(part), Some(header)) => (part, header.part, header.source == source),
            _ => {
                // It is named before it is created, so the next run recognises every file created.
                let name = name_of(target, &format!("{ENDING}{}", random()));
                let begun = note
                    .write(&Header { source, part: name.clone(), inode: 0 }.bytes())
                    .and_then(|()| create(&fd, &name).map_err(|error| failed(error.into())));
                (note.kept(begun)?, name, false)
            }
        };
        let mut journal =
            Self { note, part: name.clone(), done: HashMap::new(), end: Mutex::new(HEADER as u64) };
        if known {
            journal.read_records()?;
        } else {
            let stat = sys::status(&part).map_err(|error| failed(error.into()))?;
            let header = Header { source, part: name.clone(), inode: stat.ino };
            journal.note.write(&header.bytes())?;
        }
        Ok((journal, (part, name)))
    }

    fn read_records(&mut self) -> Result<()> {
        let mut records = vec![0; RECORD << 10];
        let mut end = HEADER as u64;
        while end < RECORDS {
            let filled = self.note.read(&mut records, end)?;
            let whole = filled / RECORD * RECORD;
            for (offset, len, hash) in records[..whole].chunks_exact(RECORD).filter_map(parse) {
                self.done.insert(offset, (len, hash));
            }
            end += whole as u64;
            if whole < records.len() {
                break;
            }
        }
        self.end = Mutex::new(end);
        Ok(())
    }

    /// Removes the journal of a complete target, and its part: a run killed after naming the target left the journal, and
    /// one killed before that, while the source was another, left both. If the journal is damaged, all parts are removed.
    pub(super) fn discard(directory: &HeldDir, target: &OsStr) {
        if let Ok(Some(note)) = Note::open(directory, target, false)
            && let Ok(header) = read_header(&note, target)
            && let Ok(fd) = directory.fd()
        {
            // They are of no further use; failure to remove them is harmless.
            match header {
                Some(header) => drop(remove_part(&fd, &header)),
                None => remove_parts(&fd, target),
            }
            let _ = note.remove();
        }
    }

    /// True if no stripe is known to be done.
    pub(super) fn fresh(&self) -> bool {
        self.done.is_empty()
    }

    /// The hash of a stripe that was written.
    pub(super) fn known(&self, offset: u64, len: u64) -> Option<&Hash> {
        self.done.get(&offset).filter(|done| done.0 == len).map(|done| &done.1)
    }

    pub(super) fn note(&self, offset: u64, len: u64, hash: &Hash) -> Result<()> {
        let mut end = self.end.lock();
        self.note.file.write_all_at(&record(offset, len, hash), *end)?;
        *end += RECORD as u64;
        Ok(())
    }

    /// Returns the result of a step; removes part and journal if it failed before any stripe was written.
    pub(super) fn used<T>(journal: Option<&Self>, result: Result<T>) -> Result<T> {
        if result.is_err()
            && let Some(journal) = journal.filter(|journal| journal.is_empty())
        {
            journal.cleanup();
        }
        result
    }

    /// True if no stripe was ever written to the part: there is nothing to resume.
    fn is_empty(&self) -> bool {
        *self.end.lock() == HEADER as u64
    }

    /// Removes the part, which is empty or cannot be trusted, and the journal: the next run starts again.
    pub(super) fn cleanup(&self) {
        // Another worker may have found another difference. The names may be another run's by now.
        if std::mem::take(&mut *self.end.lock()) == 0 {
            return;
        }
        let _ = self.note.remove_beside(&self.part);
        let _ = self.note.remove();
    }

    /// Makes a part private again that did not get the target's name: the next run continues only a private part.
    pub(super) fn protect(&self, part: &File) {
        let there =
            self.note.directory.fd().and_then(|fd| Ok(sys::stat_at(fd, &self.part, AtFlags::NOFOLLOW)?));
        // It has the target's name if only the sync of the directory failed.
        if let (Ok(there), Ok(stat)) = (there, sys::status(part))
            && there.identity() == stat.identity()
        {
            let _ = sys::change_owner(part, Some(sys::effective_user()), None);
            let _ = sys::change_mode(part, 0o600);
        }
    }

    pub(super) fn finish(self) -> Result<()> {
        self.note.remove()
    }
}

/// The header of a journal of `target`; `None` if it is damaged, or names another file than a part of this target.
fn read_header(note: &Note, target: &OsStr) -> Result<Option<Header>> {
    let mut bytes = vec![0; HEADER];
    let header = (note.read(&mut bytes, 0)? == HEADER).then(|| Header::parse(&bytes)).flatten();
    Ok(header.filter(|header| is_part(&header.part, target)))
}

/// True for the names of parts of `target`.
fn is_part(name: &OsStr, target: &OsStr) -> bool {
    let digits = name.as_bytes().strip_prefix(name_of(target, ENDING).as_bytes());
    let is_digit = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    digits.is_some_and(|digits| digits.len() == 16 && digits.iter().all(is_digit))
}

/// Removes the parts of `target`, which is locked by its note.
fn remove_parts(directory: &Handle, target: &OsStr) {
    let listed = sys::Directory::read_from(directory).into_iter().flatten().flatten();
    for entry in listed {
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if is_part(name, target) {
            let _ = remove_own(directory, name);
        }
    }
}

/// Removes the part that a journal names: the file with the journal's inode, to which a run may have given its final owner, or a
/// file of this user.
fn remove_part(directory: &Handle, header: &Header) -> sys::Result<()> {
    let there = sys::stat_at(directory, &header.part, AtFlags::NOFOLLOW)?;
    if there.kind() == FileKind::Regular && there.ino == header.inode {
        return sys::remove(directory, &header.part, AtFlags::empty());
    }
    remove_own(directory, &header.part)
}

/// Opens the part that a journal names, if it is the file that this user created and no other user could open since. Otherwise
/// removes it, if it is the journal's part or another file of this user.
fn adopt(directory: &Handle, header: &Header) -> sys::Result<Option<Handle>> {
    match open_private(directory, &header.part) {
        Ok(Some((fd, stat))) if stat.ino == header.inode || !has_stable_inodes(&fd) => return Ok(Some(fd)),
        Err(Code::NOT_FOUND) => return Ok(None),
        Err(error) => return Err(error),
        Ok(_) => {}
    }
    remove_part(directory, header)?;
    Ok(None)
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::FileExt;

    use super::*;

    struct Fixture {
        room: tempfile::TempDir,
        held: HeldDir,
    }

    impl Fixture {
        fn new() -> Self {
            let room = tempfile::tempdir().unwrap();
            std::fs::write(room.path().join("source"), "bytes").unwrap();
            let held = HeldDir::open(room.path()).unwrap();
            Self { room, held }
        }

        /// Begins a copy, and returns the name of its part.
        fn begin(&self) -> OsString {
            let (journal, (_, name)) = self.open().unwrap();
            journal.note(0, 4, &[1; 32]).unwrap();
            name
        }

        fn open(&self) -> Result<(Journal, Part)> {
            let source = sys::stat(self.room.path().join("source")).unwrap();
            Journal::open(&self.held, OsStr::new("target"), &source)
        }

        fn journal(&self) -> std::path::PathBuf {
            self.room.path().join(".target.fullbore-journal")
        }
    }

    #[test]
    fn noted_stripes_are_known_again_and_torn_records_are_ignored() {
        let fixture = Fixture::new();
        let (journal, part) = fixture.open().unwrap();
        assert!(journal.fresh());
        journal.note(0, 4, &[1; 32]).unwrap();
        journal.note(4, 1, &[2; 32]).unwrap();
        assert_eq!(
            fixture.open().err().map(|error| error.kind()),
            Some(fullbore_io::error::ErrorKind::Locked)
        );
        drop(journal);
        let whole = std::fs::read(fixture.journal()).unwrap();
        for torn in 0..RECORD {
            let file = std::fs::File::options().write(true).open(fixture.journal()).unwrap();
            file.write_all_at(&whole, 0).unwrap();
            file.set_len((HEADER + RECORD + torn) as u64).unwrap();
            let (journal, again) = fixture.open().unwrap();
            assert_eq!(again.1, part.1);
            assert_eq!((journal.known(0, 4), journal.known(4, 1)), (Some(&[1; 32]), None));
            journal.note(4, 1, &[3; 32]).unwrap();
            drop(journal);
            assert_eq!(fixture.open().unwrap().0.known(4, 1), Some(&[3; 32]));
        }
        assert_eq!(fixture.open().unwrap().0.known(4, 2), None);
        std::fs::write(fixture.room.path().join("source"), "other").unwrap();
        let (journal, again) = fixture.open().unwrap();
        assert!(journal.fresh() && again.1 == part.1, "another source, the same part");
        journal.finish().unwrap();
        assert!(!fixture.journal().exists());
    }

    /// The target has its name, and the journal was not removed.
    #[test]
    fn a_journal_whose_part_became_the_target_is_restarted_or_removed() {
        let fixture = Fixture::new();
        let name = fixture.begin();
        std::fs::rename(fixture.room.path().join(&name), fixture.room.path().join("target")).unwrap();
        let (journal, (_, again)) = fixture.open().unwrap();
        assert!(journal.fresh() && again != name);
        drop(journal);
        Journal::discard(&fixture.held, OsStr::new("target"));
        assert!(!fixture.journal().exists() && !fixture.room.path().join(&again).exists());
        assert!(fixture.room.path().join("target").exists());
    }

    /// A journal that was planted names a private file of the user: it is not overwritten, published or removed.
    #[test]
    fn a_journal_that_names_another_file_is_not_followed() {
        let victim = |path: &std::path::Path| {
            use std::os::unix::fs::PermissionsExt;
            std::fs::write(path, "private").unwrap();
            std::fs::set_permissions(path, PermissionsExt::from_mode(0o600)).unwrap();
            sys::stat(path).unwrap()
        };
        let elsewhere = tempfile::tempdir().unwrap();
        let fixture = Fixture::new();
        let room = fixture.room.path();
        let above = format!("../{}/secret", elsewhere.path().file_name().unwrap().to_str().unwrap());
        let absolute = elsewhere.path().join("secret");
        let other = ".other.fullbore-part-0123456789abcdef";
        for (named, path) in [
            (OsStr::new("secret"), room.join("secret")),
            (absolute.as_os_str(), absolute.clone()),
            (OsStr::new(&above), absolute.clone()),
            (OsStr::new(other), room.join(other)),
            (
                OsStr::new(".target.fullbore-part-0123456789abcdeg"),
                room.join(".target.fullbore-part-0123456789abcdeg"),
            ),
        ] {
            let plant = || {
                let inode = victim(&path).ino;
                let source = source_of(&sys::stat(room.join("source")).unwrap());
                let note = Note::open(&fixture.held, OsStr::new("target"), true).unwrap().unwrap();
                note.write(&Header { source, part: named.to_owned(), inode }.bytes()).unwrap();
            };
            plant();
            let (_, (_, part)) = fixture.open().unwrap();
            assert_ne!(part, named);
            assert!(is_part(&part, OsStr::new("target")), "{part:?}");
            assert_eq!(std::fs::read(&path).unwrap(), b"private", "{named:?}");
            plant();
            Journal::discard(&fixture.held, OsStr::new("target"));
            assert_eq!(std::fs::read(&path).unwrap(), b"private", "{named:?}");
        }
    }

    /// A run of root was killed after it gave the part to the owner of the source.
    #[test]
    fn a_part_with_its_final_owner_is_removed() {
        let fixture = Fixture::new();
        let name = fixture.begin();
        let part = fixture.room.path().join(&name);
        if std::os::unix::fs::chown(&part, Some(65534), None).is_err() {
            return println!("skipped: another owner: needs root");
        }
        let (journal, (_, again)) = fixture.open().unwrap();
        assert!(journal.fresh() && again != name && !part.exists());
    }
}

#[cfg(test)]
mod header_tests {
    use super::*;

    #[test]
    fn damaged_headers_are_rejected() {
        let header = Header { source: [7; SOURCE], part: ".part".into(), inode: 2 };
        let bytes = header.bytes();
        let read = Header::parse(&bytes).unwrap();
        assert_eq!((read.source, read.part, read.inode), (header.source, header.part, header.inode));
        for place in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[place] ^= 1;
            assert!(Header::parse(&damaged).is_none() && Header::parse(&bytes[..place]).is_none());
        }
    }
}
