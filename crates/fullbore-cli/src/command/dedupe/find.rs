//! Finding: every file is looked at, few are read in part, fewer are read whole.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use fullbore::error::{Error, Kind, Result};
use fullbore::file::{File, Snapshot};
use fullbore::operation::duplicates::{Inode, alike, inodes};
use fullbore::operation::hash::Hash;
use fullbore::pattern::Crew;
use fullbore_cli::ways::Running;
use rustix::fs::{AtFlags, CWD, FileType};

use crate::command::walk::{Rules, Walk};
use crate::exit::Exit;

/// Files up to this long are hashed whole at once: their ends are all of them, or nearly, in bytes.
const NO_ENDS: u64 = 128 << 10;

/// How much of each end is looked at, in bytes.
const END: u64 = 16 << 10;

/// How many files a worker looks at before the next takes some: a look is cheaper than asking for work.
const LOOKS: usize = 256;

/// Which files are of interest, and how sure to be.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    pub(super) min: u64,
    pub(super) max: u64,
    pub(super) hidden: bool,
    pub(super) bytes: bool,
}

/// Files of the same content.
pub(super) struct Group {
    /// The hash of the content.
    pub(super) sum: Vec<u8>,
    /// In bytes.
    pub(super) len: u64,
    /// In the order of their first names.
    pub(super) files: Vec<Known>,
}

/// A file, and what it was like when it was read.
#[derive(Debug, Clone)]
pub(super) struct Known {
    pub(super) inode: Inode,
    pub(super) modified: (i64, i64),
}

pub(super) struct Found {
    /// The longest files first.
    pub(super) groups: Vec<Group>,
    /// How many bytes were read.
    pub(super) read: u64,
    /// Something could not be read, which was said.
    pub(super) trouble: bool,
}

/// A name, the device and inode numbers it leads to, and the length there.
type Seen = (PathBuf, (u64, u64), u64);

/// The hash of a file, and when it was modified last.
type Read = (Vec<u8>, (i64, i64));

/// Groups whose files have a key each; `None`: it could not be read.
type Keyed<K> = Vec<Vec<(Inode, Option<K>)>>;

/// What all steps need.
struct Search<'a> {
    crew: &'a Crew<'a>,
    running: &'a Running<'a>,
    trouble: bool,
    read: u64,
}

pub(super) fn find(
    paths: &[PathBuf],
    bounds: Bounds,
    crew: &Crew<'_>,
    running: &Running<'_>,
) -> std::result::Result<Found, Exit> {
    let mut search = Search { crew, running, trouble: false, read: 0 };
    let files = search.look(paths, bounds)?;
    let by_len = alike(vec![files], |inode| Some(inode.len));
    let (short, long): (Vec<_>, Vec<_>) = by_len.into_iter().partition(|group| group[0].len <= NO_ENDS);
    let ends = |inode: &Inode, _: &Crew<'_>, _: &mut _| {
        let file = open(inode)?;
        let mut bytes = vec![0; 2 * END as usize];
        file.read_exact_at(&mut bytes[..END as usize], 0)?;
        file.read_exact_at(&mut bytes[END as usize..], inode.len - END)?;
        Ok((2 * END, Hash::default().of(&bytes)))
    };
    let mut groups = search.refine(long, ends)?;
    groups.extend(short);
    let whole = |inode: &Inode, crew: &Crew<'_>, scratch: &mut _| {
        let file = open(inode)?;
        let before = file.snapshot()?;
        let (outcome, sum) = crew.fold(&Hash::default(), &file, scratch)?;
        if outcome.bytes != inode.len || before.len != inode.len {
            return Err(Error::new(Kind::Changed, "trust", file.path(), "it was changed while it was read"));
        }
        Ok((outcome.bytes, (sum.finish(), before.modified)))
    };
    let keyed = search.keys(groups, whole)?;
    let mut groups: Vec<Group> = alike(keyed, |(_, key)| key.as_ref().map(|(sum, _)| sum.clone()))
        .into_iter()
        .filter_map(|group| {
            let sum = group[0].1.as_ref()?.0.clone();
            let known = |(inode, key): (Inode, Option<Read>)| Some(Known { inode, modified: key?.1 });
            let files: Vec<Known> = group.into_iter().filter_map(known).collect();
            Some(Group { sum, len: files[0].inode.len, files })
        })
        .collect();
    if bounds.bytes {
        groups = search.compared(groups)?;
    }
    groups
        .sort_by(|a, b| b.len.cmp(&a.len).then_with(|| a.files[0].inode.names.cmp(&b.files[0].inode.names)));
    Ok(Found { groups, read: search.read, trouble: search.trouble })
}

/// Opens a file, if it still is the one that was found.
fn open(inode: &Inode) -> Result<File> {
    let file = File::open(&inode.names[0])?;
    let Snapshot { identity, len, .. } = file.snapshot()?;
    if (identity, len) != (inode.identity, inode.len) {
        return Err(Error::new(Kind::Changed, "read", file.path(), "it was changed since it was found"));
    }
    Ok(file)
}

/// What a look at a name gives; `None`: nothing of interest.
fn look(path: PathBuf, bounds: Bounds) -> Result<Option<Seen>> {
    let stat = rustix::fs::statat(CWD, &path, AtFlags::SYMLINK_NOFOLLOW)
        .map_err(|error| Error::io("inspect", &path, error.into()))?;
    let len = stat.st_size as u64;
    let regular = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
    let wanted = regular && (bounds.min..=bounds.max).contains(&len);
    Ok(wanted.then_some((path, (stat.st_dev, stat.st_ino), len)))
}

impl Search<'_> {
    fn say(&mut self, error: &Error) {
        self.trouble = true;
        self.running.aside(|| Exit::say(&format!("fullbore: {error}\n")));
    }

    /// Every regular file of interest.
    fn look(&mut self, paths: &[PathBuf], bounds: Bounds) -> Result<Vec<Inode>> {
        let mut walk = Walk::new(paths.iter().cloned(), Rules { follow: false, hidden: bounds.hidden });
        let batches = std::iter::from_fn(move || {
            let batch: Vec<_> = walk.by_ref().take(LOOKS).collect();
            (!batch.is_empty()).then_some(batch)
        });
        let (mut files, mut errors) = (Vec::new(), Vec::new());
        self.crew.many(
            batches,
            |batch, turn, _, _| {
                let look = |(path, found): (PathBuf, Result<()>)| found.and_then(|()| look(path, bounds));
                let seen: Vec<_> = batch.into_iter().filter_map(|one| look(one).transpose()).collect();
                turn.give(seen, 128 * LOOKS).map(drop)
            },
            |seen| {
                for one in seen {
                    match one {
                        Ok(file) => files.push(file),
                        Err(error) => errors.push(error),
                    }
                }
                Ok(ControlFlow::Continue(()))
            },
        )?;
        errors.iter().for_each(|error| self.say(error));
        Ok(inodes(files))
    }

    /// Gives each file of the groups its key, which `key` reads from it, with how many bytes that took.
    fn keys<K: Send>(
        &mut self,
        groups: Vec<Vec<Inode>>,
        key: impl Fn(&Inode, &Crew<'_>, &mut fullbore::pattern::Scratch) -> Result<(u64, K)> + Sync,
    ) -> Result<Keyed<K>> {
        let mut keys = Vec::with_capacity(groups.iter().map(Vec::len).sum());
        let mut errors = Vec::new();
        let (crew, read) = (self.crew, &mut self.read);
        crew.many(
            groups.iter().flatten(),
            |inode, turn, scratch, crew| match key(inode, crew, scratch) {
                Err(error) if error.kind() == Kind::Interrupted => Err(error),
                result => turn.give(result, 64).map(drop),
            },
            |result| {
                keys.push(match result {
                    Ok((bytes, key)) => {
                        *read += bytes;
                        Some(key)
                    }
                    Err(error) => {
                        errors.push(error);
                        None
                    }
                });
                Ok(ControlFlow::Continue(()))
            },
        )?;
        errors.iter().for_each(|error| self.say(error));
        let mut keys = keys.into_iter();
        let mut give = |inode| (inode, keys.next().flatten());
        Ok(groups.into_iter().map(|group| group.into_iter().map(&mut give).collect()).collect())
    }

    /// Splits the groups by a key.
    fn refine<K: Ord + Clone + Send>(
        &mut self,
        groups: Vec<Vec<Inode>>,
        key: impl Fn(&Inode, &Crew<'_>, &mut fullbore::pattern::Scratch) -> Result<(u64, K)> + Sync,
    ) -> Result<Vec<Vec<Inode>>> {
        let keyed = self.keys(groups, key)?;
        let split = alike(keyed, |(_, key)| key.clone());
        Ok(split.into_iter().map(|group| group.into_iter().map(|(inode, _)| inode).collect()).collect())
    }

    /// Splits the groups by their bytes: what hashes alike is equal, but for whoever does not take that for granted.
    fn compared(&mut self, groups: Vec<Group>) -> Result<Vec<Group>> {
        let (mut result, mut errors) = (Vec::new(), Vec::new());
        let read = Mutex::new(0);
        self.crew.many(
            groups.into_iter(),
            |group, turn, _, _| {
                let mut classes: Vec<Vec<Known>> = Vec::new();
                let mut failed = Vec::new();
                for file in group.files {
                    let mut place = Ok(classes.len());
                    for (number, class) in classes.iter().enumerate() {
                        *read.lock().unwrap_or_else(PoisonError::into_inner) += 2 * group.len;
                        match equal(&class[0].inode.names[0], &file.inode.names[0]) {
                            Ok(false) => continue,
                            Ok(true) => place = Ok(number),
                            Err(error) => place = Err(error),
                        }
                        break;
                    }
                    match place {
                        Ok(number) if number < classes.len() => classes[number].push(file),
                        Ok(_) => classes.push(vec![file]),
                        Err(error) => failed.push(error),
                    }
                }
                let classes: Vec<_> = classes
                    .into_iter()
                    .filter(|files| files.len() > 1)
                    .map(|files| Group { sum: group.sum.clone(), len: group.len, files })
                    .collect();
                turn.give((classes, failed), 256).map(drop)
            },
            |(classes, failed): (Vec<Group>, Vec<Error>)| {
                result.extend(classes);
                errors.extend(failed);
                Ok(ControlFlow::Continue(()))
            },
        )?;
        self.read += read.into_inner().unwrap_or_else(PoisonError::into_inner);
        errors.iter().for_each(|error| self.say(error));
        Ok(result)
    }
}

/// Whether two files have the same bytes.
pub(super) fn equal(one: &Path, other: &Path) -> Result<bool> {
    const REQUEST: usize = 128 << 10;
    let (one, other) = (File::open(one)?, File::open(other)?);
    let (mut left, mut right) = (vec![0; REQUEST], vec![0; REQUEST]);
    let (len, other_len) = (one.snapshot()?.len, other.snapshot()?.len);
    if len != other_len {
        return Ok(false);
    }
    let mut offset = 0;
    while offset < len {
        let count = (len - offset).min(REQUEST as u64) as usize;
        one.read_exact_at(&mut left[..count], offset)?;
        other.read_exact_at(&mut right[..count], offset)?;
        if left[..count] != right[..count] {
            return Ok(false);
        }
        offset += count as u64;
    }
    Ok(true)
}
