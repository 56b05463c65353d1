//! Copies directories, each finished when its content is complete, and creates those of a path (`cp --parents`).

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use super::attributes::{self, AttributeTarget};
use super::directory::{Directory, Entry, c_name, path};
use super::failure::{Copied, CopyError};
use super::journal::Journal;
use super::note::{self, BegunDirectory, is_journal};
use super::options::{CopyEvent, CopyKind, Existing};
use super::tree_copy::{TreeCopy, Worker};
use fullbore_io::error::{Error, ErrorKind, Result};
use fullbore_io::file::{Durability, HeldDir, Temporary, even_unlisted, rename_new, usual_mode};
use fullbore_io::sys::{
    self, AsHandle, AtFlags, Code, FileKind, Handle, OpenFlags, OsStrExt, Status, is_separator,
};

impl TreeCopy<'_> {
    pub(super) fn enter(&self, worker: &mut Worker, entry: &Entry<'_>) -> Copied<()> {
        let Entry { directory: parent, source: source_name, target: target_name, follow } = *entry;
        let flags = OpenFlags::READ | OpenFlags::DIRECTORY;
        let once = if follow { OpenFlags::empty() } else { OpenFlags::NOFOLLOW };
        let of_source = |error: Code| Error::io("access", entry.source_path(), error.into());
        let of_target = |error: Code| Error::io("create directory", entry.target_path(), error.into());
        let source = sys::open_at(parent.source()?, source_name, flags | once, 0).map_err(of_source)?;
        let stat = sys::status(&source).map_err(of_source)?;
        let identity = stat.identity();
        let within = parent.target()?;
        let inside = || CopyError::IntoItself { source: entry.source_path(), target: entry.target_path() };
        if parent.goes_to(identity) {
            return Err(inside());
        }
        if follow && parent.is_in(identity) {
            return Err(CopyError::Cycle { source: entry.source_path() });
        }
        let names = sys::Directory::read_from(&source).map_err(of_source)?;
        let mode = attributes::creation_mode(&self.options.preserve, &stat) & 0o1777 | 0o700;
        let mut hidden = None;
        let mut new = true;
        let shown = path(target_name).as_os_str();
        // Symbolic links that others put there meanwhile are not followed.
        let open = |name: &OsStr| sys::open_at(&within, name, flags | OpenFlags::NOFOLLOW, 0);
        let created = |made: Handle| is_new_directory(&within, &made, mode).map(|()| made);
        let make = || {
            make_directory(&within, path(target_name), mode, self.umask)?;
            open(shown).and_then(|made| if parent.fresh { Ok(made) } else { created(made) })
        };
        let mut linked = false;
        // Without a note the next run would copy into a directory that this one begins.
        let noted = (self.options.resume && parent.outermost).then(|| trimmed(shown));
        let mut begun = None;
        let target = if parent.fresh {
            make()
        } else {
            match self.directory_there(entry, &within) {
                Ok(Some((there, by_link))) => {
                    let (source, target) = (entry.source_path(), entry.target_path());
                    let leads_to = |stat: Status| stat.identity() == identity;
                    let leads = sys::stat_at(&within, target_name, AtFlags::empty()).is_ok_and(leads_to);
                    let keeps_all =
                        self.options.existing == Existing::Skip || self.options.kind == CopyKind::HardLink;
                    if leads_to(there) && keeps_all {
                        return Ok(());
                    }
                    if leads_to(there) || !follow && leads {
                        return Err(CopyError::SameFile { source, target });
                    }
                    if there.kind() != FileKind::Directory {
                        return Err(CopyError::DirectoryOverFile { source, target });
                    }
                    if parent.outermost && is_in(&within, identity) {
                        return Err(inside());
                    }
                    new = false;
                    linked = by_link;
                    let links = if by_link { OpenFlags::empty() } else { OpenFlags::NOFOLLOW };
                    even_unlisted(|flags| sys::open_at(&within, shown, flags | links, 0))
                }
                Ok(None) if parent.outermost && is_in(&within, identity) => return Err(inside()),
                Ok(None) if self.options.resume => {
                    if let Some(name) = noted {
                        if is_journal(&parent.target, name)? {
                            // The part of that file would remain.
                            Journal::discard(&parent.target, name);
                        }
                        begun = BegunDirectory::plan(&parent.target, name, (&source, &entry.source_path()))?;
                    }
                    begun.as_ref().map_or_else(make, |begun| begun.kept(make()))
                }
                Ok(None) => {
                    // The new directory inherits a set-group-ID bit, which a later change of its mode by a user outside the
                    // group would clear.
                    let above = sys::status(&within).map_err(of_target)?;
                    let inherits = above.permissions() & 0o2000 != 0;
                    let mode = if inherits && !sys::may_set_group_id(above.gid) { mode } else { 0o700 };
                    let made = Temporary::create(&parent.target, trimmed(shown), true, |directory, name| {
                        make_directory(directory, Path::new(name), mode, self.umask)
                    });
                    let (temporary, ()) =
                        made.map_err(|error| Error::io("create directory", entry.target_path(), error))?;
                    let fd = open(temporary.name()).and_then(created);
                    hidden = Some(temporary);
                    fd
                }
                Err(error) => Err(error),
            }
        }
        .map_err(of_target)?;
        // An earlier run that was stopped created the directories below one that it began, and did not finish them.
        let mut continued = self.options.resume && !parent.outermost && parent.new && !linked;
        match (&begun, noted) {
            (Some(begun), _) => begun.made(&target)?,
            // This run recorded that an earlier source is copied to the same directory.
            (None, Some(name)) if name != "." && !self.is_begun(&parent.target, name) => {
                begun = BegunDirectory::find(&parent.target, name, (&source, &entry.source_path()), &target)?;
                continued = begun.is_some();
            }
            _ => {}
        }
        self.begun.lock().extend(begun);
        let made = sys::status(&target).map_err(of_target)?;
        worker.stats.directories += u64::from(new);
        let name = hidden.as_ref().map_or(shown, Temporary::name);
        let target = parent.target.with(target, (name, shown), linked, made.identity());
        let source = parent.source_child(source, source_name, follow, identity)?;
        let crosses = self.options.one_file_system
            && !parent.outermost
            && parent.stat.as_ref().is_some_and(|above| above.dev != stat.dev);
        let (ends, alone) = ((source, target), !self.options.resume);
        let directory = Arc::new(Directory::new(parent.clone(), ends, hidden, stat, new || continued, alone));
        if new {
            self.report_copied(entry, None, None);
        }
        if !crosses {
            self.scan(worker, &directory, names);
        }
        self.release(worker, directory);
        Ok(())
    }

    /// The existing entry at a directory's target, and true if it was reached through a symbolic link.
    fn directory_there(&self, entry: &Entry<'_>, within: &Handle) -> sys::Result<Option<(Status, bool)>> {
        let look = |flags| match sys::stat_at(within, entry.target, flags) {
            Ok(stat) => Ok(Some(stat)),
            Err(Code::NOT_FOUND) => Ok(None),
            Err(error) => Err(error),
        };
        let there = look(AtFlags::NOFOLLOW)?;
        match there {
            Some(link) if self.options.follow_directory_links && link.kind() == FileKind::Symlink => {
                Ok(Some(look(AtFlags::empty())?.map_or((link, false), |there| (there, true))))
            }
            other => Ok(other.map(|there| (there, false))),
        }
    }

    /// Releases a directory. The last release finishes it, then releases its parent.
    pub(super) fn release(&self, worker: &mut Worker, directory: Arc<Directory>) {
        let mut next = Some(directory);
        while let Some(directory) = next.take().and_then(Arc::into_inner) {
            if let Err(error) = self.keep_attributes(&directory) {
                self.fail(worker, error.into());
            }
            let Directory { parent, hidden, target, .. } = directory;
            let hidden = hidden.into_inner();
            match (hidden, parent) {
                (Some(hidden), Some(parent)) => {
                    // The parent is kept: it gets its times after this directory got its name.
                    self.whole.lock().push((hidden, target, parent));
                }
                (_, parent) => next = parent,
            }
        }
    }

    /// Sets a directory's attributes, last because changes in it would change them.
    fn keep_attributes(&self, directory: &Directory) -> Result<()> {
        let Some(stat) = &directory.stat else { return Ok(()) };
        let preserve = &self.options.preserve;
        let (source, target) = (directory.source()?, directory.target()?);
        let paths = || directory.target.path();
        let usual = || -> Result<Option<u32>> {
            let now = sys::status(&target).map_or(0, |now| now.permissions());
            let within =
                directory.parent.as_ref().map_or_else(|| directory.target(), |parent| parent.target())?;
            let mode = usual_mode(&within, attributes::usual(preserve, stat), self.umask) | now & 0o6000;
            Ok((mode != now).then_some(mode))
        };
        let mode = if directory.new && !preserve.mode { usual()? } else { None };
        let (from, to) =
            (AttributeTarget::Open(source.as_handle()), AttributeTarget::Open(target.as_handle()));
        attributes::keep(preserve, from, stat, to, mode, &paths)?;
        // A hidden directory is synced with all its content, where one call does that.
        let alone = || !directory.fresh || !syncs_whole(&target);
        if directory.new && self.settings.durability == Durability::Full && alone() {
            let failed = |error| Error::io("sync", paths(), error);
            directory.target.sync().map_err(failed)?;
            if let (false, Some(parent)) = (directory.fresh, &directory.parent) {
                parent.target.sync().map_err(failed)?;
            }
        }
        Ok(())
    }

    /// True if this run holds the note of a directory.
    fn is_begun(&self, parent: &HeldDir, name: &OsStr) -> bool {
        self.begun.lock().iter().any(|begun| begun.is_of(parent, name))
    }

    /// Gives a complete directory its name.
    pub(super) fn publish(&self, hidden: Temporary, target: &HeldDir) -> Result<()> {
        let place = target.path();
        let failed = |doing: &'static str| move |error: io::Error| Error::io(doing, target.path(), error);
        let within = hidden.directory().clone();
        if self.settings.durability != Durability::None {
            let fd = target.fd().map_err(failed("sync"))?;
            if syncs_whole(&fd) {
                // One call for the whole tree; syncing each file would wait for the device once per file.
                sys::sync_file_system(fd).map_err(|error| failed("sync")(error.into()))?;
            }
        }
        let name = trimmed(place.file_name().unwrap_or_default());
        let held = within.fd().map_err(failed("create"))?;
        hidden
            .persist_with(|_, hidden| rename_new(&held, hidden, name))
            .map_err(|error| failed("create directory")(error.into()))?;
        target.renamed(name);
        if self.settings.durability == Durability::Full {
            within.sync().map_err(failed("sync the directory of"))?;
        }
        Ok(())
    }
}

/// True if one call syncs all files of a file system: the server of a FUSE file system never learns of it.
pub(super) fn syncs_whole(fd: impl AsHandle) -> bool {
    sys::SYNCS_FILE_SYSTEMS && sys::file_system_kind(fd).is_ok_and(|kind| !kind.is_fuse())
}

/// Creates a directory that its owner can use, whatever the umask.
fn make_directory(within: impl AsHandle + Copy, name: &Path, mode: u32, umask: u32) -> sys::Result<()> {
    sys::make_directory(within, name, mode)?;
    if umask & 0o700 == 0 {
        return Ok(());
    }
    // Another user may have replaced it with a link.
    let mode = mode & !umask | 0o700;
    let usable = sys::change_mode_of_created(within, name, FileKind::Directory, mode);
    if usable.is_err() {
        let _ = sys::remove(within, name, AtFlags::REMOVE_DIRECTORY);
    }
    usable
}

/// Fails unless `made` can be the directory that was just created in `within` with `mode`: another user who may change the names
/// there could have given the name to another directory, and would read what is copied into it.
fn is_new_directory(within: &Handle, made: &Handle, mode: u32) -> sys::Result<()> {
    let (above, made_as, user) = (sys::status(within)?, sys::status(made)?, sys::effective_user());
    if above.uid == user && above.permissions() & 0o022 == 0 {
        return Ok(());
    }
    let ours = made_as.uid == user && made_as.permissions() & 0o777 & !mode == 0;
    // Some file systems have one owner and mode for all.
    let fixed = || {
        let owner = note::status_of_new_file(within)?.uid;
        sys::Result::Ok(owner != user && owner == made_as.uid)
    };
    match (ours || fixed()?) && note::is_empty(made) {
        true => Ok(()),
        false => Err(Code::STALE),
    }
}

/// True if a directory is another, or is below it.
fn is_in(directory: &Handle, identity: (u64, u64)) -> bool {
    let flags = OpenFlags::PATH | OpenFlags::DIRECTORY;
    let mut last = None;
    let mut above = sys::open_at(directory, ".", flags, 0);
    while let Ok(fd) = above
        && let Ok(stat) = sys::status(&fd)
    {
        let found = stat.identity();
        if found == identity {
            return true;
        }
        if last == Some(found) {
            return false;
        }
        last = Some(found);
        above = sys::open_at(&fd, "..", flags, 0);
    }
    false
}

fn trimmed(name: &OsStr) -> &OsStr {
    Path::new(name).file_name().unwrap_or(name)
}

impl TreeCopy<'_> {
    /// Creates the directories of the path `source` in the directory part of `target`, which is that directory joined
    /// with all of `source`. Each is finished when its content is.
    pub(super) fn parents(
        &self,
        worker: &mut Worker,
        source: &Path,
        target: &Path,
    ) -> Copied<(Arc<Directory>, OsString, OsString)> {
        let names: Vec<&OsStr> = source
            .components()
            .filter_map(|component| match component {
                Component::Normal(name) => Some(name),
                Component::ParentDir => Some(OsStr::new("..")),
                _ => None,
            })
            .collect();
        let mut base = target.to_owned();
        for _ in &names {
            base.pop();
        }
        let held = HeldDir::open(&base).map_err(|error| Error::io("create directory", &base, error))?;
        let mut directory = Directory::outermost(held);
        let whole = source.as_os_str();
        let Some((last, above)) = names.split_last() else {
            return Ok((directory, whole.to_owned(), ".".into()));
        };
        if above.is_empty() {
            return Ok((directory, whole.to_owned(), (*last).to_owned()));
        }
        let is_root = |part: &Component<'_>| matches!(part, Component::Prefix(_) | Component::RootDir);
        let root: PathBuf = source.components().take_while(is_root).collect();
        for (at, name) in above.iter().enumerate() {
            // The first is a path, with the root if there is one.
            let looked_up = if at == 0 { root.join(name) } else { Path::new(name).to_owned() };
            directory = Arc::new(self.parent(worker, directory, &looked_up, name)?);
        }
        let Some(directory) = Arc::into_inner(directory) else {
            return Err(Error::new(ErrorKind::Invalid, "copy", source, "its directory is in use").into());
        };
        if *last == ".." {
            // The directory above was just created.
            return Err(Error::io("create directory", target, Code::EXISTS.into()).into());
        }
        // A slash at the end stays with the source's name.
        let mut name = (*last).to_owned();
        if whole.as_bytes().last().is_some_and(|&byte| is_separator(byte)) {
            name.push("/");
        }
        Ok((Arc::new(directory.into_outermost()), name, (*last).to_owned()))
    }

    fn parent(
        &self,
        worker: &mut Worker,
        above: Arc<Directory>,
        source: &Path,
        name: &OsStr,
    ) -> Copied<Directory> {
        let (source_name, target_name) = (c_name(source.as_os_str())?, c_name(name)?);
        let source_path = above.source_path(&source_name);
        let target_path = above.target_path(&target_name);
        let (base, within) = (above.source()?, above.target()?);
        let there = sys::stat_at(&within, name, AtFlags::empty());
        if there.as_ref().is_ok_and(|there| there.kind() != FileKind::Directory) {
            return Err(CopyError::NotADirectory { path: target_path });
        }
        let of_source = |error: Code| Error::io("get attributes of", &source_path, error.into());
        let source = even_unlisted(|flags| sys::open_at(&base, &source_name, flags, 0)).map_err(of_source)?;
        let stat = sys::status(&source).map_err(of_source)?;
        let mode = attributes::creation_mode(&self.options.preserve, &stat) & 0o1777 | 0o700;
        let made = match there {
            Ok(_) => false,
            Err(_) => {
                make_directory(&within, Path::new(name), mode, self.umask)
                    .map_err(|error| Error::io("make directory", &target_path, error.into()))?;
                worker.stats.directories += 1;
                if self.options.report_names {
                    let (source, target) = (source_path.clone(), target_path.clone());
                    (self.report)(CopyEvent::Parent { source, target });
                }
                true
            }
        };
        let opened = above.target.child(name, !made).and_then(|target| {
            if made {
                is_new_directory(&within, &*target.fd()?, mode)?;
            }
            Ok(target)
        });
        let target = opened.map_err(|error| Error::io("open", &target_path, error))?;
        let identity = stat.identity();
        let source = above.source_child(source, &source_name, true, identity)?;
        Ok(Directory::new(above, (source, target), None, stat, made, true))
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::{PermissionsExt, chown};

    use super::*;

    /// A directory that another user may have put in place of a new one is not written into.
    #[test]
    fn only_an_empty_private_directory_of_the_user_is_new() {
        let room = tempfile::tempdir().unwrap();
        let set =
            |path: &Path, mode| std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
        let open = |path: &Path| sys::open(path, OpenFlags::READ | OpenFlags::DIRECTORY, 0).unwrap();
        let path = room.path().join("new");
        std::fs::create_dir(&path).unwrap();
        set(&path, 0o700);
        let look = || is_new_directory(&open(room.path()), &open(&path), 0o700);
        for mode in [0o700, 0o777] {
            set(room.path(), mode);
            assert_eq!(look(), Ok(()), "{mode:o}");
        }
        set(&path, 0o755);
        assert_eq!(look(), Err(Code::STALE));
        set(&path, 0o700);
        std::fs::write(path.join("file"), "planted").unwrap();
        assert_eq!(look(), Err(Code::STALE));
        std::fs::remove_file(path.join("file")).unwrap();
        if chown(&path, Some(65534), None).is_err() {
            return println!("skipped: another owner: needs root");
        }
        assert_eq!(look(), Err(Code::STALE));
        // Nobody else can change the names in a private directory.
        set(room.path(), 0o700);
        assert_eq!(look(), Ok(()));
    }
}
