//! Extended attributes of FreeBSD, those of its name space `user`, under the names that Linux gives them: `user.NAME`.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::os::fd::{AsFd, AsRawFd};

use crate::sys::code::{Code, Result};
use crate::sys::unix::open::PathArg;

const SPACE: c_int = libc::EXTATTR_NAMESPACE_USER;
const PREFIX: &[u8] = b"user.";

fn checked(count: isize) -> Result<usize> {
    usize::try_from(count).map_err(|_| Code::last())
}

/// Returns the name without its name space.
fn own_name(name: impl PathArg) -> Result<CString> {
    let name = name.into_c_str()?;
    let name = name.to_bytes().strip_prefix(PREFIX).ok_or(Code::UNSUPPORTED)?;
    CString::new(name).map_err(|_| Code::INVALID)
}

/// Reads by a call that returns the length if it gets no memory, and otherwise cuts what does not fit.
fn whole(call: impl Fn(*mut c_void, usize) -> isize, out: &mut [u8]) -> Result<usize> {
    let len = checked(call(std::ptr::null_mut(), 0))?;
    match out.len() {
        0 => Ok(len),
        room if len > room => Err(Code::OUT_OF_RANGE),
        room => checked(call(out.as_mut_ptr().cast(), room)),
    }
}

/// Converts a list of names, each after a byte with its length, to one with prefixes and zeros.
fn listed(list: &[u8]) -> Vec<u8> {
    let (mut names, mut rest) = (Vec::new(), list);
    while let Some((&len, behind)) = rest.split_first() {
        let Some((name, behind)) = behind.split_at_checked(len.into()) else { break };
        names.extend_from_slice(PREFIX);
        names.extend_from_slice(name);
        names.push(0);
        rest = behind;
    }
    names
}

fn list(call: impl Fn(*mut c_void, usize) -> isize, out: &mut [u8]) -> Result<usize> {
    let mut memory = vec![0; checked(call(std::ptr::null_mut(), 0))?];
    let len = whole(call, &mut memory)?;
    let names = listed(memory.get(..len).unwrap_or_default());
    if !out.is_empty() {
        out.get_mut(..names.len()).ok_or(Code::OUT_OF_RANGE)?.copy_from_slice(&names);
    }
    Ok(names.len())
}

/// Lists the extended attributes of an open file, each with a zero byte at its end; returns the length of the list.
pub fn attributes(file: impl AsFd, names: &mut [u8]) -> Result<usize> {
    let fd = file.as_fd().as_raw_fd();
    // SAFETY: the call writes at most the given number of bytes.
    list(|data, len| unsafe { libc::extattr_list_fd(fd, SPACE, data, len) }, names)
}

/// As [`attributes`], for a path whose last name is not followed.
pub fn attributes_of_name(path: impl PathArg, names: &mut [u8]) -> Result<usize> {
    let path = path.into_c_str()?;
    // SAFETY: the path is a C string; the call writes at most the given number of bytes.
    list(|data, len| unsafe { libc::extattr_list_link(path.as_ptr(), SPACE, data, len) }, names)
}

/// Reads an extended attribute of an open file; returns its length.
pub fn attribute(file: impl AsFd, name: impl PathArg, value: &mut [u8]) -> Result<usize> {
    let (fd, name) = (file.as_fd().as_raw_fd(), own_name(name)?);
    // SAFETY: the name is a C string; the call writes at most the given number of bytes.
    whole(|data, len| unsafe { libc::extattr_get_fd(fd, SPACE, name.as_ptr(), data, len) }, value)
}

/// The call that reads or writes an attribute of a path.
type OfPath<T> = unsafe extern "C" fn(*const c_char, c_int, *const c_char, T, usize) -> isize;

fn read(call: OfPath<*mut c_void>, path: &CStr, name: &CStr, value: &mut [u8]) -> Result<usize> {
    // SAFETY: path and name are C strings; the call writes at most the given number of bytes.
    whole(|data, len| unsafe { call(path.as_ptr(), SPACE, name.as_ptr(), data, len) }, value)
}

pub fn attribute_of_name(path: impl PathArg, name: impl PathArg, value: &mut [u8]) -> Result<usize> {
    read(libc::extattr_get_link, &path.into_c_str()?, &own_name(name)?, value)
}

pub fn set_attribute(file: impl AsFd, name: impl PathArg, value: &[u8]) -> Result<()> {
    let (fd, name) = (file.as_fd().as_raw_fd(), own_name(name)?);
    // SAFETY: the name is a C string; the call reads the value.
    let set = unsafe { libc::extattr_set_fd(fd, SPACE, name.as_ptr(), value.as_ptr().cast(), value.len()) };
    checked(set).map(drop)
}

/// There are no attributes that a new file gets from its directory.
pub fn remove_attribute(_: impl AsFd, _: impl PathArg) -> Result<()> {
    Err(Code::UNSUPPORTED)
}

pub fn remove_attribute_of_name(_: impl PathArg, _: impl PathArg) -> Result<()> {
    Err(Code::UNSUPPORTED)
}

pub fn set_attribute_of_name(path: impl PathArg, name: impl PathArg, value: &[u8]) -> Result<()> {
    let (path, name) = (path.into_c_str()?, own_name(name)?);
    let call: OfPath<*const c_void> = libc::extattr_set_link;
    // SAFETY: path and name are C strings; the call reads the value.
    let set = unsafe { call(path.as_ptr(), SPACE, name.as_ptr(), value.as_ptr().cast(), value.len()) };
    checked(set).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_lengths_and_names_becomes_one_of_strings() {
        assert_eq!(listed(b"\x01a\x03two"), b"user.a\0user.two\0");
        assert_eq!(listed(b"\x01a\x09cut"), b"user.a\0");
        assert_eq!(listed(b""), b"");
    }
}
