//! Share locks.

use super::option_report::Support;
use super::options::Share;
use crate::sys::{self, Code, Handle, WholeLock};

/// Magic numbers of `statfs(2)` of file systems on which a shared lock with write access reports success and writes are
/// dropped (dotnet/runtime issues 44546, 53182).
const NETWORK: [(u64, &str); 4] =
    [(0x6969, "NFS"), (0xff53_4d42, "CIFS"), (0x517b, "SMB"), (0xfe53_4d42, "SMB2")];

/// The reason for not trying a lock on a file system with this magic number.
pub(super) fn skipped(share: Share, writes: bool, magic: u64) -> Option<String> {
    let (_, name) = NETWORK.iter().find(|(number, _)| *number == magic)?;
    (share != Share::NONE && writes).then(|| format!("shared lock with write access skipped: {name}"))
}

/// Takes the lock without waiting; `Err` if a conflicting one is held.
pub(super) fn take(fd: &Handle, share: Share, writes: bool) -> Result<Support, Code> {
    let exclusive = share == Share::NONE;
    if !exclusive && writes {
        let magic = sys::file_system_kind(fd).unwrap_or(0);
        if let Some(why) = skipped(share, writes, magic) {
            return Ok(Support::Unsupported(why));
        }
    }
    let operation = if exclusive { WholeLock::Exclusive } else { WholeLock::Shared };
    loop {
        return match sys::lock_whole(fd, operation) {
            Ok(()) if exclusive => Ok(Support::Native),
            Ok(()) => Ok(Support::Emulated("one shared lock: it excludes exclusive locks only".to_owned())),
            Err(Code::INTERRUPTED) => continue,
            Err(Code::WOULD_BLOCK) => Err(Code::WOULD_BLOCK),
            Err(error) => {
                let error = crate::error::message(&error.into());
                Ok(Support::Unsupported(format!("the system cannot lock it: {error}")))
            }
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shared_lock_with_write_access_is_skipped_on_network_file_systems_only() {
        assert!(skipped(Share::READ, true, 0x6969).unwrap().ends_with("skipped: NFS"));
        assert!(skipped(Share::READ, true, 0xff53_4d42).is_some());
        assert_eq!(skipped(Share::READ, false, 0x6969), None);
        assert_eq!(skipped(Share::NONE, true, 0x6969), None);
        assert_eq!(skipped(Share::READ, true, 0xef53), None);
    }
}
