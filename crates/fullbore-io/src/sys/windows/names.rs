//! Names in directories.

use std::ffi::CString;
use std::os::windows::io::AsRawHandle;
use std::time::{Duration, Instant};

use windows_sys::Wdk::Storage::FileSystem as nt;
use windows_sys::Win32::Storage::FileSystem as fs;
use windows_sys::Win32::System::Ioctl::{FSCTL_GET_REPARSE_POINT, FSCTL_SET_REPARSE_POINT};
use windows_sys::Win32::System::SystemServices::{IO_REPARSE_TAG_MOUNT_POINT, IO_REPARSE_TAG_SYMLINK};

use super::handle::{AsHandle, AtFlags, CURRENT_DIRECTORY, Handle, raw};
use super::information::{answer, attribute_bits, control, set, set_name, u32_at};
use super::open::{create, existing, is_link, named, reparse_point};
use super::path::{OsStringExt, PathArg, native, path_in, units, wide};
use super::xattr::set_flags;
use crate::sys::code::{Code, Result, unsupported};
use crate::sys::types::FileKind;

/// Opens a file, or a link of any kind, to remove its name.
fn to_remove(directory: &impl AsHandle, name: &impl PathArg, flags: AtFlags) -> Result<Handle> {
    let access = fs::DELETE | fs::FILE_READ_ATTRIBUTES;
    let options = nt::FILE_OPEN_REPARSE_POINT;
    if flags.contains(AtFlags::REMOVE_DIRECTORY) {
        return existing(directory, name, access, options | nt::FILE_DIRECTORY_FILE);
    }
    match existing(directory, name, access, options | nt::FILE_NON_DIRECTORY_FILE) {
        // A junction, or a link to a directory, is a directory to the system.
        Err(Code::IS_DIRECTORY) => {
            let link = existing(directory, name, access, options)?;
            if is_link(&link) { Ok(link) } else { Err(Code::IS_DIRECTORY) }
        }
        other => other,
    }
}

/// Removes a name. If the system supports it, the name is removed immediately, even if others have the file open.
pub fn remove(directory: impl AsHandle, name: impl PathArg, flags: AtFlags) -> Result<()> {
    patiently(FILE_PATIENCE, || delete(&to_remove(&directory, &name, flags)?))
}

/// The time in which scanners and indexers usually close a new file.
const FILE_PATIENCE: Duration = Duration::from_millis(250);

/// The same for a directory, in which any file may be open; less than the time that the system gives a program to end when its
/// console is closed.
const DIRECTORY_PATIENCE: Duration = Duration::from_secs(3);

/// Repeats a call while another process has the file open, for as long as `patience`.
fn patiently(patience: Duration, mut call: impl FnMut() -> Result<()>) -> Result<()> {
    let (start, mut pause) = (Instant::now(), Duration::from_millis(1));
    loop {
        match call() {
            Err(Code::HELD) if start.elapsed() < patience => std::thread::sleep(pause),
            outcome => return outcome,
        }
        pause = (2 * pause).min(patience / 8);
    }
}

/// Removes the name of an open file; by its own handle if that denies others the right to do so.
pub(crate) fn remove_open(file: &Handle, directory: impl AsHandle, name: impl PathArg) -> Result<()> {
    match remove(directory, name, AtFlags::empty()) {
        Err(Code::HELD) => delete(file).map_err(|_| Code::HELD),
        removed => removed,
    }
}

/// Cancels the deletion on close of an open file. Before Windows 10 1709 the file is deleted nevertheless.
pub(crate) fn cancel_delete(file: &Handle) {
    let wanted = fs::FILE_DISPOSITION_INFO_EX { Flags: fs::FILE_DISPOSITION_FLAG_ON_CLOSE };
    // Other files have nothing to cancel, which is an error here.
    let _ = set(file, fs::FileDispositionInfoEx, &wanted);
}

pub(super) fn delete(file: &Handle) -> Result<()> {
    let at_once = |more: u32| {
        let flags = fs::FILE_DISPOSITION_FLAG_DELETE | fs::FILE_DISPOSITION_FLAG_POSIX_SEMANTICS | more;
        set(file, fs::FileDispositionInfoEx, &fs::FILE_DISPOSITION_INFO_EX { Flags: flags })
    };
    match at_once(fs::FILE_DISPOSITION_FLAG_IGNORE_READONLY_ATTRIBUTE) {
        // Before Windows 10 1809, and on file systems without it.
        Err(error) if error.is_absent() => {}
        outcome => return outcome,
    }
    let guarded = guards(file, false)?;
    let removed = match at_once(0) {
        // Before Windows 10 1607.
        Err(error) if error.is_absent() => {
            set(file, fs::FileDispositionInfo, &fs::FILE_DISPOSITION_INFO { DeleteFile: true })
        }
        outcome => outcome,
    };
    if guarded && removed.is_err() {
        let _ = guards(file, true);
    }
    removed
}

/// Sets or clears the attribute READONLY, and keeps the others. True if it was set.
pub(super) fn guards(file: &impl AsHandle, readonly: bool) -> Result<bool> {
    let was = attribute_bits(file)? & fs::FILE_ATTRIBUTE_READONLY != 0;
    if was != readonly {
        set_flags(file, fs::FILE_ATTRIBUTE_READONLY, if readonly { !0 } else { 0 })?;
    }
    Ok(was)
}

/// The root and the name of a target for the calls that name a file.
fn target(directory: &impl AsHandle, name: &impl PathArg) -> Result<(isize, Vec<u16>)> {
    let name = name.to_path();
    let path = std::path::Path::new(&*name);
    let plain = path.components().all(|part| matches!(part, std::path::Component::Normal(_)));
    if raw(directory) == raw(&CURRENT_DIRECTORY) || path.is_absolute() {
        return Ok((0, native(path)?));
    }
    match plain {
        true => Ok((directory.as_handle().as_raw_handle() as isize, units(&name))),
        false => Ok((0, native(&path_in(directory, path))?)),
    }
}

/// Makes a call that names a file, with a root and a name. Servers of network shares accept no root: the call is repeated with the
/// whole path.
fn naming(
    directory: &impl AsHandle,
    name: &impl PathArg,
    call: impl Fn(isize, &[u16]) -> Result<()>,
) -> Result<()> {
    let (root, units) = target(directory, name)?;
    match call(root, &units) {
        Err(error) if root != 0 && error.is_absent() => {
            let path = native(&path_in(directory, std::path::Path::new(&*name.to_path())))?;
            // A call that is missing has no better second error.
            call(0, &path).map_err(|second| if second.is_absent() { error } else { second })
        }
        outcome => outcome,
    }
}

/// True for the name of a stream of a file, `file:stream`, which cannot be renamed as a file can.
pub fn is_stream_name(name: &std::ffi::OsStr) -> bool {
    // The path of a device may have a drive.
    !std::path::Path::new(name).has_root() && name.as_encoded_bytes().contains(&b':')
}

/// Renames; waits while scanners have the file open, or a file in the directory.
fn renamed(
    from: &impl AsHandle,
    old: &impl PathArg,
    to: &impl AsHandle,
    new: &impl PathArg,
    replace: bool,
) -> Result<()> {
    let once = || renamed_once(from, old, to, new, replace);
    match patiently(FILE_PATIENCE, once) {
        Err(Code::HELD) if existing(from, old, fs::FILE_READ_ATTRIBUTES, nt::FILE_DIRECTORY_FILE).is_ok() => {
            patiently(DIRECTORY_PATIENCE, once)
        }
        outcome => outcome,
    }
}

fn renamed_once(
    from: &impl AsHandle,
    old: &impl PathArg,
    to: &impl AsHandle,
    new: &impl PathArg,
    replace: bool,
) -> Result<()> {
    const REPLACE_IF_EXISTS: u32 = 1;
    const POSIX_SEMANTICS: u32 = 2;
    const IGNORE_READONLY_ATTRIBUTE: u32 = 0x40;
    let file = existing(from, old, fs::DELETE | fs::FILE_READ_ATTRIBUTES, nt::FILE_OPEN_REPARSE_POINT)?;
    let (usual, plain) = (nt::FileRenameInformationEx, nt::FileRenameInformation);
    let [replacing, read_only] =
        if replace { [REPLACE_IF_EXISTS, IGNORE_READONLY_ATTRIBUTE] } else { [0; 2] };
    // The second from Windows 10 1607, the first from 1809 on; the third also on file systems without them.
    let renamed = naming(to, new, |root, name| {
        let mut renamed = Err(Code::UNSUPPORTED);
        for (class, flags) in [
            (usual, replacing | POSIX_SEMANTICS | read_only),
            (usual, replacing | POSIX_SEMANTICS),
            (plain, replacing),
        ] {
            renamed = set_name(&file, class, flags, root, name);
            if !renamed.is_err_and(Code::is_absent) {
                break;
            }
        }
        renamed
    });
    // The system reports a missing right, also for a directory in which any file is open.
    let is_directory = || attribute_bits(&file).is_ok_and(|bits| bits & fs::FILE_ATTRIBUTE_DIRECTORY != 0);
    match renamed {
        Err(Code::ACCESS_DENIED)
            if is_directory() && permits_names(to, new) || replace && is_held(to, new) =>
        {
            Err(Code::HELD)
        }
        outcome => outcome,
    }
}

/// True if this process may add names to the parent directory of a name.
fn permits_names(directory: &impl AsHandle, name: &impl PathArg) -> bool {
    let path = name.to_path();
    let parent = match std::path::Path::new(&*path).parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => ".".as_ref(),
    };
    existing(directory, &parent, fs::FILE_ADD_FILE | fs::FILE_ADD_SUBDIRECTORY, nt::FILE_DIRECTORY_FILE)
        .is_ok()
}

/// True if only its users can be the reason why a file is not replaced, which the system reports as a missing right.
fn is_held(directory: &impl AsHandle, name: &impl PathArg) -> bool {
    if !permits_names(directory, name) {
        return false;
    }
    let access = fs::DELETE | fs::FILE_READ_ATTRIBUTES;
    let options = nt::FILE_OPEN_REPARSE_POINT | nt::FILE_NON_DIRECTORY_FILE;
    match existing(directory, name, access, options) {
        Ok(file) => attribute_bits(&file).is_ok_and(|bits| bits & fs::FILE_ATTRIBUTE_READONLY == 0),
        // A removed file has its name until its users close it, and cannot be opened.
        Err(error) => [Code::HELD, Code::NOT_FOUND].contains(&error),
    }
}

/// Renames a file; a file of the new name is replaced, even one that others have open where the system permits it.
pub fn rename(from: impl AsHandle, old: impl PathArg, to: impl AsHandle, new: impl PathArg) -> Result<()> {
    renamed(&from, &old, &to, &new, true)
}

pub fn rename_new(
    from: impl AsHandle,
    old: impl PathArg,
    to: impl AsHandle,
    new: impl PathArg,
) -> Result<()> {
    renamed(&from, &old, &to, &new, false)
}

pub fn hard_link(
    from: impl AsHandle,
    old: impl PathArg,
    to: impl AsHandle,
    new: impl PathArg,
    flags: AtFlags,
) -> Result<()> {
    if flags.contains(AtFlags::EMPTY_PATH) {
        return Err(Code::UNSUPPORTED);
    }
    let options = if flags.contains(AtFlags::FOLLOW) { 0 } else { nt::FILE_OPEN_REPARSE_POINT };
    let access = fs::FILE_READ_ATTRIBUTES | fs::FILE_WRITE_ATTRIBUTES;
    let file = existing(&from, &old, access, options | nt::FILE_NON_DIRECTORY_FILE)?;
    naming(&to, &new, |root, name| set_name(&file, nt::FileLinkInformation, 0, root, name))
        .map_err(Code::or_unsupported)
}

/// Creates a symbolic link. The system has two kinds: one for a directory if the target is one.
pub fn symbolic_link(link: impl PathArg, directory: impl AsHandle, name: impl PathArg) -> Result<()> {
    let path = path_in(&directory, std::path::Path::new(&*name.to_path()));
    let there = path.parent().map(|parent| parent.join(&*link.to_path()));
    let kind = if there.is_some_and(|there| there.is_dir()) { fs::SYMBOLIC_LINK_FLAG_DIRECTORY } else { 0 };
    link_of_kind(&link, &path, kind)
}

fn link_of_kind(target: &impl PathArg, path: &std::path::Path, kind: fs::SYMBOLIC_LINK_FLAGS) -> Result<()> {
    let (path, mut words) = (wide(path)?, units(&target.to_path()));
    words.push(0);
    // SAFETY: both strings end with a zero and live through the call.
    let link = |kind| match unsafe { fs::CreateSymbolicLinkW(path.as_ptr(), words.as_ptr(), kind) } {
        true => Ok(()),
        false => Err(Code::last()),
    };
    match link(kind | fs::SYMBOLIC_LINK_FLAG_ALLOW_UNPRIVILEGED_CREATE) {
        // Before Windows 10 1703.
        Err(Code::INVALID) => link(kind),
        outcome => outcome,
    }
}

/// Creates a link like `old`: a symbolic link of the same kind to `target`, and every other reparse point, such as a junction,
/// with the same description.
pub fn copy_link(
    from: impl AsHandle,
    old: impl PathArg,
    target: impl PathArg,
    directory: impl AsHandle,
    name: impl PathArg,
) -> Result<()> {
    /// The longest description of a reparse point: `MAXIMUM_REPARSE_DATA_BUFFER_SIZE`.
    const LONGEST: usize = 16 << 10;
    let link = named(&from, &old, fs::FILE_READ_ATTRIBUTES, AtFlags::NOFOLLOW)?;
    let description = answer(&link, FSCTL_GET_REPARSE_POINT, &(), LONGEST).map(|(bytes, _)| bytes);
    let attributes = attribute_bits(&link)?;
    // The description begins with its kind.
    let is_symbolic = |bytes: &Vec<u8>| u32_at(bytes, 0) == Some(IO_REPARSE_TAG_SYMLINK);
    let Some(description) = description.ok().filter(|bytes| !is_symbolic(bytes)) else {
        let path = path_in(&directory, std::path::Path::new(&*name.to_path()));
        return link_of_kind(&target, &path, kind_of_link(attributes));
    };
    let kind = match attributes & fs::FILE_ATTRIBUTE_DIRECTORY {
        0 => nt::FILE_NON_DIRECTORY_FILE,
        _ => nt::FILE_DIRECTORY_FILE,
    };
    let options = kind | nt::FILE_OPEN_REPARSE_POINT;
    let access = fs::FILE_WRITE_DATA | fs::FILE_WRITE_ATTRIBUTES | fs::DELETE;
    let made =
        create(&directory, &name.to_path(), access, fs::FILE_ATTRIBUTE_NORMAL, nt::FILE_CREATE, options)?;
    let outcome = control(&made, FSCTL_SET_REPARSE_POINT, description.as_slice());
    if outcome.is_err() {
        let _ = set(&made, fs::FileDispositionInfo, &fs::FILE_DISPOSITION_INFO { DeleteFile: true });
    }
    outcome
}

/// The kind of a symbolic link with these attributes, whatever its target is.
fn kind_of_link(attributes: u32) -> fs::SYMBOLIC_LINK_FLAGS {
    if attributes & fs::FILE_ATTRIBUTE_DIRECTORY != 0 { fs::SYMBOLIC_LINK_FLAG_DIRECTORY } else { 0 }
}

/// Returns the target of a link; nothing for reparse points whose target is not a path.
pub fn read_link(directory: impl AsHandle, name: impl PathArg) -> Result<CString> {
    let link = named(&directory, &name, fs::FILE_READ_ATTRIBUTES, AtFlags::NOFOLLOW)?;
    match reparse_point(&link) {
        Some(IO_REPARSE_TAG_SYMLINK | IO_REPARSE_TAG_MOUNT_POINT) | None => {}
        Some(_) => return Ok(CString::default()),
    }
    let path = path_in(&directory, std::path::Path::new(&*name.to_path()));
    let link = std::fs::read_link(path).map_err(|error| Code::of(&error).unwrap_or(Code::INVALID))?;
    CString::new(OsStringExt::into_vec(link.into_os_string())).map_err(|_| Code::INVALID)
}

/// Creates a directory; its access rights are those that it inherits.
pub fn make_directory(directory: impl AsHandle, name: impl PathArg, _: u32) -> Result<()> {
    let (access, attributes) = (fs::FILE_LIST_DIRECTORY, fs::FILE_ATTRIBUTE_NORMAL);
    create(&directory, &name.to_path(), access, attributes, nt::FILE_CREATE, nt::FILE_DIRECTORY_FILE)
        .map(drop)
}

unsupported! {
    /// Special files have no names in directories.
    fn make_special(impl AsHandle, impl PathArg, FileKind, u32, u64) -> ();
}

#[cfg(test)]
mod tests {
    use std::os::windows::fs::OpenOptionsExt as _;

    use super::super::handle::OpenFlags;
    use super::super::open::open;
    use super::*;

    /// Makes a directory a junction to another; false if the file system has none.
    fn joined(junction: &std::path::Path, target: &std::path::Path) -> bool {
        std::fs::create_dir(junction).unwrap();
        let target = native(target).unwrap();
        let bytes = target.len() * 2;
        let mut description = IO_REPARSE_TAG_MOUNT_POINT.to_le_bytes().to_vec();
        // The lengths of the rest, and of the two names with the places where they begin; the second name is empty.
        for number in [bytes + 12, 0, 0, bytes, bytes + 2, 0] {
            description.extend((number as u16).to_le_bytes());
        }
        description.extend(target.iter().flat_map(|unit| unit.to_le_bytes()));
        description.extend([0; 4]);
        let options = nt::FILE_DIRECTORY_FILE | nt::FILE_OPEN_REPARSE_POINT;
        let access = fs::FILE_WRITE_DATA | fs::FILE_WRITE_ATTRIBUTES;
        let made = existing(&CURRENT_DIRECTORY, &junction, access, options).unwrap();
        control(&made, FSCTL_SET_REPARSE_POINT, description.as_slice()).is_ok() && is_link(&made)
    }

    #[test]
    fn a_junction_is_removed_as_a_link_and_a_directory_is_not() {
        let directory = tempfile::tempdir().unwrap();
        let (target, junction) = (directory.path().join("target"), directory.path().join("junction"));
        std::fs::create_dir(&target).unwrap();
        std::fs::write(target.join("file"), "").unwrap();
        let at = CURRENT_DIRECTORY;
        assert_eq!(remove(at, &target, AtFlags::empty()), Err(Code::IS_DIRECTORY));
        if !joined(&junction, &target) {
            return println!("skipped: junctions: the file system has none");
        }
        let copy = directory.path().join("copy");
        copy_link(at, &junction, "unused", at, &copy).unwrap();
        for link in [&junction, &copy] {
            assert!(link.join("file").exists());
            remove(at, link, AtFlags::empty()).unwrap();
            assert!(!link.exists() && target.join("file").exists());
        }
    }

    #[test]
    fn a_copied_link_is_of_the_kind_of_its_source() {
        let (directory, link) = (fs::FILE_ATTRIBUTE_DIRECTORY, fs::FILE_ATTRIBUTE_REPARSE_POINT);
        assert_eq!(kind_of_link(directory | link), fs::SYMBOLIC_LINK_FLAG_DIRECTORY);
        assert_eq!(kind_of_link(link), 0);
    }

    #[test]
    fn a_read_only_file_is_removed_or_stays_read_only() {
        let (_directory, path) = fullbore_testkit::ground::temporary_file("");
        let access = fs::FILE_READ_ATTRIBUTES | fs::FILE_WRITE_ATTRIBUTES;
        let file = existing(&CURRENT_DIRECTORY, &path, access, 0).unwrap();
        let attributes = || attribute_bits(&file).unwrap();
        let before = attributes();
        assert_eq!(guards(&file, true), Ok(false));
        assert_eq!(attributes() & fs::FILE_ATTRIBUTE_READONLY, fs::FILE_ATTRIBUTE_READONLY);
        assert_eq!(guards(&file, false), Ok(true));
        assert_eq!(attributes(), before);
        guards(&file, true).unwrap();
        drop(file);
        remove(CURRENT_DIRECTORY, &path, AtFlags::empty()).unwrap();
        assert!(!path.exists());
    }

    #[test]
    fn a_held_file_is_neither_opened_nor_replaced_nor_removed() {
        let directory = tempfile::tempdir().unwrap();
        let (path, new) = (directory.path().join("file"), directory.path().join("new"));
        let (path, new) = (path.as_path(), new.as_path());
        std::fs::write(path, "old").unwrap();
        std::fs::write(new, "new").unwrap();
        let at = CURRENT_DIRECTORY;
        let held = std::fs::OpenOptions::new().read(true).share_mode(0).open(path).unwrap();
        assert_eq!(open(path, OpenFlags::READ, 0).unwrap_err(), Code::HELD);
        assert_eq!(rename(at, new, at, path), Err(Code::HELD));
        assert_eq!(remove(at, path, AtFlags::empty()), Err(Code::HELD));
        drop(held);
        assert_eq!(std::fs::read(path).unwrap(), b"old");
        rename(at, new, at, path).unwrap();
        assert_eq!(std::fs::read(path).unwrap(), b"new");
        remove(at, path, AtFlags::empty()).unwrap();
        assert!(!path.exists() && !new.exists());
    }
}
