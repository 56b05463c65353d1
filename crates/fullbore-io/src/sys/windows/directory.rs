//! Entries of directories.

use std::ffi::{CStr, CString, OsString};
use std::os::windows::ffi::OsStringExt as _;

use windows_sys::Win32::Foundation::ERROR_NO_MORE_FILES;
use windows_sys::Win32::Storage::FileSystem as fs;

use super::code::check;
use super::handle::{AsHandle, CURRENT_DIRECTORY, Handle, OpenFlags, raw};
use super::open::{open_at, reopen, try_clone};
use super::path::OsStringExt;
use crate::sys::code::{Code, Result};
use crate::sys::types::FileKind;

#[derive(Debug)]
pub struct Directory {
    file: Handle,
    /// Entries as the system writes them, aligned for their structure.
    memory: Vec<u64>,
    /// The place of the next entry in `memory`, in bytes, if it has one.
    next: Option<usize>,
    started: bool,
    /// True after the last entry, and after an error, which would otherwise repeat forever.
    ended: bool,
}

#[derive(Debug)]
pub struct Entry {
    name: CString,
    kind: FileKind,
}

impl Directory {
    pub fn new(file: Handle) -> Result<Self> {
        Ok(Self { file, memory: vec![0; 8192], next: None, started: false, ended: false })
    }

    pub fn read_from(file: impl AsHandle) -> Result<Self> {
        let flags = OpenFlags::READ | OpenFlags::DIRECTORY;
        Self::new(match raw(&file) == raw(&CURRENT_DIRECTORY) {
            true => open_at(CURRENT_DIRECTORY, ".", flags, 0o666)?,
            false => reopen(&file, flags)?,
        })
    }

    pub fn handle(&self) -> Result<Handle> {
        try_clone(&self.file)
    }

    /// Reads the next entries; false at the end.
    fn fill(&mut self) -> Result<bool> {
        let class = match self.started {
            true => fs::FileFullDirectoryInfo,
            false => fs::FileFullDirectoryRestartInfo,
        };
        self.started = true;
        let bytes = size_of_val(self.memory.as_slice()) as u32;
        // SAFETY: the call writes at most the given number of bytes.
        let result = check(unsafe {
            fs::GetFileInformationByHandleEx(
                raw(&self.file) as _,
                class,
                self.memory.as_mut_ptr().cast(),
                bytes,
            )
        });
        match result {
            Ok(()) => {
                self.next = Some(0);
                Ok(true)
            }
            Err(error) if error.number() as u32 == ERROR_NO_MORE_FILES => Ok(false),
            // An empty directory, in some file systems.
            Err(Code::NOT_FOUND) => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn entry(&mut self, at: usize) -> Entry {
        // SAFETY: the system wrote an entry here, aligned to eight bytes, and its name after it.
        let (head, name) = unsafe {
            let entry = self.memory.as_ptr().byte_add(at).cast::<fs::FILE_FULL_DIR_INFO>();
            let name = (&raw const (*entry).FileName).cast::<u16>();
            (*entry, std::slice::from_raw_parts(name, (*entry).FileNameLength as usize / 2))
        };
        self.next = (head.NextEntryOffset != 0).then(|| at + head.NextEntryOffset as usize);
        let attributes = head.FileAttributes;
        let kind = match () {
            // Links, and what file systems store elsewhere: only the file itself shows its kind.
            () if attributes & fs::FILE_ATTRIBUTE_REPARSE_POINT != 0 => FileKind::Other,
            () if attributes & fs::FILE_ATTRIBUTE_DIRECTORY != 0 => FileKind::Directory,
            () => FileKind::Regular,
        };
        let name = OsStringExt::into_vec(OsString::from_wide(name));
        Entry { name: CString::new(name).unwrap_or_default(), kind }
    }
}

impl Iterator for Directory {
    type Item = Result<Entry>;

    fn next(&mut self) -> Option<Self::Item> {
        let filled = match self.next {
            _ if self.ended => return None,
            Some(at) => return Some(Ok(self.entry(at))),
            None => self.fill(),
        };
        self.ended = filled != Ok(true);
        match filled {
            Ok(true) => Some(Ok(self.entry(0))),
            Ok(false) => None,
            Err(error) => Some(Err(error)),
        }
    }
}

impl Entry {
    pub fn file_name(&self) -> &CStr {
        &self.name
    }

    pub fn kind(&self) -> FileKind {
        self.kind
    }
}

#[cfg(test)]
mod tests {
    use super::super::open::open;
    use super::*;

    #[test]
    fn entries_end_with_the_first_error() {
        let (_directory, path) = fullbore_testkit::ground::temporary_file("");
        // A file without entries in the place of a directory.
        let file = open(&path, OpenFlags::READ, 0).unwrap();
        let entries: Vec<_> = Directory::new(file).unwrap().take(9).collect();
        assert!(matches!(entries[..], [Err(_)]), "{entries:?}");
        let whole = Directory::read_from(CURRENT_DIRECTORY).unwrap();
        assert!(whole.take(1 << 20).all(|entry| entry.is_ok()));
    }
}
