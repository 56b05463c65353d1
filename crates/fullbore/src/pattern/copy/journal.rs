//! What a copy that was stopped has done already: beside the part that is there, the hash of each stripe of it.
//!
//! A header says which source it is of; each record after it says of one stripe that it was written, with its hash.
//! A record that was written in part is none. Nothing is believed: a stripe counts as done if what stands in the part has
//! the hash, whatever was lost meanwhile.

use std::collections::HashMap;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use rustix::fs::Stat;

use crate::error::{Error, Result};
use crate::file::{Access, File, Mode, OpenOptions, Share, directory_of};

const MAGIC: &[u8; 16] = b"fullbore copy 1\n";
/// Magic, seven numbers, hash.
const HEADER: usize = 16 + 7 * 8 + 32;
/// Offset, length, the stripe's hash, the start of the record's own.
const RECORD: usize = 8 + 8 + 32 + 16;

/// The hash of a stripe.
pub(super) type Hash = [u8; 32];

/// An open journal. Dropped it stays, for the next run.
pub(super) struct Journal {
    file: File,
    path: PathBuf,
    done: HashMap<u64, (u64, Hash)>,
    end: Mutex<u64>,
}

/// The part and the journal of `target`, beside it.
pub(super) fn names(target: &Path) -> (PathBuf, PathBuf) {
    let name = target.file_name().unwrap_or_default().as_bytes();
    let mut stem = b".".to_vec();
    if name.len() <= 180 {
        stem.extend_from_slice(name);
    } else {
        // Names have 255 bytes at most, and long ones may differ in the end alone.
        stem.extend_from_slice(&name[..140]);
        stem.extend_from_slice(blake3::hash(name).to_hex()[..32].as_bytes());
    }
    let beside = |ending: &str| {
        let name = [stem.as_slice(), ending.as_bytes()].concat();
        directory_of(target).join(std::ffi::OsString::from_vec(name))
    };
    (beside(".fullbore-part"), beside(".fullbore-journal"))
}

fn header(source: &Stat, stripe: u64) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    // A billion at most; the type differs between the ways to make the call.
    let nanoseconds = |part: i32| u64::from(part.cast_unsigned());
    // A file whose time was set back was changed too: the last is not for anybody to set.
    for number in [
        source.st_dev,
        source.st_ino,
        source.st_size as u64,
        source.st_mtime as u64,
        nanoseconds(source.st_mtime_nsec as i32),
        (source.st_ctime as u64)
            .wrapping_mul(1_000_000_000)
            .wrapping_add(nanoseconds(source.st_ctime_nsec as i32)),
        stripe,
    ] {
        bytes.extend_from_slice(&number.to_le_bytes());
    }
    let hash = blake3::hash(&bytes);
    bytes.extend_from_slice(hash.as_bytes());
    bytes
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

/// Reads as much as there is room for, or is there; how much that was.
fn fill(file: &File, memory: &mut [u8], offset: u64) -> Result<usize> {
    let mut filled = 0;
    while filled < memory.len() {
        match file.read_at(&mut memory[filled..], offset + filled as u64)? {
            0 => break,
            count => filled += count,
        }
    }
    Ok(filled)
}

fn parse(bytes: &[u8]) -> Option<(u64, u64, Hash)> {
    let number = |at: usize| Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
    let (offset, len) = (number(0)?, number(8)?);
    let hash: Hash = bytes.get(16..48)?.try_into().ok()?;
    (record(offset, len, &hash) == bytes).then_some((offset, len, hash))
}

impl Journal {
    /// Opens the journal at `path`. One that is of another source, or of this one before it changed, is begun anew; then
    /// the part is of no use ([`fresh`](Self::fresh)).
    ///
    /// # Errors
    /// `Kind::Locked` if another run is at it, and the system's.
    pub(super) fn open(path: &Path, source: &Stat, stripe: u64) -> Result<Self> {
        let file = OpenOptions::new()
            .mode(Mode::OpenOrCreate)
            .access(Access::ReadWrite)
            .share(Share::NONE)
            .follow_symlinks(false)
            .open(path)
            .map_err(|error| error.advise("another run may be copying there"))?;
        let header = header(source, stripe);
        let mut found = vec![0; HEADER];
        let mut done = HashMap::new();
        let mut end = HEADER as u64;
        if fill(&file, &mut found, 0)? == HEADER && found == header {
            let mut records = vec![0; RECORD << 10];
            loop {
                let filled = fill(&file, &mut records, end)?;
                let whole = filled / RECORD * RECORD;
                for (offset, len, hash) in records[..whole].chunks_exact(RECORD).filter_map(parse) {
                    done.insert(offset, (len, hash));
                }
                end += whole as u64;
                if whole < records.len() {
                    break;
                }
            }
        } else {
            file.set_len(0)?;
            file.write_all_at(&header, 0)?;
        }
        Ok(Self { file, path: path.to_owned(), done, end: Mutex::new(end) })
    }

    /// Whether nothing is known to be done.
    pub(super) fn fresh(&self) -> bool {
        self.done.is_empty()
    }

    /// The hash that the stripe was written with, if it was.
    pub(super) fn known(&self, offset: u64, len: u64) -> Option<&Hash> {
        self.done.get(&offset).filter(|done| done.0 == len).map(|done| &done.1)
    }

    /// Notes that a stripe stands in the part.
    pub(super) fn note(&self, offset: u64, len: u64, hash: &Hash) -> Result<()> {
        let mut end = self.end.lock().unwrap_or_else(PoisonError::into_inner);
        self.file.write_all_at(&record(offset, len, hash), *end)?;
        *end += RECORD as u64;
        Ok(())
    }

    /// Removes it: the copy is whole.
    pub(super) fn finish(self) -> Result<()> {
        std::fs::remove_file(&self.path).map_err(|error| Error::io("remove", &self.path, error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stat(path: &Path) -> Stat {
        rustix::fs::stat(path).unwrap()
    }

    #[test]
    fn what_was_noted_is_known_again_and_torn_records_are_not() {
        let directory = tempfile::tempdir().unwrap();
        let (source, path) = (directory.path().join("source"), directory.path().join("journal"));
        std::fs::write(&source, "bytes").unwrap();
        let journal = Journal::open(&path, &stat(&source), 4).unwrap();
        assert!(journal.fresh());
        journal.note(0, 4, &[1; 32]).unwrap();
        journal.note(4, 1, &[2; 32]).unwrap();
        drop(journal);
        for torn in 0..RECORD {
            let mut bytes = std::fs::read(&path).unwrap();
            bytes.truncate(HEADER + RECORD + torn);
            let other = directory.path().join("torn");
            std::fs::write(&other, &bytes).unwrap();
            let journal = Journal::open(&other, &stat(&source), 4).unwrap();
            assert_eq!(journal.known(0, 4), Some(&[1; 32]));
            assert_eq!(journal.known(4, 1), None);
            journal.note(4, 1, &[3; 32]).unwrap();
            drop(journal);
            let journal = Journal::open(&other, &stat(&source), 4).unwrap();
            assert_eq!(journal.known(4, 1), Some(&[3; 32]));
        }
        let journal = Journal::open(&path, &stat(&source), 4).unwrap();
        assert_eq!((journal.known(4, 1), journal.known(4, 2)), (Some(&[2; 32]), None));
        assert_eq!(
            Journal::open(&path, &stat(&source), 4).err().map(|error| error.kind()),
            Some(crate::error::Kind::Locked)
        );
        drop(journal);
        std::fs::write(&source, "other").unwrap();
        let journal = Journal::open(&path, &stat(&source), 4).unwrap();
        assert!(journal.fresh(), "another source");
        journal.finish().unwrap();
        assert!(!path.exists());
    }

    #[test]
    fn long_names_have_names_of_their_own() {
        let long = "x".repeat(254);
        let (one, two) = (names(Path::new(&format!("{long}1"))), names(Path::new(&format!("{long}2"))));
        assert!(one.0 != two.0 && one.0.as_os_str().len() < 256);
    }
}
