//! Finds duplicates in steps: every file is inspected, a few are read in part, and fewer are read whole.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::path::PathBuf;

use fullbore::error::{Error, ErrorKind, Result};
use fullbore::file::{File, FileStamp, HeldDir};
use fullbore::operation::duplicates::{Inode, alike, inodes};
use fullbore::operation::hash::{Digest, Hash};
use fullbore::pattern::Executor;
use fullbore::sys::FileKind;
use fullbore_cli::common_args::CliRun;

use super::content;
use super::inode::{Directories, stat};
use crate::command::walk::{Rules, Walk};
use crate::exit::Exit;

/// Files up to this length are hashed whole at once: their ends are all or most of their bytes.
const NO_ENDS: u64 = 128 << 10;

/// Bytes that are read at each end of a file.
const END: u64 = 16 << 10;

/// Number of files that a worker inspects per batch: inspecting a file is cheaper than taking work from the queue.
const INSPECT_BATCH: usize = 256;

/// A file with more than this many bytes in holes is not read whole, and neither are possible duplicates of it.
const HOLES: u64 = 64 << 20;

/// The candidate files and the required certainty.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    pub(super) min: u64,
    pub(super) max: u64,
    pub(super) hidden: bool,
    pub(super) bytes: bool,
}

/// Files of the same content.
pub(super) struct Group {
    /// Hash of the content, or of its non-zero blocks.
    pub(super) sum: Digest,
    /// True if holes were left out of the hash.
    pub(super) sparse: bool,
    /// Length in bytes.
    pub(super) len: u64,
    /// Files in the order of their first names.
    pub(super) files: Vec<HashedFile>,
}

/// A file, and its modification time when it was read.
#[derive(Debug, Clone)]
pub(super) struct HashedFile {
    pub(super) inode: Inode,
    pub(super) modified: (i64, i64),
}

pub(super) struct Duplicates {
    /// Groups, the longest files first.
    pub(super) groups: Vec<Group>,
    pub(super) directories: Directories,
    /// Number of bytes read.
    pub(super) read: u64,
    /// True if something could not be read; the error is already printed.
    pub(super) failed: bool,
}

struct FoundName {
    path: PathBuf,
    held: HeldDir,
    identity: (u64, u64),
    len: u64,
    /// True if the file has long holes.
    sparse: bool,
}

/// Hash of a file, whether it leaves holes out, and the file's modification time.
type Read = ((Digest, bool), (i64, i64));

/// Groups of files with a key each; `None` for an unreadable file.
type Keyed<K> = Vec<Vec<(Inode, Option<K>)>>;

/// The common state of all steps.
struct Search<'a> {
    executor: &'a Executor<'a>,
    run: &'a CliRun<'a>,
    directories: Directories,
    /// The files with long holes.
    sparse: HashSet<(u64, u64)>,
    failed: bool,
    read: u64,
}

pub(super) fn find(
    paths: &[PathBuf],
    bounds: Bounds,
    executor: &Executor<'_>,
    run: &CliRun<'_>,
) -> std::result::Result<Duplicates, Exit> {
    let (directories, sparse) = (Directories::default(), HashSet::new());
    let mut search = Search { executor, run, directories, sparse, failed: false, read: 0 };
    let files = search.find_files(paths, bounds)?;
    let by_len = alike(vec![files], |inode| Some(inode.len));
    let (short, long): (Vec<_>, Vec<_>) = by_len.into_iter().partition(|group| group[0].len <= NO_ENDS);
    let ends = |inode: &Inode, directories: &Directories, _: &Executor<'_>, _: &mut _| {
        let file = open(inode, directories)?;
        let mut bytes = vec![0; 2 * END as usize];
        file.read_exact_at(&mut bytes[..END as usize], 0).map_err(Error::of_shortened)?;
        file.read_exact_at(&mut bytes[END as usize..], inode.len - END).map_err(Error::of_shortened)?;
        Ok((2 * END, Hash::default().of(&bytes)))
    };
    let mut groups = search.refine(long, ends)?;
    groups.extend(short);
    // Possible duplicates are hashed alike: with long holes in any of them, only non-zero blocks.
    let has_holes = |group: &Vec<Inode>| group.iter().any(|inode| search.sparse.contains(&inode.identity));
    let sparse: HashSet<_> =
        groups.iter().filter(|group| has_holes(group)).flatten().map(|inode| inode.identity).collect();
    let whole = |inode: &Inode, directories: &Directories, executor: &Executor<'_>, worker: &mut _| {
        let file = open(inode, directories)?;
        let before = file.starting_stamp()?;
        let changed = || Error::new(ErrorKind::Changed, "read", file.path(), "modified while being read");
        if before.len != inode.len {
            return Err(changed());
        }
        if sparse.contains(&inode.identity) {
            let (read, sum) = content::data(&file, inode.len)?;
            return if file.stamp()? == before {
                Ok((read, ((sum, true), before.modified)))
            } else {
                Err(changed())
            };
        }
        let (sum, stats) = executor.fold(&Hash::default(), &file, worker)?;
        if stats.bytes != inode.len {
            return Err(changed());
        }
        Ok((stats.bytes, ((sum.digest(), false), before.modified)))
    };
    let keyed = search.keys(groups, whole)?;
    let mut groups: Vec<Group> = alike(keyed, |(_, key)| key.as_ref().map(|(sum, _)| sum.clone()))
        .into_iter()
        .filter_map(|group| {
            let (sum, sparse) = group[0].1.as_ref()?.0.clone();
            let known = |(inode, key): (Inode, Option<Read>)| Some(HashedFile { inode, modified: key?.1 });
            let files: Vec<HashedFile> = group.into_iter().filter_map(known).collect();
            Some(Group { sum, sparse, len: files[0].inode.len, files })
        })
        .collect();
    if bounds.bytes {
        groups = search.compared(groups)?;
    }
    groups
        .sort_by(|a, b| b.len.cmp(&a.len).then_with(|| a.files[0].inode.names.cmp(&b.files[0].inode.names)));
    Ok(Duplicates { groups, directories: search.directories, read: search.read, failed: search.failed })
}

/// Opens a file, stamped, if it is still the one that was found.
fn open(inode: &Inode, directories: &Directories) -> Result<File> {
    let file = directories.of(&inode.names[0])?.open()?;
    let file = file.stamped()?;
    let FileStamp { identity, len, .. } = file.starting_stamp()?;
    if (identity, len) != (inode.identity, inode.len) {
        return Err(Error::new(ErrorKind::Changed, "read", file.path(), "modified after it was found"));
    }
    Ok(file)
}

/// Inspects a name; `None` if the file is not a candidate.
fn inspect(path: PathBuf, held: Option<HeldDir>, bounds: Bounds) -> Result<Option<FoundName>> {
    let held = match held {
        Some(held) => held,
        None => HeldDir::of(&path).map_err(|error| Error::io("inspect", &path, error))?.0,
    };
    let stat = stat(&held, path.file_name().unwrap_or_default(), &path)?;
    let len = stat.size;
    let regular = stat.kind() == FileKind::Regular;
    let wanted = regular && (bounds.min..=bounds.max).contains(&len);
    let sparse = len.saturating_sub(stat.allocated()) > HOLES;
    Ok(wanted.then_some(FoundName { path, held, identity: stat.identity(), len, sparse }))
}

impl Search<'_> {
    fn eprint(&mut self, error: &Error) {
        self.failed = true;
        self.run.output.without_progress_line(|| Exit::eprint(&format!("fullbore: {error}\n")));
    }

    /// Returns every regular file within the bounds.
    fn find_files(&mut self, paths: &[PathBuf], bounds: Bounds) -> Result<Vec<Inode>> {
        let mut walk =
            Walk::new(paths.iter().cloned(), Rules { follow: false, hidden: bounds.hidden, stdin: false });
        let batches = std::iter::from_fn(move || {
            let batch: Vec<_> = walk.by_ref().take(INSPECT_BATCH).collect();
            (!batch.is_empty()).then_some(batch)
        });
        let (mut files, mut errors) = (Vec::new(), Vec::new());
        let (directories, sparse) = (&mut self.directories, &mut self.sparse);
        self.executor.map_ordered(
            batches,
            |batch, sender, _, _| {
                let inspect_entry = |(path, found): (PathBuf, Result<Option<HeldDir>>)| {
                    found.and_then(|held| inspect(path, held, bounds))
                };
                let inspected: Vec<_> =
                    batch.into_iter().filter_map(|one| inspect_entry(one).transpose()).collect();
                sender.send(inspected, 128 * INSPECT_BATCH).map(drop)
            },
            |inspected| {
                for one in inspected {
                    match one {
                        Ok(FoundName { path, held, identity, len, sparse: holes }) => {
                            directories.note(&path, held);
                            if holes {
                                sparse.insert(identity);
                            }
                            files.push((path, identity, len));
                        }
                        Err(error) => errors.push(error),
                    }
                }
                Ok(ControlFlow::Continue(()))
            },
        )?;
        errors.iter().for_each(|error| self.eprint(error));
        let mut files = inodes(files);
        for file in files.iter_mut().filter(|file| file.names.len() > 1) {
            self.directories.remove_repeated(&mut file.names);
        }
        Ok(files)
    }

    /// Computes a key for each file of the groups with `key`, which also returns the number of bytes it read.
    fn keys<K: Send>(
        &mut self,
        groups: Vec<Vec<Inode>>,
        key: impl Fn(&Inode, &Directories, &Executor<'_>, &mut fullbore::pattern::Worker) -> Result<(u64, K)>
        + Sync,
    ) -> Result<Keyed<K>> {
        let mut keys = Vec::with_capacity(groups.iter().map(Vec::len).sum());
        let mut errors = Vec::new();
        let (executor, directories, read) = (self.executor, &self.directories, &mut self.read);
        executor.map_ordered(
            groups.iter().flatten(),
            |inode, sender, worker, executor| match key(inode, directories, executor, worker) {
                Err(error) if error.kind() == ErrorKind::Cancelled => Err(error),
                result => sender.send(result, 64).map(drop),
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
        errors.iter().for_each(|error| self.eprint(error));
        let mut keys = keys.into_iter();
        let mut give = |inode| (inode, keys.next().flatten());
        Ok(groups.into_iter().map(|group| group.into_iter().map(&mut give).collect()).collect())
    }

    /// Splits the groups by a key.
    fn refine<K: Ord + Clone + Send>(
        &mut self,
        groups: Vec<Vec<Inode>>,
        key: impl Fn(&Inode, &Directories, &Executor<'_>, &mut fullbore::pattern::Worker) -> Result<(u64, K)>
        + Sync,
    ) -> Result<Vec<Vec<Inode>>> {
        let keyed = self.keys(groups, key)?;
        let split = alike(keyed, |(_, key)| key.clone());
        Ok(split.into_iter().map(|group| group.into_iter().map(|(inode, _)| inode).collect()).collect())
    }

    /// Splits the groups by their bytes if a comparison was requested; otherwise equal hashes are sufficient.
    fn compared(&mut self, groups: Vec<Group>) -> Result<Vec<Group>> {
        let (mut result, mut errors) = (Vec::new(), Vec::new());
        let read = &mut self.read;
        let directories = &self.directories;
        self.executor.map_ordered(
            groups.into_iter(),
            |group, sender, _, _| {
                let mut classes: Vec<(File, Vec<HashedFile>)> = Vec::new();
                let (mut failed, mut bytes) = (Vec::new(), 0);
                for file in group.files {
                    match class_of(&file, &classes, directories, &mut bytes) {
                        Ok((_, Some(number))) => classes[number].1.push(file),
                        Ok((opened, None)) => classes.push((opened, vec![file])),
                        Err(error) => failed.push(error),
                    }
                }
                for (first, files) in &mut classes {
                    if let Err(error) = unchanged(first) {
                        failed.push(error);
                        files.remove(0);
                    }
                }
                let classes: Vec<_> = classes
                    .into_iter()
                    .map(|(_, files)| files)
                    .filter(|files| files.len() > 1)
                    .map(|files| Group { sum: group.sum.clone(), files, ..group })
                    .collect();
                sender.send((classes, failed, bytes), 256).map(drop)
            },
            |(classes, failed, bytes): (Vec<Group>, Vec<Error>, u64)| {
                *read += bytes;
                result.extend(classes);
                errors.extend(failed);
                Ok(ControlFlow::Continue(()))
            },
        )?;
        errors.iter().for_each(|error| self.eprint(error));
        Ok(result)
    }
}

/// Opens a file, and returns it with the number of the class that has the same bytes, if there is one. Each class has an open
/// file for the comparison. Adds the bytes that were read to `read`.
fn class_of(
    file: &HashedFile,
    classes: &[(File, Vec<HashedFile>)],
    directories: &Directories,
    read: &mut u64,
) -> Result<(File, Option<usize>)> {
    let opened = open(&file.inode, directories)?;
    if opened.starting_stamp()?.modified != file.modified {
        return Err(Error::new(ErrorKind::Changed, "read", opened.path(), "modified after it was hashed"));
    }
    let mut found = None;
    for (number, (first, _)) in classes.iter().enumerate() {
        let same = content::equal(first, &opened, read);
        // A comparison with a file that changed proves nothing; that file is left out at the end.
        if unchanged(first).is_ok() && same? {
            found = Some(number);
            break;
        }
    }
    unchanged(&opened)?;
    Ok((opened, found))
}

/// Fails if a file has changed since it was opened.
fn unchanged(file: &File) -> Result<()> {
    file.check_unchanged(&file.starting_stamp()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    /// Creates a file, and returns it as if it had just been hashed.
    fn hashed(path: &Path, directories: &mut Directories) -> HashedFile {
        std::fs::write(path, "content").unwrap();
        directories.note(path, HeldDir::of(path).unwrap().0);
        let FileStamp { identity, len, modified, .. } = File::open(path).unwrap().stamp().unwrap();
        HashedFile { inode: Inode { identity, len, names: vec![path.to_owned()] }, modified }
    }

    #[test]
    fn a_file_modified_after_it_was_hashed_is_an_error() {
        let (room, mut directories) = (tempfile::tempdir().unwrap(), Directories::default());
        let file = hashed(&room.path().join("file"), &mut directories);
        let class = |file: &HashedFile| class_of(file, &[], &directories, &mut 0).map(|(_, class)| class);
        assert_eq!(class(&file).unwrap(), None);
        let before = HashedFile { modified: (0, 0), ..file };
        assert_eq!(class(&before).unwrap_err().kind(), ErrorKind::Changed);
    }

    #[test]
    fn a_file_that_changes_proves_nothing_about_others() {
        let (room, mut directories) = (tempfile::tempdir().unwrap(), Directories::default());
        let [first, file] = ["first", "file"].map(|name| hashed(&room.path().join(name), &mut directories));
        let classes = [(open(&first.inode, &directories).unwrap(), vec![first])];
        let class = || class_of(&file, &classes, &directories, &mut 0).unwrap().1;
        assert_eq!(class(), Some(0));
        let changed = std::fs::File::options().write(true).open(room.path().join("first")).unwrap();
        changed.set_modified(std::time::UNIX_EPOCH).unwrap();
        assert_eq!(class(), None);
    }
}
