//! The steps that give a complete output its name, and the attributes that it inherits from the replaced file.

use std::ffi::{OsStr, OsString};
use std::sync::atomic::Ordering;

use super::cleanup::{Temporary, Unfinished, ending_signal};
use super::inner::{CacheMode, File};
use super::naming::{
    Link, TargetName, create_named, exchanged, link, linkable, named_copy, rename, rename_to, sync_directory,
    umask,
};
use super::types::{CommitReport, Durability, Step};
use crate::error::{Error, ErrorKind, Result};
use crate::sys::{self, AsHandle, AtFlags, Code, FileKind, OpenFlags};

/// The location of an output until it is complete.
#[derive(Debug)]
pub(super) enum OutputState {
    /// A nameless file.
    Unnamed { place: TargetName, finish: Finish },
    /// A file with a temporary name.
    Named { place: TargetName, finish: Finish, temporary: Temporary },
    /// A file with a name that remains, complete or not.
    Kept { place: TargetName, finish: Finish, part: OsString },
    /// The destination itself.
    Existing(Unfinished),
    /// A pipe, a device or a file that was already open: written bytes cannot be taken back.
    Stream,
}

impl OutputState {
    /// The place of an output that gets its name at the end, and the source of its attributes.
    pub(super) fn place(&self) -> Option<(&TargetName, Finish)> {
        match self {
            Self::Unnamed { place, finish }
            | Self::Named { place, finish, .. }
            | Self::Kept { place, finish, .. } => Some((place, *finish)),
            Self::Existing(_) | Self::Stream => None,
        }
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Finish {
    /// The mode and owner of any new file.
    Usual,
    /// The mode and owner of the replaced file.
    Inherit(Attributes),
    /// No change at the end: the writer sets mode and owner.
    Set,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Attributes {
    pub(super) mode: u32,
    pub(super) owner: (u32, u32),
}

const NEW: u32 = 0o666;

/// Starts a file that will get the name `place`.
pub(super) fn begin(place: TargetName, finish: Finish) -> Result<(File, OutputState)> {
    let flags = OpenFlags::UNNAMED | OpenFlags::READ_WRITE;
    let directory = place.directory.fd().map_err(|error| Error::io("create", place.path(), error))?;
    // No other process can open it before it has a name.
    if linkable(&directory)
        && let Ok(fd) = sys::open_at(&directory, ".", flags, NEW)
    {
        let file = File::from_fd(fd, place.path())?;
        return Ok((file, OutputState::Unnamed { place, finish }));
    }
    // The file system has no nameless files, or cannot name them.
    begin_named(place, finish)
}

/// As [`begin`], under a temporary name.
pub(super) fn begin_named(place: TargetName, finish: Finish) -> Result<(File, OutputState)> {
    let (temporary, fd) = create_named(&place, OpenFlags::READ_WRITE)?;
    protect(&fd, finish, &place)?;
    let file = File::from_fd(fd, place.path())?;
    Ok((file, OutputState::Named { place, finish, temporary }))
}

/// Makes a file that will inherit the access list of another accessible to its owner alone.
pub(super) fn protect(file: &impl AsHandle, finish: Finish, place: &TargetName) -> Result<()> {
    match finish {
        Finish::Inherit(_) => make_private(file, place),
        _ => Ok(()),
    }
}

/// Makes a file accessible to its owner alone, where that is permitted: a network share may withhold the right to change access
/// lists even from the owner.
pub(super) fn make_private(file: &impl AsHandle, place: &TargetName) -> Result<()> {
    match sys::make_private(file) {
        Err(error) if !is_refused(error) => Err(Error::io("protect", place.path(), error.into())),
        _ => Ok(()),
    }
}

/// Syncs an output to the given level and gives it its name, which must be free if `only_new`.
pub(super) fn publish(
    file: &File,
    state: OutputState,
    only_new: bool,
    durability: Durability,
) -> Result<CommitReport> {
    if ending_signal().load(Ordering::Relaxed) != 0 {
        if let OutputState::Existing(unfinished) = state {
            // The cleanup lists it.
            std::mem::forget(unfinished);
        }
        return Err(Error::cancelled());
    }
    let mut report = CommitReport::default();
    match state {
        OutputState::Stream => {
            // Pipes and terminals store nothing.
            let stores = matches!(file.kind(), FileKind::Regular | FileKind::BlockDevice);
            let level = if stores { durability } else { Durability::None };
            match sync(file, level, &mut report, File::sync) {
                // A file that the kernel generates.
                Err(error) if error.kind() == ErrorKind::Unsupported => {
                    sync(file, Durability::None, &mut report, File::sync)?
                }
                synced => synced?,
            }
        }
        OutputState::Existing(_unfinished) => sync(file, durability, &mut report, File::sync)?,
        OutputState::Unnamed { place, finish } => {
            if let Finish::Inherit(old) = finish {
                inherit(file, old, &place)?;
            }
            sync(file, durability, &mut report, File::sync_before_name)?;
            // Linked to its name directly if nothing has it, else through a temporary name and a rename.
            let linked = match finish {
                Finish::Inherit(_) => Link::Taken,
                Finish::Usual | Finish::Set => link(file, &place)?,
            };
            if only_new && linked == Link::Taken {
                return Err(Error::io("create", place.path(), Code::EXISTS.into()));
            }
            match if linked == Link::Taken { beside(file, &place)? } else { None } {
                Some(temporary) => {
                    report.note(Step::Linked);
                    rename(file, temporary, &place, only_new, &mut report)?;
                }
                None if linked == Link::Done => report.note(Step::Linked),
                None => {
                    let (temporary, copy) = named_copy(file, &place)?;
                    sync(&copy, durability, &mut report, File::sync_before_name)?;
                    rename(file, temporary, &place, only_new, &mut report)?;
                }
            }
            sync_directory(file, &place, durability, &mut report)?;
        }
        OutputState::Named { place, finish, temporary } => {
            complete(file, finish, &place)?;
            sync(file, durability, &mut report, File::sync_before_name)?;
            rename(file, temporary, &place, only_new, &mut report)?;
            sync_directory(file, &place, durability, &mut report)?;
        }
        OutputState::Kept { place, finish, part } => {
            complete(file, finish, &place)?;
            sync(file, durability, &mut report, File::sync_before_name)?;
            still(file, &place, &part)?;
            rename_to(file, &part, &place, only_new, &mut report)?;
            sync_directory(file, &place, durability, &mut report)?;
        }
    }
    Ok(report)
}

/// Gives a nameless file a temporary name beside `place`; `None` if the system refuses.
fn beside(file: &File, place: &TargetName) -> Result<Option<Temporary>> {
    let mut failed = None;
    let made = Temporary::create(&place.directory, &place.name, false, |_, name| {
        match link(file, &TargetName { directory: place.directory.clone(), name: name.to_owned() }) {
            Ok(Link::Done) => Ok(()),
            Ok(Link::Taken) => Err(Code::EXISTS),
            Ok(Link::Refused) => Err(Code::NOT_PERMITTED),
            Err(error) => {
                failed = Some(error.naming(place.path()));
                Err(Code::IO)
            }
        }
    });
    match (made, failed) {
        (_, Some(error)) => Err(error),
        (Ok((temporary, ())), None) => Ok(Some(temporary)),
        (Err(error), None) if error.kind() == std::io::ErrorKind::PermissionDenied => Ok(None),
        (Err(error), None) => Err(Error::io("create", place.path(), error)),
    }
}

/// Fails if a name in the directory of `place` no longer refers to `file`.
fn still(file: &File, place: &TargetName, name: &OsStr) -> Result<()> {
    let there = TargetName { directory: place.directory.clone(), name: name.to_owned() };
    match there.stat(AtFlags::NOFOLLOW)? {
        Some(stat) if stat.identity() == file.stamp()?.identity => Ok(()),
        _ => Err(exchanged("publish", &there)),
    }
}

/// Gives a file that only this user could open its final mode.
fn complete(file: &File, finish: Finish, place: &TargetName) -> Result<()> {
    match finish {
        Finish::Set => Ok(()),
        Finish::Inherit(old) => inherit(file, old, place),
        Finish::Usual => {
            let mode = place.usual_mode(NEW, umask())?;
            match sys::change_mode(file.as_handle(), mode) {
                Err(error) if !is_refused(error) => {
                    Err(Error::io("set its mode", place.path(), error.into()))
                }
                _ => Ok(()),
            }
        }
    }
}

/// Gives the new file the old one's owner, where permitted, and then its mode, because a change of owner clears mode bits.
fn inherit(file: &File, old: Attributes, place: &TargetName) -> Result<()> {
    let given = give(file, old.owner, place)?;
    // A write by an ordinary user would have cleared the bits of the old file, too.
    let mut mode = permitted_mode(old.mode, given && sys::effective_user() == 0);
    if !given && !sys::status(file).is_ok_and(|stat| stat.gid == old.owner.1) {
        mode = for_another_group(mode);
    }
    inherit_mode(file, mode, true, place)
}

/// Returns the mode of a file whose group is not that of the file that it replaces: the members of the new one were others. The
/// bits of a group also limit the entries of an access control list.
fn for_another_group(mode: u32) -> u32 {
    mode & !0o070 | mode & mode << 3 & 0o070
}

/// Gives the new file `mode` and the old one's access list; on Windows also its named streams and flags, and with `owner` its
/// owner.
pub(super) fn inherit_mode(file: &File, mode: u32, owner: bool, place: &TargetName) -> Result<()> {
    let failed = |error| Error::io("inherit its access rights", place.path(), error);
    let directory = place.directory.fd().map_err(failed)?;
    match sys::inherit(&directory, &place.name, file, owner) {
        // Another process removed it meanwhile.
        Ok(()) | Err(Code::NOT_FOUND) => {}
        Err(error) => return Err(failed(error.into())),
    }
    match sys::change_mode(file, mode) {
        Ok(()) => Ok(()),
        // The file system has one mode for all files. Without the right to change the mode of a file that has been given away, it
        // may permit more than the old one.
        Err(error) if is_refused(error) && permits_no_more(file, mode) => Ok(()),
        Err(error) => Err(failed(error.into())),
    }
}

fn permits_no_more(file: &File, mode: u32) -> bool {
    sys::status(file).is_ok_and(|stat| stat.permissions() & !mode & 0o777 == 0)
}

/// Gives the file an owner and a group, or the group alone; `true` if both were set. Only root gives files away; for others the new
/// file is theirs, as with any editor that renames. A change to the same owner would clear capabilities.
pub(super) fn give(file: &File, (uid, gid): (u32, u32), place: &TargetName) -> Result<bool> {
    if sys::status(file).is_ok_and(|stat| (stat.uid, stat.gid) == (uid, gid)) {
        return Ok(true);
    }
    match sys::change_owner(file, Some(uid), Some(gid)) {
        Ok(()) => Ok(true),
        Err(error) if is_refused(error) => {
            let _ = sys::change_owner(file, None, Some(gid));
            Ok(false)
        }
        Err(error) => Err(Error::io("inherit its owner", place.path(), error.into())),
    }
}

/// True if the user may not change an owner or a mode, or the file system has none.
pub fn is_refused(error: Code) -> bool {
    matches!(
        error,
        Code::NOT_PERMITTED
            | Code::ACCESS_DENIED
            | Code::INVALID
            | Code::OVERFLOW
            | Code::UNSUPPORTED
            | Code::NOT_IMPLEMENTED
    )
}

/// Returns the mode of a file that replaces another: it keeps set-user-ID and set-group-ID only if owner and group are
/// the same, because otherwise the file would run as an unintended user.
pub fn permitted_mode(mode: u32, same_owner: bool) -> u32 {
    if same_owner { mode } else { mode & !0o6000 }
}

fn sync(
    file: &File,
    durability: Durability,
    report: &mut CommitReport,
    sync: fn(&File, Durability) -> Result<()>,
) -> Result<()> {
    // Also at level `None`: a file whose sync failed must not get its name.
    file.sound().map_err(|error| Error::io("finish", file.path(), error))?;
    if durability != Durability::None {
        sync(file, durability)?;
        report.note(Step::Synced(durability));
    }
    let others = match &file.inner.cache_mode {
        CacheMode::Direct(direct) => [Some(&direct.file), direct.cached.as_ref()],
        _ => [None, None],
    };
    others
        .into_iter()
        .flatten()
        .chain([file])
        .try_for_each(sys::close_duplicate)
        .map_err(|error| Error::io("close", file.path(), error.into()))
}

pub(super) fn dangling(place: &TargetName) -> Error {
    Error::new(ErrorKind::Unsupported, "write", place.path(), "it is a dangling symbolic link")
        .advise("remove the link or create its target")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The behaviour on file systems without `O_TMPFILE`, tested on one that has it.
    #[test]
    fn an_output_under_a_temporary_name_behaves_the_same() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        let names = || std::fs::read_dir(directory.path()).unwrap().count();
        #[cfg(unix)]
        let mode = |path: &std::path::Path| {
            use std::os::unix::fs::PermissionsExt;
            std::fs::metadata(path).unwrap().permissions().mode() & 0o7777
        };
        // Windows has no such bits: the temporary file inherits the rights of its directory.
        #[cfg(windows)]
        let mode =
            |path: &std::path::Path| u32::from(std::fs::metadata(path).unwrap().permissions().readonly());
        std::fs::write(&path, "").unwrap();
        let usual = mode(&path);
        for (durability, syncs) in [(Durability::None, 0), (Durability::Data, 1), (Durability::Full, 2)] {
            std::fs::write(&path, "old").unwrap();
            let (file, state) = begin_named(TargetName::of(&path).unwrap(), Finish::Usual).unwrap();
            file.write_all_at(b"new", 0).unwrap();
            assert_eq!((names(), std::fs::read(&path).unwrap()), (2, b"old".to_vec()));
            for entry in std::fs::read_dir(directory.path()).unwrap() {
                let found = entry.unwrap().path();
                assert_eq!(mode(&found), if found == path || cfg!(windows) { usual } else { 0o600 });
            }
            let report = publish(&file, state, false, durability).unwrap();
            assert_eq!((names(), std::fs::read(&path).unwrap()), (1, b"new".to_vec()));
            assert_eq!(mode(&path), usual);
            assert_eq!(report.steps().len(), syncs + 1, "{report}");
            assert_eq!(report.directory(), durability == Durability::Full);
        }
        drop(begin_named(TargetName::of(&path).unwrap(), Finish::Usual).unwrap());
        assert_eq!((names(), std::fs::read(&path).unwrap()), (1, b"new".to_vec()));
    }

    #[cfg(unix)]
    /// The output stays in its directory, even if the path refers to another one at the commit.
    #[test]
    fn an_output_stays_in_the_directory_where_it_began() {
        let room = tempfile::tempdir().unwrap();
        let (own, foreign) = (room.path().join("own"), room.path().join("foreign"));
        for begin in [begin, begin_named] {
            std::fs::create_dir(&own).unwrap();
            std::fs::create_dir(&foreign).unwrap();
            std::fs::write(foreign.join("file"), "theirs").unwrap();
            let (file, state) = begin(TargetName::of(&own.join("file")).unwrap(), Finish::Usual).unwrap();
            file.write_all_at(b"ours", 0).unwrap();
            let moved = room.path().join("moved");
            std::fs::rename(&own, &moved).unwrap();
            std::os::unix::fs::symlink(&foreign, &own).unwrap();
            publish(&file, state, false, Durability::Full).unwrap();
            assert_eq!(std::fs::read(foreign.join("file")).unwrap(), b"theirs");
            assert_eq!(std::fs::read(moved.join("file")).unwrap(), b"ours");
            assert_eq!(std::fs::read_dir(&foreign).unwrap().count(), 1);
            std::fs::remove_file(&own).unwrap();
            std::fs::remove_dir_all(&moved).unwrap();
            std::fs::remove_dir_all(&foreign).unwrap();
        }
    }
}
