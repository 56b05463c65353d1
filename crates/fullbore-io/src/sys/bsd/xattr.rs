//! Extended attributes. FreeBSD's are of another kind, in two name spaces, and are not supported.

use std::os::fd::AsFd;

use super::super::{Code, PathArg, Result};

/// Lists the extended attributes of an open file, each with a zero byte at its end; returns the length of the list.
pub fn attributes(_: impl AsFd, _: &mut [u8]) -> Result<usize> {
    Err(Code::UNSUPPORTED)
}

/// As [`attributes`], for a path whose last name is not followed.
pub fn attributes_of_name(_: impl PathArg, _: &mut [u8]) -> Result<usize> {
    Err(Code::UNSUPPORTED)
}

/// Reads an extended attribute of an open file; returns its length.
pub fn attribute(_: impl AsFd, _: impl PathArg, _: &mut [u8]) -> Result<usize> {
    Err(Code::UNSUPPORTED)
}

/// As [`attribute`], for a path's target.
pub fn attribute_of(_: impl PathArg, _: impl PathArg, _: &mut [u8]) -> Result<usize> {
    Err(Code::UNSUPPORTED)
}

/// As [`attribute`], for a path whose last name is not followed.
pub fn attribute_of_name(_: impl PathArg, _: impl PathArg, _: &mut [u8]) -> Result<usize> {
    Err(Code::UNSUPPORTED)
}

/// Sets an extended attribute of an open file.
pub fn set_attribute(_: impl AsFd, _: impl PathArg, _: &[u8]) -> Result<()> {
    Err(Code::UNSUPPORTED)
}

/// As [`set_attribute`], for a path whose last name is not followed.
pub fn set_attribute_of_name(_: impl PathArg, _: impl PathArg, _: &[u8]) -> Result<()> {
    Err(Code::UNSUPPORTED)
}
