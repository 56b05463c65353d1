//! Security descriptors: owner, group and access list.

use windows_sys::Wdk::Storage::FileSystem as nt;
use windows_sys::Win32::Foundation as w;
use windows_sys::Win32::Security as security;
use windows_sys::Win32::Storage::FileSystem as fs;

use super::code::check;
use super::handle::{AsHandle, raw};
use super::information::u32_at;
use super::open::existing;
use super::privilege::with_privilege;
use super::volume::has_descriptors;
use crate::sys::code::{Code, Result};

/// The parts of a security descriptor that are read.
const PARTS: u32 = security::OWNER_SECURITY_INFORMATION
    | security::GROUP_SECURITY_INFORMATION
    | security::DACL_SECURITY_INFORMATION;

/// The security descriptor, in the form without addresses.
pub(super) fn descriptor(file: &impl AsHandle) -> Result<Vec<u8>> {
    if !has_descriptors(file) {
        return Err(Code::UNSUPPORTED);
    }
    let mut memory = vec![0u8; 1 << 10];
    loop {
        let mut needed = 0;
        // SAFETY: the call writes at most the given number of bytes, and the number that it needs.
        let found = check(unsafe {
            let start = memory.as_mut_ptr().cast();
            security::GetKernelObjectSecurity(
                raw(file) as _,
                PARTS,
                start,
                memory.len() as u32,
                &raw mut needed,
            )
        });
        match found {
            Ok(()) => {
                memory.truncate(needed as usize);
                return Ok(memory);
            }
            Err(error)
                if error.number() as u32 == w::ERROR_INSUFFICIENT_BUFFER
                    && needed as usize > memory.len() =>
            {
                memory.resize(needed as usize, 0);
            }
            Err(error) if error.is_absent() => return Err(Code::UNSUPPORTED),
            Err(error) => return Err(error),
        }
    }
}

/// True if the parts of a descriptor are within it: the system does not return its length.
fn is_whole(value: &[u8]) -> bool {
    let number = |at: usize| u32_at(value, at).map(|number| number as usize);
    let sid = |at: usize| sid_at(value, at).is_some();
    // An access list has its length in the third and fourth byte.
    let list = |at: usize| number(at).is_some_and(|head| at + (head >> 16) <= value.len());
    let part =
        |place: usize, fits: &dyn Fn(usize) -> bool| number(place).is_some_and(|at| at == 0 || fits(at));
    part(4, &sid) && part(8, &sid) && part(12, &list) && part(16, &list)
}

/// Removes the parts of a descriptor that are not to be set: the access list, or owner and group.
pub fn select_of_descriptor(value: &mut [u8], list: bool, owner: bool) {
    let Some([_, _, flags, _, owner_and_group @ .., _, _, _, _, _, _, _, _]) = value.get_mut(..20) else {
        return;
    };
    if !list {
        *flags &= !(security::SE_DACL_PRESENT as u8);
    }
    if !owner {
        owner_and_group.fill(0);
    }
}

/// Lets nobody but its owner open a file, whose access list was inherited from the directory.
pub fn make_private(file: impl AsHandle) -> Result<()> {
    let owner = match descriptor(&file) {
        Ok(value) => sid_at(&value, u32_at(&value, 4).unwrap_or(0) as usize).ok_or(Code::INVALID)?.to_vec(),
        Err(Code::UNSUPPORTED) => return Ok(()),
        Err(error) => return Err(error),
    };
    set_descriptor(&file, &private(&owner))
}

/// The descriptor that permits everything to one owner, and is not changed with the directory's.
fn private(owner: &[u8]) -> Vec<u8> {
    const HEAD: u32 = 20;
    let control = security::SE_SELF_RELATIVE | security::SE_DACL_PRESENT | security::SE_DACL_PROTECTED;
    let (entry, list) = (8 + owner.len() as u16, 16 + owner.len() as u16);
    let mut value = vec![1, 0];
    value.extend(control.to_le_bytes());
    // No owner, group and audit list; the access list follows.
    [0, 0, 0, HEAD].iter().for_each(|place| value.extend(place.to_le_bytes()));
    // The revision of the list, its length and the number of its entries; an entry that permits, its length and its rights.
    [2, list, 1, 0, 0, entry].iter().for_each(|number| value.extend(number.to_le_bytes()));
    value.extend(fs::FILE_ALL_ACCESS.to_le_bytes());
    value.extend(owner);
    value
}

/// The security identifier at a place of a descriptor. It has the number of its parts in the second byte.
fn sid_at(value: &[u8], at: usize) -> Option<&[u8]> {
    let parts = usize::from(*value.get(at + 1)?);
    value.get(at..at + 8 + 4 * parts).filter(|_| at > 0)
}

/// Sets the access list, and owner and group where that is permitted, as far as the descriptor has them.
pub(super) fn set_descriptor(file: &impl AsHandle, value: &[u8]) -> Result<()> {
    let [_, _, low, high, ..] = *value else { return Err(Code::INVALID) };
    let mut control = u16::from_le_bytes([low, high]);
    // The other form of a descriptor has addresses where this one has places.
    if control & security::SE_SELF_RELATIVE == 0 || !is_whole(value) {
        return Err(Code::INVALID);
    }
    let protected = control & security::SE_DACL_PROTECTED != 0;
    if control & security::SE_DACL_AUTO_INHERITED != 0 {
        // Without this request, the system clears the flag.
        control |= security::SE_DACL_AUTO_INHERIT_REQ;
    }
    let inherits = if protected {
        security::PROTECTED_DACL_SECURITY_INFORMATION
    } else {
        security::UNPROTECTED_DACL_SECURITY_INFORMATION
    };
    let has_list = control & security::SE_DACL_PRESENT != 0;
    let list = if has_list { security::DACL_SECURITY_INFORMATION | inherits } else { 0 };
    // The system reads numbers of the descriptor, which must be aligned.
    let mut memory = vec![0u64; value.len().div_ceil(8)];
    let start: *mut u8 = memory.as_mut_ptr().cast();
    // SAFETY: the memory is as long as the value, which begins with two bytes and the control flags.
    unsafe {
        start.copy_from_nonoverlapping(value.as_ptr(), value.len());
        start.add(2).copy_from_nonoverlapping(control.to_le_bytes().as_ptr(), 2);
    }
    // SAFETY: the memory lives through the call, which checks what it reads.
    if unsafe { security::IsValidSecurityDescriptor(start.cast()) } == 0 {
        return Err(Code::INVALID);
    }
    let set = |rights: u32, parts: u32| {
        // Of a link its own descriptor, not that of its target.
        let file = existing(file, &"", rights, nt::FILE_OPEN_REPARSE_POINT)?;
        // SAFETY: the descriptor is valid and lives through the call.
        check(unsafe { security::SetKernelObjectSecurity(raw(&file) as _, parts, start.cast()) })
    };
    let part = |place: usize, part: u32| if u32_at(value, place) == Some(0) { 0 } else { part };
    let owner = part(4, security::OWNER_SECURITY_INFORMATION) | part(8, security::GROUP_SECURITY_INFORMATION);
    let give = || set(fs::WRITE_DAC | fs::WRITE_OWNER, list | owner);
    // Only administrators may give files away, with a privilege that they have to enable.
    if owner != 0 && (give().is_ok() || with_privilege("SeRestorePrivilege", give).is_ok()) {
        return Ok(());
    }
    if has_list { set(fs::WRITE_DAC, list) } else { Ok(()) }
}
