//! Extended attributes.

use std::os::fd::AsFd;

use rustix::fs::XattrFlags;

use super::super::Result;
use super::PathArg;

/// Lists the extended attributes of an open file, each with a zero byte at its end; returns the length of the list.
pub fn attributes(file: impl AsFd, names: &mut [u8]) -> Result<usize> {
    Ok(rustix::fs::flistxattr(file, names)?)
}

/// As [`attributes`], for a path whose last name is not followed.
pub fn attributes_of_name(path: impl PathArg, names: &mut [u8]) -> Result<usize> {
    Ok(rustix::fs::llistxattr(path, names)?)
}

/// Reads an extended attribute of an open file; returns its length.
pub fn attribute(file: impl AsFd, name: impl PathArg, value: &mut [u8]) -> Result<usize> {
    Ok(rustix::fs::fgetxattr(file, name, value)?)
}

/// As [`attribute`], for a path's target.
pub fn attribute_of(path: impl PathArg, name: impl PathArg, value: &mut [u8]) -> Result<usize> {
    Ok(rustix::fs::getxattr(path, name, value)?)
}

/// As [`attribute`], for a path whose last name is not followed.
pub fn attribute_of_name(path: impl PathArg, name: impl PathArg, value: &mut [u8]) -> Result<usize> {
    Ok(rustix::fs::lgetxattr(path, name, value)?)
}

/// Sets an extended attribute of an open file.
pub fn set_attribute(file: impl AsFd, name: impl PathArg, value: &[u8]) -> Result<()> {
    Ok(rustix::fs::fsetxattr(file, name, value, XattrFlags::empty())?)
}

/// As [`set_attribute`], for a path whose last name is not followed.
pub fn set_attribute_of_name(path: impl PathArg, name: impl PathArg, value: &[u8]) -> Result<()> {
    Ok(rustix::fs::lsetxattr(path, name, value, XattrFlags::empty())?)
}
