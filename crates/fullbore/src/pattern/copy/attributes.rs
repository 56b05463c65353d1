//! Attributes that a copy takes from its source, applied in an order in which no step undoes an earlier one.

use std::ffi::{CStr, OsStr};
use std::path::PathBuf;

use super::options::Preserve;
use fullbore_io::error::{Error, Result};
use fullbore_io::file::{is_refused, permitted_mode, usual_mode};
use fullbore_io::sys::{self, AsHandle, AtFlags, BorrowedHandle, Code, FileKind, Handle, OsStrExt, Status};

/// The access control lists, which belong to the mode.
const LISTS: [&[u8]; 3] = [sys::ACCESS_LIST.as_bytes(), b"system.posix_acl_default", b"system.ntfs_acl"];

/// The mode of a copy that does not keep the source's, before the process's mask or the directory's default list.
pub(super) fn usual(preserve: &Preserve, stat: &Status) -> u32 {
    match stat.kind() {
        FileKind::Directory | FileKind::Socket if preserve.default_mode => 0o777,
        _ if preserve.default_mode => 0o666,
        FileKind::Directory => stat.mode & 0o1777,
        _ => stat.mode & 0o777,
    }
}

/// The mode that a copy is created with: no other user can open it before it has its owner.
pub(super) fn creation_mode(preserve: &Preserve, stat: &Status) -> u32 {
    if preserve.mode || preserve.owner { stat.mode & 0o700 } else { usual(preserve, stat) }
}

/// The final mode of a file created with [`creation_mode`] if it has another, and the source's is not kept.
pub(super) fn later_mode(preserve: &Preserve, stat: &Status, within: &Handle, umask: u32) -> Option<u32> {
    let is_later = preserve.owner && !preserve.mode && stat.kind() != FileKind::Symlink;
    is_later.then(|| usual_mode(within, usual(preserve, stat), umask))
}

/// An open file, or a name in an open directory.
#[derive(Clone, Copy)]
pub(super) enum AttributeTarget<'a> {
    Open(BorrowedHandle<'a>),
    /// A name; symbolic links are not followed.
    Name(BorrowedHandle<'a>, &'a CStr),
}

impl AttributeTarget<'_> {
    /// The path of the name, for calls that take no directory.
    fn path(&self) -> Option<PathBuf> {
        match self {
            Self::Open(_) => None,
            Self::Name(directory, name) => Some(sys::path_in(directory, OsStr::from_bytes(name.to_bytes()))),
        }
    }
}

/// Gives `target` (`path` in messages) the attributes that `preserve` selects. `usual`: the mode of a new file if the source's is not
/// kept; it follows the owner, because it may permit more to the group that the file had before. File systems with one mode for all
/// files refuse it.
pub(super) fn keep(
    preserve: &Preserve,
    source: AttributeTarget<'_>,
    stat: &Status,
    target: AttributeTarget<'_>,
    usual: Option<u32>,
    path: &dyn Fn() -> PathBuf,
) -> Result<()> {
    let failed = |doing: &'static str| move |error: Code| Error::io(doing, path(), error.into());
    let mut mode = stat.permissions();
    if preserve.owner {
        let given = give(stat, target, preserve.mode).map_err(failed("preserve the owner of"))?;
        mode = permitted_mode(mode, given);
    } else if preserve.mode && mode & 0o6000 != 0 && !directory(stat) {
        mode = permitted_mode(mode, belongs(stat, target).map_err(failed("inspect"))?);
    }
    let any = preserve.attributes || preserve.mode;
    if any && copy_extended(preserve, source, target, Which::Others(stat.kind()), path)? {
        // The group's bits are the upper bound of the list's entries, and would be the group's own rights without it.
        mode &= !0o070;
    }
    let change_mode = |mode| match target {
        AttributeTarget::Open(fd) => sys::change_mode(fd, mode),
        AttributeTarget::Name(directory, name) => {
            sys::change_mode_of_created(directory, name, stat.kind(), mode)
        }
    };
    if preserve.mode && stat.kind() != FileKind::Symlink {
        change_mode(mode).map_err(failed("preserve the mode of"))?;
    } else if let Some(Err(error)) = usual.map(change_mode).filter(|set| !set.is_err_and(is_refused)) {
        return Err(failed("set its mode")(error));
    }
    if preserve.times {
        set_times(stat, target).map_err(failed("preserve the times of"))?;
    }
    if (any || preserve.owner) && sys::LISTS_RESTRICT_OWNERS {
        copy_extended(preserve, source, target, Which::Restrictive, path)?;
    }
    Ok(())
}

/// True if access lists restrict the owners of files, but the source has none: a target that was private until then would stay so.
pub(super) fn is_unlisted(source: impl AsHandle) -> bool {
    sys::LISTS_RESTRICT_OWNERS && sys::attribute(source, LISTS[2], &mut []).is_err()
}

/// The extended attributes to copy.
#[derive(Clone, Copy, PartialEq)]
enum Which {
    /// Attributes that may deny the file's owner other changes, and are set last: access lists of Windows.
    Restrictive,
    /// Those of a file of this kind.
    Others(FileKind),
}

/// Changes the owner; true if the file has the source's owner now. Missing permission is not an error. With `restricts`, an existing
/// file is first made as private as it was and the source is: its mode may permit more to the new group than the source's.
fn give(stat: &Status, target: AttributeTarget<'_>, restricts: bool) -> sys::Result<bool> {
    if let AttributeTarget::Open(fd) = target {
        let now = sys::status(fd)?;
        if (now.uid, now.gid) == (stat.uid, stat.gid) {
            return Ok(true);
        }
        let private = now.permissions() & stat.mode & 0o700;
        if restricts && now.permissions() & 0o7777 != private {
            match sys::change_mode(fd, private) {
                Err(error) if !is_refused(error) => return Err(error),
                _ => {}
            }
        }
    }
    let change = |user: Option<u32>| {
        let group = Some(stat.gid);
        match target {
            AttributeTarget::Open(fd) => sys::change_owner(fd, user, group),
            AttributeTarget::Name(directory, name) => {
                sys::change_owner_of_created(directory, name, stat.kind(), user, group)
            }
        }
    };
    match change(Some(stat.uid)) {
        Ok(()) => Ok(true),
        Err(error) if is_refused(error) => {
            let _ = change(None);
            Ok(false)
        }
        Err(error) => Err(error),
    }
}

/// True for a directory: its set-group-ID bit gives nobody rights.
fn directory(stat: &Status) -> bool {
    stat.kind() == FileKind::Directory
}

fn belongs(stat: &Status, target: AttributeTarget<'_>) -> sys::Result<bool> {
    let made = match target {
        AttributeTarget::Open(fd) => sys::status(fd),
        AttributeTarget::Name(directory, name) => sys::stat_at(directory, name, AtFlags::NOFOLLOW),
    }?;
    Ok((made.uid, made.gid) == (stat.uid, stat.gid))
}

/// Runs `set` while the mode lets the owner write to the file, for calls that check the mode even of an open file.
fn writable<T>(file: BorrowedHandle<'_>, set: impl FnOnce() -> T) -> sys::Result<T> {
    let mode = sys::status(file)?.permissions();
    sys::change_mode(file, mode | 0o200)?;
    let result = set();
    sys::change_mode(file, mode)?;
    Ok(result)
}

pub(super) fn set_times(stat: &Status, target: AttributeTarget<'_>) -> sys::Result<()> {
    match target {
        AttributeTarget::Open(fd) => sys::set_times(fd, stat),
        AttributeTarget::Name(directory, name) => sys::set_times_at(directory, name, stat),
    }
}

/// The outcome of copying extended attributes.
#[derive(Default)]
struct Extended {
    failure: Option<Failure>,
    /// True if the source has an access list, and the target's file system has none.
    unlisted: bool,
}

/// An attribute that could not be copied.
struct Failure {
    code: Code,
    /// True for access lists, and for every attribute if all are required: the copy fails.
    required: bool,
    /// The name of the attribute, if the failure concerns one.
    attribute: Option<String>,
}

impl Extended {
    /// Notes a failure. The first one counts, a required one before others.
    fn fail(&mut self, failure: Failure) {
        if self.failure.as_ref().is_none_or(|first| failure.required && !first.required) {
            self.failure = Some(failure);
        }
    }
}

/// Copies the extended attributes; true if the target's file system has no access lists and the source has one. Only a required
/// attribute that cannot be copied is an error.
fn copy_extended(
    preserve: &Preserve,
    source: AttributeTarget<'_>,
    target: AttributeTarget<'_>,
    which: Which,
    path: &dyn Fn() -> PathBuf,
) -> Result<bool> {
    let copy = || extended(preserve, source, target, which);
    let mut copied = copy();
    if let (Some(failure), AttributeTarget::Open(file)) = (&mut copied.failure, target)
        && failure.code == Code::ACCESS_DENIED
    {
        match writable(file, copy) {
            Ok(again) => copied = again,
            Err(code) => failure.code = code,
        }
    }
    let Some(failure) = copied.failure.filter(|failure| failure.required) else { return Ok(copied.unlisted) };
    let error = Error::io("preserve the extended attributes of", path(), failure.code.into());
    Err(match failure.attribute {
        Some(name) => error.about(name),
        None => error,
    })
}

/// Name of a directory within itself.
const ITSELF: &str = ".";

/// Copies all extended attributes it can.
fn extended(
    preserve: &Preserve,
    source: AttributeTarget<'_>,
    target: AttributeTarget<'_>,
    which: Which,
) -> Extended {
    let mut copied = Extended::default();
    let (mut from, to) = (source.path(), target.path());
    if let (AttributeTarget::Open(source), AttributeTarget::Open(target)) = (source, target)
        && preserve.mode
        && which != Which::Restrictive
        && let Err(code) = sys::copy_access_list(source, target)
    {
        copied.fail(Failure { code, required: true, attribute: None });
    }
    let list = |from: &Option<PathBuf>| {
        sys::read_grown(sys::ATTRIBUTE_LIST, |names| match (&source, from) {
            (_, Some(path)) => sys::attributes_of_name(path.as_path(), names),
            (AttributeTarget::Open(fd), None) => sys::attributes(fd, names),
            _ => Ok(0),
        })
    };
    let mut found = list(&from);
    // A directory that may not be listed is open as a place only.
    if let (Err(Code::BAD_HANDLE), AttributeTarget::Open(fd)) = (&found, &source) {
        from = Some(sys::path_in(fd, ITSELF));
        found = list(&from);
    }
    let names = match found {
        Ok(names) => names,
        // A file system without extended attributes has none to copy.
        Err(Code::UNSUPPORTED) => Vec::new(),
        Err(code) => {
            copied.fail(Failure { code, required: preserve.attributes_required, attribute: None });
            return copied;
        }
    };
    for name in sys::attribute_names(&names) {
        let list = LISTS.contains(&name);
        let wanted = match list {
            true => preserve.mode || preserve.owner && name == LISTS[2],
            false => preserve.attributes,
        };
        if !wanted || (name == LISTS[2]) != (which == Which::Restrictive) {
            continue;
        }
        let value = sys::read_grown(sys::ATTRIBUTE_VALUE, |value| match (&source, &from) {
            (_, Some(path)) => sys::attribute_of_name(path.as_path(), name, value),
            (AttributeTarget::Open(fd), None) => sys::attribute(fd, name, value),
            _ => Ok(0),
        });
        // A stream of Windows may be longer than any attribute.
        let too_long = value.as_ref().is_err_and(|&error| error == Code::OUT_OF_RANGE);
        let set = value.and_then(|mut value| {
            if name == LISTS[2] {
                sys::select_of_descriptor(&mut value, preserve.mode, preserve.owner);
            }
            match (&target, &to) {
                (AttributeTarget::Open(fd), _) => sys::set_attribute(fd, name, &value),
                (_, Some(path)) => sys::set_attribute_of_name(path.as_path(), name, &value),
                _ => Ok(()),
            }
        });
        match set {
            Ok(()) => {}
            Err(Code::UNSUPPORTED) if list && !preserve.attributes_required => {
                copied.unlisted |= name == LISTS[0];
            }
            Err(code) => copied.fail(Failure {
                code,
                required: preserve.attributes_required || list || too_long,
                attribute: Some(String::from_utf8_lossy(name).into_owned()),
            }),
        }
    }
    if let Which::Others(kind) = which
        && preserve.mode
        && kind != FileKind::Symlink
    {
        // The default list of the directory may have given the target lists that the source lacks.
        let has = |list: &[u8]| names.split(|&byte| byte == 0).any(|name| name == list);
        for list in LISTS[..2].iter().filter(|list| !has(list)) {
            let _ = match (&target, &to) {
                (AttributeTarget::Open(fd), _) => sys::remove_attribute(fd, *list),
                (_, Some(path)) => sys::remove_attribute_of_name(path.as_path(), *list),
                _ => Ok(()),
            };
        }
    }
    copied
}
