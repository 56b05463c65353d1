//! Opening, by the native interface, which takes names in open directories.

use std::ffi::OsStr;
use std::os::windows::io::{AsRawHandle, FromRawHandle};
use std::path::{Component, Path};
use std::time::Duration;

use windows_sys::Wdk::Foundation::OBJECT_ATTRIBUTES;
use windows_sys::Wdk::Storage::FileSystem as nt;
use windows_sys::Win32::Foundation::{HANDLE, OBJ_CASE_INSENSITIVE, STATUS_DELETE_PENDING, UNICODE_STRING};
use windows_sys::Win32::Storage::FileSystem as fs;
use windows_sys::Win32::System::IO::IO_STATUS_BLOCK;
use windows_sys::Win32::System::SystemServices::{IO_REPARSE_TAG_AF_UNIX, IO_REPARSE_TAG_APPEXECLINK};

use super::code::{check_naming, check_status};
use super::device;
use super::handle::{AsHandle, AtFlags, CURRENT_DIRECTORY, Handle, OpenFlags, raw};
use super::information::{identity, query, query_native, set_len};
use super::path::{PathArg, native, path_in, units};
use crate::sys::code::{Code, Result};

/// True for a name that can be that of a device: `NUL`, and on systems before Windows 11 with any extension, `con.txt`.
fn is_device(name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    let end = name.iter().position(|byte| matches!(byte, b'.' | b':')).unwrap_or(name.len());
    let stem = name[..end].trim_ascii_end().to_ascii_uppercase();
    let number = match &stem[..] {
        b"NUL" | b"CON" | b"PRN" | b"AUX" | b"CONIN$" | b"CONOUT$" => return true,
        [b'C', b'O', b'M', number @ ..] | [b'L', b'P', b'T', number @ ..] => number,
        _ => return false,
    };
    // Superscripts are numbers, too.
    matches!(number, [b'1'..=b'9'] | [0xc2, 0xb9 | 0xb2 | 0xb3])
}

/// True if an open directory is the one in which relative paths begin.
fn is_current(directory: &impl AsHandle) -> bool {
    let current = existing(&CURRENT_DIRECTORY, &".", fs::FILE_READ_ATTRIBUTES, 0);
    identity(directory).is_ok_and(|open| current.and_then(|current| identity(&current)) == Ok(open))
}

/// The root and the name of a file for the native interface.
fn place(directory: &impl AsHandle, name: &OsStr) -> Result<(HANDLE, Vec<u16>)> {
    let path = Path::new(name);
    let whole = raw(directory) == raw(&CURRENT_DIRECTORY) || path.is_absolute();
    // The system decides if the name is a device's. In other directories it is a file's.
    if whole || is_device(name) && is_current(directory) {
        return Ok((std::ptr::null_mut(), native(path)?));
    }
    let root = directory.as_handle().as_raw_handle();
    if name.is_empty() || name == "." {
        return Ok((root, Vec::new()));
    }
    // A root without a drive is the root of the directory's drive.
    if path.has_root() || path.components().any(|part| part == Component::ParentDir) {
        return Ok((std::ptr::null_mut(), native(&path_in(directory, path))?));
    }
    // Without the dots that `components` drops.
    let plain: std::path::PathBuf = path.components().filter(|part| *part != Component::CurDir).collect();
    Ok((root, units(plain.as_os_str())))
}

/// Opens or creates a file with rights and options of the native interface; its calls wait for their transfers.
pub(super) fn create(
    directory: &impl AsHandle,
    name: &OsStr,
    access: u32,
    attributes: u32,
    disposition: nt::NTCREATEFILE_CREATE_DISPOSITION,
    options: nt::NTCREATEFILE_CREATE_OPTIONS,
) -> Result<Handle> {
    let options = options | nt::FILE_SYNCHRONOUS_IO_NONALERT;
    create_with(directory, name, access, attributes, SHARE_ALL, disposition, options)
}

const SHARE_ALL: fs::FILE_SHARE_MODE = fs::FILE_SHARE_READ | fs::FILE_SHARE_WRITE | fs::FILE_SHARE_DELETE;

fn create_with(
    directory: &impl AsHandle,
    name: &OsStr,
    access: u32,
    attributes: u32,
    share: fs::FILE_SHARE_MODE,
    disposition: nt::NTCREATEFILE_CREATE_DISPOSITION,
    options: nt::NTCREATEFILE_CREATE_OPTIONS,
) -> Result<Handle> {
    let (access, options) = (access | fs::SYNCHRONIZE, options | nt::FILE_OPEN_FOR_BACKUP_INTENT);
    if is_refused(access, disposition, options) {
        return Err(Code::INVALID);
    }
    let (root, mut name) = place(directory, name)?;
    let len = u16::try_from(name.len() * 2).map_err(|_| Code::NAME_TOO_LONG)?;
    let name = UNICODE_STRING { Length: len, MaximumLength: len, Buffer: name.as_mut_ptr() };
    let object = OBJECT_ATTRIBUTES {
        Length: size_of::<OBJECT_ATTRIBUTES>() as u32,
        RootDirectory: root,
        ObjectName: &raw const name,
        Attributes: OBJ_CASE_INSENSITIVE,
        SecurityDescriptor: std::ptr::null(),
        SecurityQualityOfService: std::ptr::null(),
    };
    let mut opened: HANDLE = std::ptr::null_mut();
    let mut block = IO_STATUS_BLOCK::default();
    for _ in 0..PATIENCE {
        // SAFETY: all structures live through the call, which writes the handle and its block.
        let status = unsafe {
            nt::NtCreateFile(
                &raw mut opened,
                access,
                &raw const object,
                &raw mut block,
                std::ptr::null(),
                attributes,
                share,
                disposition,
                options,
                std::ptr::null(),
                0,
            )
        };
        match (status, disposition) {
            // A removed file keeps its name until its last handle is closed, but nobody can open it any more.
            (STATUS_DELETE_PENDING, nt::FILE_OPEN) => return Err(Code::NOT_FOUND),
            (STATUS_DELETE_PENDING, _) => std::thread::sleep(Duration::from_millis(1)),
            _ => {
                match disposition {
                    nt::FILE_OPEN => check_status(status)?,
                    _ => check_naming(status)?,
                }
                // SAFETY: the call succeeded, so the handle is open and nobody else has it.
                return Ok(unsafe { Handle::from_raw_handle(opened) });
            }
        }
    }
    Err(Code::EXISTS)
}

/// True for a combination that `NtCreateFile` documents as invalid. Wine accepts some of them.
fn is_refused(
    access: u32,
    disposition: nt::NTCREATEFILE_CREATE_DISPOSITION,
    options: nt::NTCREATEFILE_CREATE_OPTIONS,
) -> bool {
    const OF_DIRECTORIES: u32 = nt::FILE_DIRECTORY_FILE
        | nt::FILE_SYNCHRONOUS_IO_ALERT
        | nt::FILE_SYNCHRONOUS_IO_NONALERT
        | nt::FILE_WRITE_THROUGH
        | nt::FILE_OPEN_FOR_BACKUP_INTENT
        | nt::FILE_DELETE_ON_CLOSE
        | nt::FILE_OPEN_BY_FILE_ID
        | nt::FILE_OPEN_REPARSE_POINT;
    let (may, has) = (|right: u32| access & right != 0, |option: u32| options & option != 0);
    has(nt::FILE_NO_INTERMEDIATE_BUFFERING) && may(fs::FILE_APPEND_DATA)
        || has(nt::FILE_DELETE_ON_CLOSE) && !may(fs::DELETE)
        || has(nt::FILE_SYNCHRONOUS_IO_ALERT) && has(nt::FILE_SYNCHRONOUS_IO_NONALERT)
        || has(nt::FILE_DIRECTORY_FILE)
            && (options & !OF_DIRECTORIES != 0
                || ![nt::FILE_CREATE, nt::FILE_OPEN, nt::FILE_OPEN_IF].contains(&disposition))
}

/// The number of milliseconds to wait for a name that another program has removed and still holds.
const PATIENCE: usize = 20;

pub(super) fn existing(
    directory: &impl AsHandle,
    name: &impl PathArg,
    access: u32,
    options: nt::NTCREATEFILE_CREATE_OPTIONS,
) -> Result<Handle> {
    create(directory, &name.to_path(), access, 0, nt::FILE_OPEN, options)
}

/// As [`existing`]; a symbolic link is followed unless the flags exclude it.
pub(super) fn named(
    directory: &impl AsHandle,
    name: &impl PathArg,
    access: u32,
    flags: AtFlags,
) -> Result<Handle> {
    let options = if flags.contains(AtFlags::NOFOLLOW) { nt::FILE_OPEN_REPARSE_POINT } else { 0 };
    existing(directory, name, access, options)
}

/// Opens a path; `mode` has the permission bits of a new file, of which the system keeps the owner's right to write.
pub fn open(path: impl PathArg, flags: OpenFlags, mode: u32) -> Result<Handle> {
    open_at(CURRENT_DIRECTORY, path, flags, mode)
}

/// The rights for flags.
fn rights(flags: OpenFlags) -> u32 {
    let write = match () {
        () if flags.contains(OpenFlags::APPEND) => fs::FILE_GENERIC_WRITE & !fs::FILE_WRITE_DATA,
        // The right to append is invalid without buffering, and that to write includes it.
        () if flags.contains(OpenFlags::DIRECT) => fs::FILE_GENERIC_WRITE & !fs::FILE_APPEND_DATA,
        () => fs::FILE_GENERIC_WRITE,
    };
    let rights = match flags & OpenFlags::ACCESS {
        _ if flags.contains(OpenFlags::PATH) => fs::FILE_READ_ATTRIBUTES | fs::READ_CONTROL,
        OpenFlags::READ => fs::FILE_GENERIC_READ,
        OpenFlags::WRITE => write | fs::FILE_READ_ATTRIBUTES,
        _ => fs::FILE_GENERIC_READ | write,
    };
    let removes = flags.intersects(OpenFlags::REMOVABLE | OpenFlags::DELETE_ON_CLOSE);
    if removes { rights | fs::DELETE } else { rights }
}

pub fn open_at(directory: impl AsHandle, name: impl PathArg, flags: OpenFlags, mode: u32) -> Result<Handle> {
    if flags.contains(OpenFlags::UNNAMED) {
        return Err(Code::UNSUPPORTED);
    }
    let name = name.to_path();
    // The flags of Unix open a directory for reading by its name alone.
    let access = flags & OpenFlags::ACCESS;
    let wanted = rights(flags);
    let mut share = SHARE_ALL;
    for (flag, denied) in [
        (OpenFlags::DENY_READ, fs::FILE_SHARE_READ),
        (OpenFlags::DENY_WRITE, fs::FILE_SHARE_WRITE),
        (OpenFlags::DENY_DELETE, fs::FILE_SHARE_DELETE),
    ] {
        if flags.contains(flag) {
            share &= !denied;
        }
    }
    let mut options =
        if flags.contains(OpenFlags::OVERLAPPED) { 0 } else { nt::FILE_SYNCHRONOUS_IO_NONALERT };
    if flags.contains(OpenFlags::DIRECTORY) {
        options |= nt::FILE_DIRECTORY_FILE;
    } else if access != OpenFlags::READ || flags.contains(OpenFlags::CREATE) {
        options |= nt::FILE_NON_DIRECTORY_FILE;
    }
    for (flag, option) in [
        (OpenFlags::NOFOLLOW, nt::FILE_OPEN_REPARSE_POINT),
        (OpenFlags::DIRECT, nt::FILE_NO_INTERMEDIATE_BUFFERING),
        (OpenFlags::SEQUENTIAL, nt::FILE_SEQUENTIAL_ONLY),
        (OpenFlags::RANDOM, nt::FILE_RANDOM_ACCESS),
        (OpenFlags::DELETE_ON_CLOSE, nt::FILE_DELETE_ON_CLOSE),
    ] {
        if flags.contains(flag) {
            options |= option;
        }
    }
    if flags.intersects(OpenFlags::SYNC | OpenFlags::DATA_SYNC) {
        options |= nt::FILE_WRITE_THROUGH;
    }
    let disposition = match (flags.contains(OpenFlags::CREATE), flags.contains(OpenFlags::EXCLUSIVE)) {
        (true, true) => nt::FILE_CREATE,
        (true, false) => nt::FILE_OPEN_IF,
        (false, _) => nt::FILE_OPEN,
    };
    let attributes = if mode & 0o200 == 0 { fs::FILE_ATTRIBUTE_READONLY } else { fs::FILE_ATTRIBUTE_NORMAL };
    let is_device = device::is_device_name(&name) || name.is_empty() && device::is_device(&directory);
    let mut file = create_with(&directory, &name, wanted, attributes, share, disposition, options)?;
    if flags.contains(OpenFlags::NOFOLLOW) && !flags.contains(OpenFlags::PATH) {
        match reparse_point(&file) {
            None => {}
            Some(tag) if is_link_tag(tag) => return Err(Code::LINK_LOOP),
            // The content is a driver's (deduplicated, compressed, in the cloud), which the flag bypasses.
            Some(_) => {
                let options = options & !nt::FILE_OPEN_REPARSE_POINT;
                let found = identity(&file)?;
                // Its share mode could refuse the second handle.
                drop(file);
                file = create_with(&directory, &name, wanted, attributes, share, nt::FILE_OPEN, options)?;
                if identity(&file)? != found {
                    return Err(Code::STALE);
                }
            }
        }
    }
    if is_device {
        device::reach_end(&file);
    }
    if flags.contains(OpenFlags::TRUNCATE) {
        match set_len(&file, 0) {
            // Pipes and devices have no length.
            Ok(()) | Err(Code::INVALID) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(file)
}

/// True for a symbolic link, a mount point of a directory, or another reparse point without content of its own.
pub(super) fn is_link(file: &impl AsHandle) -> bool {
    reparse_point(file).is_some_and(is_link_tag)
}

/// The kind of an open reparse point; `None` for other files.
pub(super) fn reparse_point(file: &impl AsHandle) -> Option<u32> {
    let found: fs::FILE_ATTRIBUTE_TAG_INFO = query(file, fs::FileAttributeTagInfo).ok()?;
    (found.FileAttributes & fs::FILE_ATTRIBUTE_REPARSE_POINT != 0).then_some(found.ReparseTag)
}

/// True for the kinds that stand for another name (as for std), and for those that only their own subsystem opens: programs of
/// the store, and the sockets, pipes and devices of the Linux subsystem.
fn is_link_tag(tag: u32) -> bool {
    const NAME_SURROGATE: u32 = 0x2000_0000;
    const LX_FIFO: u32 = 0x8000_0024;
    const LX_CHR: u32 = 0x8000_0025;
    const LX_BLK: u32 = 0x8000_0026;
    tag & NAME_SURROGATE != 0
        || [IO_REPARSE_TAG_APPEXECLINK, IO_REPARSE_TAG_AF_UNIX, LX_FIFO, LX_CHR, LX_BLK].contains(&tag)
}

pub fn reopen(file: &impl AsHandle, flags: OpenFlags) -> Result<Handle> {
    open_at(file, "", flags & !(OpenFlags::CREATE | OpenFlags::EXCLUSIVE), 0o666)
}

pub fn status_flags(file: impl AsHandle) -> Result<OpenFlags> {
    let access: nt::FILE_ACCESS_INFORMATION = query_native(&file, nt::FileAccessInformation)?;
    let has = |right| access.AccessFlags & right != 0;
    let reads = has(fs::FILE_READ_DATA);
    let mut flags = match (reads, has(fs::FILE_WRITE_DATA) || has(fs::FILE_APPEND_DATA)) {
        (true, true) => OpenFlags::READ_WRITE,
        (false, true) => OpenFlags::WRITE,
        (_, false) => OpenFlags::READ,
    };
    if has(fs::FILE_APPEND_DATA) && !has(fs::FILE_WRITE_DATA) {
        flags |= OpenFlags::APPEND;
    }
    if let Ok(mode) = query_native::<nt::FILE_MODE_INFORMATION>(&file, nt::FileModeInformation) {
        for (option, flag) in [
            (nt::FILE_NO_INTERMEDIATE_BUFFERING, OpenFlags::DIRECT),
            (nt::FILE_WRITE_THROUGH, OpenFlags::SYNC),
            (nt::FILE_SEQUENTIAL_ONLY, OpenFlags::SEQUENTIAL),
        ] {
            if mode.Mode & option != 0 {
                flags |= flag;
            }
        }
    }
    Ok(flags)
}

/// Fails for any flag: those of an open file cannot be changed. Without flags (calls wait), nothing has to change.
pub fn set_status_flags(_: impl AsHandle, flags: OpenFlags) -> Result<()> {
    if flags.is_empty() { Ok(()) } else { Err(Code::UNSUPPORTED) }
}

pub fn try_clone(file: impl AsHandle) -> Result<Handle> {
    if raw(&file) == raw(&CURRENT_DIRECTORY) {
        return open(".", OpenFlags::READ | OpenFlags::DIRECTORY, 0o666);
    }
    file.as_handle().try_clone_to_owned().map_err(|error| Code::of(&error).unwrap_or(Code::IO))
}

pub fn is_open(file: impl AsHandle) -> bool {
    let mut flags = 0;
    // SAFETY: the call writes the flags, which live through it.
    unsafe { windows_sys::Win32::Foundation::GetHandleInformation(raw(&file) as _, &raw mut flags) != 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_devices_are_those_of_files_but_in_the_current_directory() {
        for name in ["NUL", "nul", "con.txt", "COM1", "lpt9:", "aux ."] {
            assert!(is_device(name.as_ref()), "{name}");
        }
        for name in ["null", "COM0", "com10", "console", "a.nul", ""] {
            assert!(!is_device(name.as_ref()), "{name}");
        }
        let flags = OpenFlags::READ | OpenFlags::DIRECTORY;
        let new = OpenFlags::WRITE | OpenFlags::CREATE;
        let write = |held: &Handle, name: &str| {
            let file = open_at(held, name, new, 0o666).unwrap();
            assert_eq!(super::super::transfer::write(&file, b"bytes"), Ok(5));
        };
        let here = open(".", flags, 0).unwrap();
        write(&here, "NUL");
        assert!(!std::fs::read_dir(".").unwrap().any(|entry| entry.unwrap().file_name() == "NUL"));
        let directory = tempfile::tempdir().unwrap();
        let held = open(directory.path(), flags, 0).unwrap();
        write(&held, "nul.txt");
        let names: Vec<_> =
            std::fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, ["nul.txt"]);
    }

    #[test]
    fn a_root_without_a_drive_is_that_of_the_directory() {
        let directory = tempfile::tempdir().unwrap();
        let held = open(directory.path(), OpenFlags::READ | OpenFlags::DIRECTORY, 0).unwrap();
        let path = super::super::path::handle_path(&held);
        let drive: std::path::PathBuf = path.components().take(2).collect();
        let (root, name) = place(&held, r"\data\file".as_ref()).unwrap();
        assert!(root.is_null());
        assert_eq!(name, native(&drive.join(r"data\file")).unwrap());
    }

    #[test]
    fn direct_files_are_opened_with_rights_that_are_valid_for_them() {
        let refused = |flags, options| {
            is_refused(rights(flags) | fs::SYNCHRONIZE, nt::FILE_OPEN, options | nt::FILE_WRITE_THROUGH)
        };
        let direct = nt::FILE_NO_INTERMEDIATE_BUFFERING;
        for access in [OpenFlags::READ, OpenFlags::WRITE, OpenFlags::READ_WRITE] {
            assert!(!refused(access | OpenFlags::DIRECT, direct), "{access:?}");
            assert!(!refused(access | OpenFlags::APPEND, 0), "{access:?}");
        }
        assert!(refused(OpenFlags::WRITE, direct));
        assert!(refused(OpenFlags::WRITE | OpenFlags::APPEND | OpenFlags::DIRECT, direct));
        assert!(refused(OpenFlags::READ, nt::FILE_DELETE_ON_CLOSE));
        assert!(!refused(OpenFlags::READ | OpenFlags::DELETE_ON_CLOSE, nt::FILE_DELETE_ON_CLOSE));
        assert!(refused(OpenFlags::READ, nt::FILE_DIRECTORY_FILE | nt::FILE_SEQUENTIAL_ONLY));
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        for access in [OpenFlags::WRITE, OpenFlags::READ_WRITE] {
            let file = open(&path, access | OpenFlags::CREATE | OpenFlags::DIRECT, 0o666).unwrap();
            let flags = status_flags(&file).unwrap();
            assert_eq!(flags & (OpenFlags::ACCESS | OpenFlags::APPEND), access);
        }
    }

    #[test]
    fn links_are_distinguished_from_files_of_drivers() {
        use windows_sys::Win32::System::SystemServices as tags;
        for tag in [
            tags::IO_REPARSE_TAG_SYMLINK,
            tags::IO_REPARSE_TAG_MOUNT_POINT,
            tags::IO_REPARSE_TAG_APPEXECLINK,
            // A symbolic link of the Linux subsystem.
            0xa000_001d,
        ] {
            assert!(is_link_tag(tag), "{tag:x}");
        }
        for tag in [tags::IO_REPARSE_TAG_DEDUP, tags::IO_REPARSE_TAG_CLOUD, tags::IO_REPARSE_TAG_WOF] {
            assert!(!is_link_tag(tag), "{tag:x}");
        }
        let directory = tempfile::tempdir().unwrap();
        let file = open(directory.path().join("file"), OpenFlags::WRITE | OpenFlags::CREATE, 0o666).unwrap();
        assert_eq!(reparse_point(&file), None);
        assert!(open_at(&file, "", OpenFlags::READ | OpenFlags::NOFOLLOW, 0).is_ok());
    }
}
