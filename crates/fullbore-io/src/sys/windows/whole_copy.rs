//! Copies of whole files by one call of the system.

use std::ffi::{OsStr, c_void};

use windows_sys::Wdk::Storage::FileSystem as nt;
use windows_sys::Win32::Foundation as w;
use windows_sys::Win32::Storage::FileSystem as fs;
use windows_sys::core::HRESULT;

use super::handle::{AtFlags, BorrowedHandle, Handle, OpenFlags};
use super::names::{delete, remove};
use super::open::{open_at, reopen};
use super::path::{OsStrExt, handle_path, path_in, wide};
use super::status::{change_mode_at, status};
use super::volume::shares_blocks;
use super::xattr::{stream, streams};
use crate::sys::code::{Code, Result};

/// Creates `name` in a directory as a copy of `source` by `CopyFile2`, open for reading and writing, and without the source's named
/// streams and READONLY; other flags and the times are those of the source. A network share copies on its server. The call
/// takes paths, so `directory` must be one in which nobody else exchanges names. Leaves nothing on failure.
///
/// `go_on` gets the number of bytes copied so far, and cancels the copy by returning `false`.
///
/// # Errors
/// [`Code::UNSUPPORTED`] if the file system may share blocks, which the call would do, and `may_share` is not set; [`Code::HELD`]
/// if another process may rename or remove the source meanwhile.
pub fn copy_to_name(
    source: BorrowedHandle<'_>,
    directory: BorrowedHandle<'_>,
    name: &OsStr,
    may_share: bool,
    go_on: &mut dyn FnMut(u64) -> bool,
) -> Result<Handle> {
    if !may_share && shares_blocks(directory)? {
        return Err(Code::UNSUPPORTED);
    }
    // While this handle is open, neither the file nor a directory above it can be renamed.
    let held = reopen(&source, OpenFlags::READ | OpenFlags::DENY_DELETE)?;
    let (from, to) = (wide(&handle_path(&held))?, wide(&path_in(directory, name))?);
    let mut routine = Routine(go_on);
    let parameters = fs::COPYFILE2_EXTENDED_PARAMETERS {
        dwSize: size_of::<fs::COPYFILE2_EXTENDED_PARAMETERS>() as u32,
        dwCopyFlags: fs::COPY_FILE_FAIL_IF_EXISTS,
        pfCancel: std::ptr::null_mut(),
        pProgressRoutine: Some(report),
        pvCallbackContext: (&raw mut routine).cast(),
    };
    // SAFETY: the paths end with a zero; they, the parameters and the routine live through the call.
    check_result(unsafe { fs::CopyFile2(from.as_ptr(), to.as_ptr(), &raw const parameters) })?;
    let begin = || {
        change_mode_at(directory, name, 0o600)?;
        let file = open_at(directory, name, OpenFlags::READ_WRITE | OpenFlags::NOFOLLOW, 0)?;
        for name in streams(&file)? {
            delete(&stream(&file, OsStrExt::as_bytes(&*name), fs::DELETE, nt::FILE_OPEN)?)?;
        }
        if status(&file)?.size == status(source)?.size { Ok(file) } else { Err(Code::STALE) }
    };
    begin().inspect_err(|_| {
        let _ = remove(directory, name, AtFlags::empty());
    })
}

struct Routine<'a>(&'a mut dyn FnMut(u64) -> bool);

/// Passes the number of bytes copied on to the [`Routine`] at `context`.
unsafe extern "system" fn report(
    message: *const fs::COPYFILE2_MESSAGE,
    context: *const c_void,
) -> fs::COPYFILE2_MESSAGE_ACTION {
    // SAFETY: the system passes a message that is valid for the call, and the context of the parameters, which nothing else uses.
    let (message, routine) = unsafe { (&*message, &mut *context.cast_mut().cast::<Routine<'_>>()) };
    if message.Type != fs::COPYFILE2_CALLBACK_CHUNK_FINISHED {
        return fs::COPYFILE2_PROGRESS_CONTINUE;
    }
    // SAFETY: messages of this type have this part.
    let finished = unsafe { message.Info.ChunkFinished };
    match (routine.0)(finished.uliTotalBytesTransferred) {
        true => fs::COPYFILE2_PROGRESS_CONTINUE,
        false => fs::COPYFILE2_PROGRESS_CANCEL,
    }
}

/// The result of a call whose errors are those of Win32, marked as such in the upper half.
fn check_result(result: HRESULT) -> Result<()> {
    const OF_WIN32: u32 = 0x8007;
    match (result as u32 >> 16, result as u32 & 0xffff) {
        _ if result >= 0 => Ok(()),
        // Cancelled by the routine.
        (OF_WIN32, w::ERROR_REQUEST_ABORTED) => Err(Code::CANCELLED),
        (OF_WIN32, number) => Err(Code::from_number(number as i32)),
        _ => Err(Code::IO),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::windows::handle::AsHandle;
    use crate::sys::windows::open::open;

    fn copy(room: &std::path::Path, go_on: &mut dyn FnMut(u64) -> bool) -> Result<Handle> {
        let source = open(room.join("source"), OpenFlags::READ, 0)?;
        let directory = open(room, OpenFlags::READ | OpenFlags::DIRECTORY, 0)?;
        copy_to_name(source.as_handle(), directory.as_handle(), OsStr::new("copy"), true, go_on)
    }

    #[test]
    fn a_copy_has_the_bytes_and_replaces_nothing() {
        let room = tempfile::tempdir().unwrap();
        let path = room.path().join("source");
        std::fs::write(&path, b"content").unwrap();
        let mut permissions = std::fs::metadata(&path).unwrap().permissions();
        permissions.set_readonly(true);
        std::fs::set_permissions(&path, permissions.clone()).unwrap();
        let made = copy(room.path(), &mut |_| true).unwrap();
        assert_eq!(status(&made).unwrap().permissions() & 0o200, 0o200);
        assert_eq!(std::fs::read(room.path().join("copy")).unwrap(), b"content");
        assert_eq!(copy(room.path(), &mut |_| true).unwrap_err(), Code::EXISTS);
        #[allow(clippy::permissions_set_readonly_false)]
        permissions.set_readonly(false);
        std::fs::set_permissions(&path, permissions).unwrap();
    }

    #[test]
    fn results_are_codes() {
        assert_eq!(check_result(0), Ok(()));
        assert_eq!(check_result(0x8007_0070_u32 as i32), Err(Code::NO_SPACE));
        assert_eq!(check_result(0x8007_04d3_u32 as i32), Err(Code::CANCELLED));
        assert_eq!(check_result(0x8000_4005_u32 as i32), Err(Code::IO));
    }
}
