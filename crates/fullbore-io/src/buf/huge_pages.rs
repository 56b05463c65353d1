//! Vectors on huge pages.

use std::collections::TryReserveError;
use std::ptr::NonNull;

use crate::sys::memory;

/// Size of a huge page in bytes.
pub const HUGE_PAGE: usize = 2 << 20;

/// Reserves room for `more` bytes, on huge pages where the room contains any: the page faults of 4 KiB pages take three times as
/// long as the copy of a file into them.
pub(crate) fn reserve_exact(bytes: &mut Vec<u8>, more: usize) -> Result<(), TryReserveError> {
    bytes.try_reserve_exact(more)?;
    let room = bytes.spare_capacity_mut();
    let skipped = room.as_ptr().align_offset(HUGE_PAGE);
    let len = room.len().saturating_sub(skipped) / HUGE_PAGE * HUGE_PAGE;
    if len > 0 {
        // SAFETY: the range is within the room, which is borrowed; the hint keeps the contents.
        unsafe { memory::prefer_huge_pages(NonNull::from(&mut room[skipped]).cast(), len) };
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_keep_their_content_and_get_room() {
        for (len, more) in
            [(0, 0), (0, 1), (5, 3 * HUGE_PAGE), (HUGE_PAGE + 7, HUGE_PAGE - 1), (3, 2 * HUGE_PAGE)]
        {
            let mut bytes = vec![7; len];
            reserve_exact(&mut bytes, more).unwrap();
            assert!(bytes.capacity() >= len + more);
            bytes.resize(len + more, 8);
            assert!(bytes[..len].iter().all(|&byte| byte == 7) && bytes[len..].iter().all(|&byte| byte == 8));
        }
        assert!(reserve_exact(&mut Vec::new(), usize::MAX).is_err());
    }
}
