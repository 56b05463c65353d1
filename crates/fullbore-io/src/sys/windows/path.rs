//! Paths and names: bytes of WTF-8 in this library, 16-bit units in calls.

use std::borrow::Cow;
use std::ffi::{CStr, CString, OsStr, OsString};
use std::os::windows::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Component, Path, PathBuf};

use windows_sys::Win32::Storage::FileSystem as fs;

use super::handle::{AsHandle, CURRENT_DIRECTORY, handle_name, raw};
use crate::sys::code::{Code, Result};

/// A path or name as an argument of a call.
pub trait PathArg {
    fn to_path(&self) -> Cow<'_, OsStr>;
}

pub(in crate::sys) fn name_of(path: impl PathArg) -> Result<OsString> {
    Ok(path.to_path().into_owned())
}

macro_rules! arguments {
    ($($type:ty),+; $this:ident => $name:expr) => {
        $(impl PathArg for $type {
            fn to_path(&self) -> Cow<'_, OsStr> {
                let $this = self;
                Cow::Borrowed($name)
            }
        })+
    };
}
arguments!(str, &str, String, &String, OsString, &OsString, Path, &Path, PathBuf, &PathBuf; name => name.as_ref());
arguments!(OsStr, &OsStr; name => name);
arguments!(&CStr, CString, &CString; name => OsStr::from_bytes(name.to_bytes()));
arguments!(&[u8]; name => OsStr::from_bytes(name));

/// Names as bytes of WTF-8, with the methods that Unix has for its bytes.
pub trait OsStrExt {
    fn as_bytes(&self) -> &[u8];

    /// The name of these bytes. Bytes that are not WTF-8 are not a name: the result is a name that no file has.
    fn from_bytes(bytes: &[u8]) -> &Self;
}

impl OsStrExt for OsStr {
    fn as_bytes(&self) -> &[u8] {
        self.as_encoded_bytes()
    }

    fn from_bytes(bytes: &[u8]) -> &Self {
        if !is_wtf8(bytes) {
            // Names cannot contain this character.
            return OsStr::new("<not a name>");
        }
        // SAFETY: the bytes are WTF-8, as checked, which is the encoding of this platform.
        unsafe { OsStr::from_encoded_bytes_unchecked(bytes) }
    }
}

/// Owned names, likewise.
pub trait OsStringExt {
    fn from_vec(bytes: Vec<u8>) -> Self;

    fn into_vec(self) -> Vec<u8>;
}

impl OsStringExt for OsString {
    fn from_vec(bytes: Vec<u8>) -> Self {
        OsStr::from_bytes(&bytes).to_owned()
    }

    fn into_vec(self) -> Vec<u8> {
        self.into_encoded_bytes()
    }
}

/// True for bytes of WTF-8: UTF-8 that may contain surrogates, but no pair of them.
fn is_wtf8(bytes: &[u8]) -> bool {
    let mut rest = bytes;
    let mut leads = false;
    loop {
        match std::str::from_utf8(rest) {
            Ok(_) => return true,
            Err(error) => {
                let valid = error.valid_up_to();
                leads &= valid == 0;
                match rest[valid..] {
                    [0xed, second @ 0xa0..=0xbf, 0x80..=0xbf, ref behind @ ..] => {
                        let trails = second >= 0xb0;
                        if leads && trails {
                            return false;
                        }
                        leads = !trails;
                        rest = behind;
                    }
                    _ => return false,
                }
            }
        }
    }
}

/// The units of a name, with backslashes, for the native interface.
pub(super) fn units(name: &OsStr) -> Vec<u16> {
    name.encode_wide().map(|unit| if unit == u16::from(b'/') { u16::from(b'\\') } else { unit }).collect()
}

/// A path for a call of Win32, with the zero at its end. Long paths get the prefix that permits them.
pub(super) fn wide(path: &Path) -> Result<Vec<u16>> {
    let mut native = native(path)?;
    // `\??\` and `\\?\` mean the same.
    native[1] = u16::from(b'\\');
    native.push(0);
    Ok(native)
}

/// An absolute path in the form of the native interface.
pub(super) fn native(path: &Path) -> Result<Vec<u16>> {
    if path.as_os_str().is_empty() {
        return Err(Code::NOT_FOUND);
    }
    if path.as_os_str().encode_wide().any(|unit| unit == 0) {
        return Err(Code::INVALID);
    }
    let absolute = std::path::absolute(path).map_err(|error| Code::of(&error).unwrap_or(Code::INVALID))?;
    let whole = units(absolute.as_os_str());
    let text = |text: &str| text.encode_utf16().collect::<Vec<u16>>();
    let prefix = text(r"\??\");
    let rest = match whole.as_slice() {
        [92, 92, 63 | 46, 92, rest @ ..] => rest.to_vec(),
        [92, 92, rest @ ..] => [text(r"UNC\"), rest.to_vec()].concat(),
        rest => rest.to_vec(),
    };
    Ok([prefix, rest].concat())
}

/// Returns a path of an open directory that holds whatever takes its name: none here, where nobody can rename a
/// directory that is open with `DENY_DELETE`.
pub fn shared_path(_: &impl AsHandle) -> Option<PathBuf> {
    None
}

/// Returns the path of an open file; by the name of its volume if that has no drive letter.
pub fn handle_path(file: &impl AsHandle) -> PathBuf {
    let mut buffer = vec![0u16; 1024];
    let volumes =
        [(fs::VOLUME_NAME_DOS, ""), (fs::VOLUME_NAME_GUID, ""), (fs::VOLUME_NAME_NT, r"\\?\GLOBALROOT")];
    // On a network share, names are normalised only if all directories above may be listed.
    let names = [fs::FILE_NAME_NORMALIZED, fs::FILE_NAME_OPENED];
    for (name, (volume, prefix)) in names.into_iter().flat_map(|name| volumes.map(|volume| (name, volume))) {
        loop {
            let (start, room, how) = (buffer.as_mut_ptr(), buffer.len() as u32, name | volume);
            // SAFETY: the call writes at most the given number of units.
            match unsafe { fs::GetFinalPathNameByHandleW(raw(file) as _, start, room, how) } as usize {
                0 => break,
                len if len < buffer.len() => {
                    let mut path = OsString::from(prefix);
                    path.push(OsString::from_wide(&buffer[..len]));
                    return path.into();
                }
                len => buffer.resize(len + 1, 0),
            }
        }
    }
    handle_name(file).into()
}

/// Returns the last name of a path, as the system understands it: without periods and spaces at its end, unless the
/// path is literal (`\\?\`). `None` also for the reserved name of a device.
pub fn last_name(path: &Path) -> Option<OsString> {
    let name = path.file_name()?;
    // Of such a name nothing is left.
    if name.as_encoded_bytes().iter().all(|byte| b". ".contains(byte)) {
        return None;
    }
    let literal = path.as_os_str().as_encoded_bytes().starts_with(br"\\?\");
    if literal {
        return Some(name.to_owned());
    }
    std::path::absolute(path).ok()?.file_name().map(OsStr::to_owned)
}

pub fn path_in(directory: impl AsHandle, name: impl AsRef<Path>) -> PathBuf {
    if raw(&directory) == raw(&CURRENT_DIRECTORY) {
        return name.as_ref().to_owned();
    }
    let mut path = handle_path(&directory);
    // The prefix of such a path switches off the meaning of `.` and `..`.
    for part in name.as_ref().components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(path.pop()),
            part => path.push(part),
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wtf8_has_no_pairs_of_surrogates() {
        assert!(is_wtf8(b"") && is_wtf8("ä€𝄞".as_bytes()));
        assert!(is_wtf8(b"\xed\xa0\x80") && is_wtf8(b"a\xed\xb0\x80z"));
        assert!(is_wtf8(b"\xed\xb0\x80\xed\xa0\x80") && is_wtf8(b"\xed\xa0\x80x\xed\xb0\x80"));
        assert!(!is_wtf8(b"\xed\xa0\x80\xed\xb0\x80") && !is_wtf8(b"\xff") && !is_wtf8(b"\xed\xa0"));
        for units in [vec![0x61, 0xd800, 0x62], vec![0xdc00, 0xd800], vec![0xd834, 0xdd1e]] {
            let name = OsString::from_wide(&units);
            assert_eq!(OsStr::from_bytes(OsStrExt::as_bytes(name.as_os_str())), name);
        }
    }

    #[test]
    fn the_last_name_is_that_of_the_system() {
        let last = |path: &str| last_name(Path::new(path)).map(|name| name.into_string().unwrap());
        for (path, name) in [
            ("out.", Some("out")),
            (r"a\out. ", Some("out")),
            ("a/.hidden", Some(".hidden")),
            (r"\\?\C:\out.", Some("out.")),
            (r"C:\", None),
            ("..", None),
            (r"a\...", None),
            ("NUL", None),
        ] {
            assert_eq!(last(path).as_deref(), name, "{path}");
        }
    }

    #[test]
    fn native_paths() {
        let native = |path: &str| String::from_utf16(&super::native(Path::new(path)).unwrap()).unwrap();
        assert_eq!(native(r"C:\a/b\..\c"), r"\??\C:\a\c");
        assert_eq!(native(r"\\server\share\x"), r"\??\UNC\server\share\x");
        assert_eq!(native(r"\\?\C:\a\..\b"), r"\??\C:\a\..\b");
        assert_eq!(native("NUL"), r"\??\NUL");
        assert!(super::native(Path::new("")).is_err() && super::native(Path::new("a\0b")).is_err());
    }
}
