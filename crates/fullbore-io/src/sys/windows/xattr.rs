//! Named streams, security descriptors and flags, as extended attributes under the names that Linux's NTFS drivers give them:
//! `user.NAME`, `system.ntfs_acl` and `system.ntfs_attrib`.

use std::ffi::{OsStr, OsString};
use std::mem::offset_of;
use std::os::windows::ffi::OsStringExt as _;

use windows_sys::Wdk::Storage::FileSystem as nt;
use windows_sys::Win32::Foundation as w;
use windows_sys::Win32::Storage::FileSystem as fs;
use windows_sys::Win32::System::Ioctl as ioctl;

use super::code::check;
use super::descriptor::{descriptor, select_of_descriptor, set_descriptor};
use super::handle::{AsHandle, AtFlags, CURRENT_DIRECTORY, Handle, raw};
use super::information::{attribute_bits, control, query, set, u32_at};
use super::open::{create, existing, named};
use super::path::{OsStrExt, OsStringExt, PathArg};
use super::status::{change_attributes, status};
use super::transfer::{read_at, write_at};
use crate::sys::code::{Code, Result};

/// The attribute of the security descriptor: owner, group and access list.
const DESCRIPTOR: &[u8] = b"system.ntfs_acl";
/// The attribute of the flags, a number of four bytes. Files that have those of a new file do not have it.
const FLAGS: &[u8] = b"system.ntfs_attrib";

/// The flags that copies take over.
const COPIED: u32 = fs::FILE_ATTRIBUTE_HIDDEN
    | fs::FILE_ATTRIBUTE_SYSTEM
    | fs::FILE_ATTRIBUTE_ARCHIVE
    | fs::FILE_ATTRIBUTE_NOT_CONTENT_INDEXED;

/// The attributes of named streams begin with it.
const STREAM: &[u8] = b"user.";

/// The rights to read attributes.
const READING: u32 = fs::FILE_READ_ATTRIBUTES | fs::READ_CONTROL;

fn of_name(path: &impl PathArg, flags: AtFlags) -> Result<Handle> {
    named(&CURRENT_DIRECTORY, path, READING, flags)
}

/// Writes a value or list to `out`, as the calls of Unix do: without room only its length is returned.
fn answer(bytes: &[u8], out: &mut [u8]) -> Result<usize> {
    if out.is_empty() {
        return Ok(bytes.len());
    }
    out.get_mut(..bytes.len()).ok_or(Code::OUT_OF_RANGE)?.copy_from_slice(bytes);
    Ok(bytes.len())
}

/// The names in a list of `FILE_STREAM_INFO`, without those of the content itself.
fn names_in(list: &[u8]) -> Vec<OsString> {
    let mut names = Vec::new();
    let mut at = 0;
    let number = |place: usize| u32_at(list, place).map(|number| number as usize);
    loop {
        let next = number(at + offset_of!(fs::FILE_STREAM_INFO, NextEntryOffset));
        let len = number(at + offset_of!(fs::FILE_STREAM_INFO, StreamNameLength));
        let start = at + offset_of!(fs::FILE_STREAM_INFO, StreamName);
        let (Some(next), Some(len)) = (next, len) else { return names };
        let Some(name) = list.get(start..start + len) else { return names };
        let units: Vec<u16> =
            name.chunks_exact(2).map(|unit| u16::from_le_bytes([unit[0], unit[1]])).collect();
        // `:name:$DATA`; the content has an empty name.
        let mut parts = units.split(|&unit| unit == u16::from(b':'));
        if let (Some([]), Some(name @ [_, ..])) = (parts.next(), parts.next()) {
            names.push(OsString::from_wide(name));
        }
        if next == 0 {
            return names;
        }
        at += next;
    }
}

pub(super) fn streams(file: &impl AsHandle) -> Result<Vec<OsString>> {
    let mut memory = vec![0u64; 1 << 10];
    loop {
        let bytes = size_of_val(memory.as_slice());
        // SAFETY: the call writes at most the given number of bytes.
        let found = check(unsafe {
            let start = memory.as_mut_ptr().cast();
            fs::GetFileInformationByHandleEx(raw(file) as _, fs::FileStreamInfo, start, bytes as u32)
        });
        match found {
            Ok(()) => {
                // SAFETY: numbers are bytes.
                let filled = unsafe { std::slice::from_raw_parts(memory.as_ptr().cast(), bytes) };
                return Ok(names_in(filled));
            }
            Err(Code::OUT_OF_RANGE) if bytes < 16 << 20 => memory.resize(memory.len() * 4, 0),
            // A directory without streams.
            Err(error) if error.number() as u32 == w::ERROR_HANDLE_EOF || error.is_absent() => {
                return Ok(Vec::new());
            }
            Err(error) => return Err(error),
        }
    }
}

pub(super) fn stream(file: &impl AsHandle, name: &[u8], access: u32, how: u32) -> Result<Handle> {
    let mut path = b":".to_vec();
    path.extend_from_slice(name);
    create(file, <OsStr as OsStrExt>::from_bytes(&path), access, 0, how, nt::FILE_NON_DIRECTORY_FILE)
}

/// The flags that copies take over, unless they are those of a new file.
fn flags(file: &impl AsHandle) -> Result<Option<u32>> {
    let found = attribute_bits(file)?;
    let directory = found & fs::FILE_ATTRIBUTE_DIRECTORY != 0;
    let usual = if directory { 0 } else { fs::FILE_ATTRIBUTE_ARCHIVE };
    Ok(Some(found & COPIED).filter(|&flags| flags != usual))
}

pub(super) fn set_flags(file: &impl AsHandle, which: u32, wanted: u32) -> Result<()> {
    let access = fs::FILE_READ_ATTRIBUTES | fs::FILE_WRITE_ATTRIBUTES;
    change_attributes(&existing(file, &"", access, nt::FILE_OPEN_REPARSE_POINT)?, which, wanted)
}

/// Sets the times of creation, of the last access and the last change; zero, the time on file systems without one, means that it stays.
fn set_times(file: &impl AsHandle, birth: i64, of: &fs::FILE_BASIC_INFO) -> Result<()> {
    let access = fs::FILE_READ_ATTRIBUTES | fs::FILE_WRITE_ATTRIBUTES;
    let wanted = fs::FILE_BASIC_INFO {
        CreationTime: birth,
        LastAccessTime: of.LastAccessTime,
        LastWriteTime: of.LastWriteTime,
        ..Default::default()
    };
    set(&existing(file, &"", access, nt::FILE_OPEN_REPARSE_POINT)?, fs::FileBasicInfo, &wanted)
}

fn list(file: &impl AsHandle, out: &mut [u8]) -> Result<usize> {
    let mut names = Vec::new();
    if descriptor(file).is_ok() {
        names.extend_from_slice(DESCRIPTOR);
        names.push(0);
    }
    for name in streams(file)? {
        names.extend_from_slice(STREAM);
        names.extend(OsStringExt::into_vec(name));
        names.push(0);
    }
    // Last: streams of a file with these flags cannot be replaced.
    if flags(file).is_ok_and(|flags| flags.is_some()) {
        names.extend_from_slice(FLAGS);
        names.push(0);
    }
    answer(&names, out)
}

fn get(file: &impl AsHandle, name: &[u8], out: &mut [u8]) -> Result<usize> {
    if name == DESCRIPTOR {
        return answer(&descriptor(file)?, out);
    }
    if name == FLAGS {
        return answer(&flags(file)?.ok_or(Code::NOT_FOUND)?.to_le_bytes(), out);
    }
    let name = name.strip_prefix(STREAM).ok_or(Code::UNSUPPORTED)?;
    let stream = stream(file, name, fs::FILE_GENERIC_READ, nt::FILE_OPEN)?;
    let len = usize::try_from(status(&stream)?.size).map_err(|_| Code::OUT_OF_RANGE)?;
    if out.is_empty() {
        return Ok(len);
    }
    let out = out.get_mut(..len).ok_or(Code::OUT_OF_RANGE)?;
    let mut done = 0;
    while done < len {
        match read_at(&stream, &mut out[done..], done as u64)? {
            0 => break,
            moved => done += moved,
        }
    }
    Ok(done)
}

fn put(file: &impl AsHandle, name: &[u8], value: &[u8]) -> Result<()> {
    if name == DESCRIPTOR {
        return set_descriptor(file, value);
    }
    if name == FLAGS {
        return set_flags(file, COPIED, u32_at(value, 0).ok_or(Code::INVALID)?);
    }
    let name = name.strip_prefix(STREAM).ok_or(Code::UNSUPPORTED)?;
    let stream = stream(file, name, fs::FILE_GENERIC_WRITE, nt::FILE_OVERWRITE_IF)?;
    write_all(&stream, value, 0)
}

pub fn attributes(file: impl AsHandle, names: &mut [u8]) -> Result<usize> {
    list(&file, names)
}

pub fn attributes_of_name(path: impl PathArg, names: &mut [u8]) -> Result<usize> {
    list(&of_name(&path, AtFlags::NOFOLLOW)?, names)
}

pub fn attribute(file: impl AsHandle, name: impl PathArg, value: &mut [u8]) -> Result<usize> {
    get(&file, OsStrExt::as_bytes(&*name.to_path()), value)
}

pub fn attribute_of_name(path: impl PathArg, name: impl PathArg, value: &mut [u8]) -> Result<usize> {
    attribute(of_name(&path, AtFlags::NOFOLLOW)?, name, value)
}

pub fn set_attribute(file: impl AsHandle, name: impl PathArg, value: &[u8]) -> Result<()> {
    put(&file, OsStrExt::as_bytes(&*name.to_path()), value)
}

/// There are no attributes that a new file gets from its directory.
pub fn remove_attribute(_: impl AsHandle, _: impl PathArg) -> Result<()> {
    Err(Code::UNSUPPORTED)
}

pub fn remove_attribute_of_name(_: impl PathArg, _: impl PathArg) -> Result<()> {
    Err(Code::UNSUPPORTED)
}

pub fn set_attribute_of_name(path: impl PathArg, name: impl PathArg, value: &[u8]) -> Result<()> {
    set_attribute(of_name(&path, AtFlags::NOFOLLOW)?, name, value)
}

/// Gives a file that replaces another the time of creation of the other, its access list, with `owner` its owner and group, its
/// named streams, its flags and its compression, as `ReplaceFileW` does. But the content is new, so the file is to be archived,
/// and its encryption is that of new files in the directory: the system encrypts no open file.
pub fn inherit(directory: impl AsHandle, name: impl PathArg, file: impl AsHandle, owner: bool) -> Result<()> {
    let old = named(&directory, &name, READING, AtFlags::NOFOLLOW)?;
    // The streams are part of the file: writing them changes its times, which may be those of the source of a copy.
    let times: fs::FILE_BASIC_INFO = query(&file, fs::FileBasicInfo)?;
    let mut memory = vec![0; PIECE];
    for name in streams(&old)? {
        let name = OsStrExt::as_bytes(&*name);
        let from = stream(&old, name, fs::FILE_GENERIC_READ, nt::FILE_OPEN)?;
        let to = stream(&file, name, fs::FILE_GENERIC_WRITE, nt::FILE_OVERWRITE_IF)?;
        copy_stream(&from, &to, &mut memory)?;
    }
    if is_compressed(&old)? && !is_compressed(&file)? {
        // A file that the system cannot compress has the same content.
        let _ = compress(&file);
    }
    set_times(&file, query::<fs::FILE_BASIC_INFO>(&old, fs::FileBasicInfo)?.CreationTime, &times)?;
    // A copy made by the system has the flags of its source.
    set_flags(&file, COPIED & !fs::FILE_ATTRIBUTE_ARCHIVE, attribute_bits(&old)?)?;
    // Last: it may forbid the other changes.
    match descriptor(&old) {
        Ok(mut value) => {
            select_of_descriptor(&mut value, true, owner);
            match set_descriptor(&file, &value) {
                // A network share without the right to change access lists: the file keeps that of new files.
                Err(Code::ACCESS_DENIED) => Ok(()),
                outcome => outcome,
            }
        }
        Err(Code::UNSUPPORTED) => Ok(()),
        Err(error) => Err(error),
    }
}

fn is_compressed(file: &impl AsHandle) -> Result<bool> {
    Ok(attribute_bits(file)? & fs::FILE_ATTRIBUTE_COMPRESSED != 0)
}

/// Lets the file system compress what a file contains and what is written to it later.
fn compress(file: &impl AsHandle) -> Result<()> {
    let file = existing(file, &"", fs::FILE_GENERIC_READ | fs::FILE_GENERIC_WRITE, 0)?;
    control(&file, ioctl::FSCTL_SET_COMPRESSION, &fs::COMPRESSION_FORMAT_DEFAULT)
}

/// Bytes of a stream that are copied at once.
const PIECE: usize = 256 << 10;

fn copy_stream(from: &Handle, to: &Handle, memory: &mut [u8]) -> Result<()> {
    let mut offset = 0;
    loop {
        let read = read_at(from, memory, offset)?;
        if read == 0 {
            return Ok(());
        }
        write_all(to, &memory[..read], offset)?;
        offset += read as u64;
    }
}

fn write_all(stream: &Handle, value: &[u8], offset: u64) -> Result<()> {
    let mut done = 0;
    while done < value.len() {
        match write_at(stream, &value[done..], offset + done as u64)? {
            0 => return Err(Code::IO),
            moved => done += moved,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::descriptor::make_private;
    use super::super::handle::OpenFlags;
    use super::super::open::open;
    use super::*;

    fn list_of(names: &[&str]) -> Vec<u8> {
        let mut list = Vec::new();
        for (index, name) in names.iter().enumerate() {
            let units: Vec<u8> = name.encode_utf16().flat_map(u16::to_le_bytes).collect();
            let whole = (offset_of!(fs::FILE_STREAM_INFO, StreamName) + units.len()).next_multiple_of(8);
            let next = if index + 1 == names.len() { 0 } else { whole };
            let mut entry = (next as u32).to_le_bytes().to_vec();
            entry.extend((units.len() as u32).to_le_bytes());
            entry.resize(offset_of!(fs::FILE_STREAM_INFO, StreamName), 0);
            entry.extend(units);
            entry.resize(whole, 0);
            list.extend(entry);
        }
        list
    }

    fn new_file(directory: &tempfile::TempDir, name: &str) -> Handle {
        let new = OpenFlags::READ_WRITE | OpenFlags::CREATE;
        open(directory.path().join(name), new, 0o666).unwrap()
    }

    #[test]
    fn streams_are_listed_without_the_content() {
        let list = list_of(&["::$DATA", ":Zone.Identifier:$DATA", ":\u{e9}:$DATA"]);
        assert_eq!(names_in(&list), ["Zone.Identifier", "\u{e9}"]);
        assert_eq!(names_in(&list_of(&["::$DATA"])), Vec::<OsString>::new());
        // Lists that are cut or wrong end.
        for cut in 0..list.len() {
            assert!(names_in(&list[..cut]).len() <= 2);
        }
        assert!(names_in(&[0xff; 40]).is_empty());
    }

    #[test]
    fn a_descriptor_is_read_and_set_again() {
        let directory = tempfile::tempdir().unwrap();
        let open = |name| new_file(&directory, name);
        let (one, two) = (open("one"), open("two"));
        let value = descriptor(&one).unwrap();
        assert!(!value.is_empty());
        assert_eq!(attribute(&one, "system.ntfs_acl", &mut []), Ok(value.len()));
        set_attribute(&two, "system.ntfs_acl", &value).unwrap();
        assert_eq!(descriptor(&two).unwrap(), value);
        for cut in 0..value.len() {
            assert_eq!(set_attribute(&two, "system.ntfs_acl", &value[..cut]), Err(Code::INVALID), "{cut}");
        }
        // A descriptor that has addresses.
        let mut absolute = value.clone();
        absolute[3] &= 0x7f;
        assert_eq!(set_attribute(&two, "system.ntfs_acl", &absolute), Err(Code::INVALID));
        // Without its parts, a descriptor sets nothing.
        let mut nothing = value.clone();
        select_of_descriptor(&mut nothing, false, false);
        assert_ne!(nothing, value);
        set_attribute(&two, "system.ntfs_acl", &nothing).unwrap();
        assert_eq!(descriptor(&two).unwrap(), value);
        assert_eq!(attribute(&one, "system.posix_acl_access", &mut []), Err(Code::UNSUPPORTED));
        assert_eq!(attribute(&one, "system.ntfs_acl", &mut [0; 3]), Err(Code::OUT_OF_RANGE));
    }

    #[test]
    fn a_private_file_is_its_owners_until_it_inherits() {
        let directory = tempfile::tempdir().unwrap();
        let (old, new) = (new_file(&directory, "old"), new_file(&directory, "new"));
        make_private(&new).unwrap();
        // Wine adds an entry of the system's.
        let value = descriptor(&new).unwrap();
        let list = u32_at(&value, 16).unwrap() as usize;
        assert!((1..=2).contains(&value[list + 4]), "{value:x?}");
        assert!(open(directory.path().join("new"), OpenFlags::READ_WRITE, 0).is_ok());
        inherit(CURRENT_DIRECTORY, directory.path().join("old"), &new, true).unwrap();
        assert_eq!(descriptor(&new).unwrap(), descriptor(&old).unwrap());
    }

    #[test]
    fn flags_are_copied_and_inherited() {
        let directory = tempfile::tempdir().unwrap();
        let open = |name| new_file(&directory, name);
        let (one, two, three) = (open("one"), open("two"), open("three"));
        // Wine does not clear ARCHIVE.
        let hidden = COPIED & !fs::FILE_ATTRIBUTE_NOT_CONTENT_INDEXED;
        set_attribute(&one, "system.ntfs_attrib", &hidden.to_le_bytes()).unwrap();
        if flags(&one) != Ok(Some(hidden)) {
            return println!("skipped: the file system does not keep flags: {:x?}", flags(&one));
        }
        let mut names = [0; 1000];
        let len = attributes(&one, &mut names).unwrap();
        assert!(names[..len].ends_with(b"system.ntfs_attrib\0"));
        let mut value = [0; 9];
        assert_eq!(attribute(&one, "system.ntfs_attrib", &mut value), Ok(4));
        set_attribute(&two, "system.ntfs_attrib", &value[..4]).unwrap();
        assert_eq!(flags(&two), Ok(Some(hidden)));
        assert_eq!(set_attribute(&two, "system.ntfs_attrib", &[0; 3]), Err(Code::INVALID));
        inherit(CURRENT_DIRECTORY, directory.path().join("one"), &three, true).unwrap();
        assert_eq!(flags(&three), Ok(Some(hidden)));
        let _usual = open("usual");
        inherit(CURRENT_DIRECTORY, directory.path().join("usual"), &three, true).unwrap();
        assert_eq!(flags(&three), Ok(None));
    }

    #[test]
    fn compression_is_inherited() {
        let directory = tempfile::tempdir().unwrap();
        let (one, two) = (new_file(&directory, "one"), new_file(&directory, "two"));
        if compress(&one).is_err() || is_compressed(&one) != Ok(true) {
            return println!("skipped: the file system does not compress files");
        }
        inherit(CURRENT_DIRECTORY, directory.path().join("one"), &two, true).unwrap();
        assert_eq!(is_compressed(&two), Ok(true));
    }

    #[test]
    fn the_time_of_creation_is_inherited_and_no_other() {
        let directory = tempfile::tempdir().unwrap();
        let (one, two) = (new_file(&directory, "one"), new_file(&directory, "two"));
        let times = |file: &Handle| query::<fs::FILE_BASIC_INFO>(file, fs::FileBasicInfo).unwrap();
        let birth = |file: &Handle| times(file).CreationTime;
        let long_ago = birth(&one) - 10_000_000_000;
        set_times(&one, long_ago, &times(&one)).unwrap();
        if birth(&one) != long_ago {
            return println!("skipped: the file system does not keep times of creation");
        }
        let mut wanted = times(&two);
        wanted.LastWriteTime -= 20_000_000_000;
        set_times(&two, 0, &wanted).unwrap();
        inherit(CURRENT_DIRECTORY, directory.path().join("one"), &two, true).unwrap();
        assert_eq!((birth(&two), times(&two).LastWriteTime), (long_ago, wanted.LastWriteTime));
    }

    #[test]
    fn a_stream_longer_than_a_piece_is_copied() {
        let directory = tempfile::tempdir().unwrap();
        let open = |name| new_file(&directory, name);
        let (one, two) = (open("one"), open("two"));
        let value: Vec<u8> = (0..1000u32).map(|number| number as u8).collect();
        write_all(&one, &value, 0).unwrap();
        copy_stream(&one, &two, &mut [0; 300]).unwrap();
        let mut copied = [1; 1001];
        assert_eq!(read_at(&two, &mut copied, 0), Ok(1000));
        assert_eq!(copied[..1000], value);
    }

    #[test]
    fn named_streams_are_attributes() {
        let directory = tempfile::tempdir().unwrap();
        let file = new_file(&directory, "file");
        let mut names = [0; 1000];
        if set_attribute(&file, "user.note", b"text").is_err()
            || !streams(&file).is_ok_and(|names| names == ["note"])
        {
            println!("skipped: the file system has no named streams");
            return;
        }
        let mut value = [0; 9];
        assert_eq!(attribute(&file, "user.note", &mut value), Ok(4));
        assert_eq!(&value[..4], b"text");
        let len = attributes(&file, &mut names).unwrap();
        assert!(names[..len].split(|byte| *byte == 0).any(|name| name == b"user.note"));
        let new = new_file(&directory, "new");
        let held = open(directory.path(), OpenFlags::READ, 0).unwrap();
        inherit(&held, "file", &new, true).unwrap();
        assert_eq!(attribute(&new, "user.note", &mut value), Ok(4));
    }
}
