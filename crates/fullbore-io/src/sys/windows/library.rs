//! Functions that only some versions of the system have.

use std::ffi::CStr;

use windows_sys::Win32::System::LibraryLoader::{GetModuleHandleW, GetProcAddress};

/// A function of a type that the caller knows.
pub(super) type Function = unsafe extern "system" fn() -> isize;

/// The function of a library that every program has loaded; `None` if the library lacks it.
pub(super) fn function(library: &str, name: &CStr) -> Option<Function> {
    let library: Vec<u16> = library.encode_utf16().chain([0]).collect();
    // SAFETY: both names end with a zero, and the library stays loaded.
    unsafe {
        let library = GetModuleHandleW(library.as_ptr());
        if library.is_null() { None } else { GetProcAddress(library, name.as_ptr().cast()) }
    }
}
