//! Small files that are read by one call and verified by one `fstat`.

use std::io;

use crate::sys::{self, AsHandle, FileKind, Status, Time, TransferFlags};

/// File systems with timestamps of this machine's clock, from `linux/magic.h`: ext2 to ext4, XFS, btrfs, tmpfs, F2FS.
const LOCAL: [u64; 5] = [0xef53, 0x5846_5342, 0x9123_683e, 0x0102_1994, 0xf2f5_2010];

/// Margin in nanoseconds: two ticks of the clock that stamps changes. A stamp of whole seconds may have no finer ones (ext4 with
/// inodes of 128 bytes).
const MARGIN: i128 = 20_000_000;
const MARGIN_OF_WHOLE_SECONDS: i128 = 2_000_000_000;

/// A reader of small files that are cached and were last changed before the read began.
///
/// The usual proof that a file did not change while it was read is one `fstat` before and one after. The time of the
/// last change (`ctime`) is set from the system's clock by every write and cannot be set by a program, so one `fstat`
/// after the read suffices if that time is before the read. With `RWF_NOWAIT` the read itself can be the first call:
/// devices and pipes reject it and lose no byte.
#[derive(Debug, Default)]
pub struct SettledReader {
    /// The device of the last file, and `true` if its file system is one of [`LOCAL`].
    device: Option<(u64, bool)>,
}

impl SettledReader {
    /// Reads a whole file with `read` into `bytes`, which must be longer, and returns its length. `None` if it needs a separate
    /// check: longer, not cached, not regular, recently changed.
    pub fn read(
        &mut self,
        file: impl AsHandle,
        bytes: &mut [u8],
        read: impl FnOnce(&mut [u8], TransferFlags) -> io::Result<usize>,
    ) -> Option<usize> {
        let room = bytes.len();
        let began = sys::coarse_time();
        let count = read(bytes, TransferFlags::NO_WAIT).ok().filter(|&count| count < room)?;
        let stat = sys::status(&file).ok()?;
        let whole = stat.size == count as u64 && stat.kind() == FileKind::Regular;
        (whole && changed_before(&stat, began) && self.local(&file, &stat)).then_some(count)
    }

    fn local(&mut self, file: impl AsHandle, stat: &Status) -> bool {
        match self.device {
            Some((device, local)) if device == stat.dev => local,
            _ => {
                let local = sys::file_system_kind(file).is_ok_and(|kind| LOCAL.contains(&kind));
                self.device = Some((stat.dev, local));
                local
            }
        }
    }
}

/// True if the last change was made before that time, whatever the granularity of the stamp.
fn changed_before(stat: &Status, time: Time) -> bool {
    let nanoseconds = |seconds: i64, rest: i64| i128::from(seconds) * 1_000_000_000 + i128::from(rest);
    let changed = nanoseconds(stat.ctime, stat.ctime_nsec);
    let margin = if stat.ctime_nsec == 0 { MARGIN_OF_WHOLE_SECONDS } else { MARGIN };
    changed < nanoseconds(time.0, time.1) - margin
}

#[cfg(test)]
mod tests {
    use std::io::IoSliceMut;

    use super::*;

    fn read(path: &str) -> Option<Vec<u8>> {
        let file = std::fs::File::open(path).unwrap();
        let mut bytes = vec![0; 1 << 20];
        let count = SettledReader::default().read(&file, &mut bytes, |bytes, flags| {
            Ok(sys::read_vectored_flagged(&file, &mut [IoSliceMut::new(bytes)], 0, flags)?)
        })?;
        Some(bytes[..count].to_vec())
    }

    #[test]
    fn a_file_changed_a_moment_ago_is_not_read_whatever_its_modification_time() {
        let file = tempfile::NamedTempFile::new().unwrap();
        // A busy machine may take longer than the margin from the change to the read.
        let refused = (0..100).any(|_| {
            std::fs::write(&file, "bytes").unwrap();
            file.as_file().set_modified(std::time::UNIX_EPOCH).unwrap();
            read(file.path().to_str().unwrap()).is_none()
        });
        assert!(refused);
    }

    #[test]
    fn whole_seconds_need_a_wider_margin() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut stat = sys::status(&file).unwrap();
        (stat.ctime, stat.ctime_nsec) = (100, 1);
        assert!(changed_before(&stat, (100, 20_000_002)) && !changed_before(&stat, (100, 20_000_001)));
        stat.ctime_nsec = 0;
        assert!(changed_before(&stat, (102, 1)) && !changed_before(&stat, (102, 0)));
    }

    #[test]
    fn an_unchanged_file_is_read_on_local_file_systems() {
        let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
        let file = std::fs::File::open(manifest).unwrap();
        let kind = sys::file_system_kind(&file).unwrap();
        if let Some(bytes) = read(manifest) {
            assert!(LOCAL.contains(&kind));
            assert_eq!(bytes, std::fs::read(manifest).unwrap());
        }
        for odd in
            ["/proc/self/status", "/dev/zero", "/dev/null", "/sys/kernel/mm/transparent_hugepage/enabled"]
        {
            if std::path::Path::new(odd).exists() {
                assert_eq!(read(odd), None, "{odd}");
            }
        }
    }
}
