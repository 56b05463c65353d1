//! Holes and blocks.

use super::*;

use fullbore_testkit::runs_all;

#[test]
fn punching_frees_blocks_and_reserving_takes_them() {
    everywhere(|directory| {
        let path = directory.join("blocks");
        let file = File::create_new(&path).unwrap();
        let blocks = || {
            file.sync_data().unwrap();
            fullbore_io::sys::stat(&path).unwrap().allocated()
        };
        file.write_all_at(&bytes(4 << 20, 1), 0).unwrap();
        assert!(blocks() >= 4 << 20);
        if !made(file.punch_hole(1 << 20..3 << 20)) {
            return println!("skipped: {}: no holes", path.display());
        }
        assert!(blocks() <= 3 << 20, "{}", blocks());
        assert_eq!(file.seek_hole(0).unwrap(), Some(1 << 20));
        assert_eq!(file.seek_data(1 << 20).unwrap(), Some(3 << 20));
        file.reserve(4 << 20..8 << 20).unwrap();
        assert!(blocks() >= 6 << 20, "{}", blocks());
        assert_eq!(file.stamp().unwrap().len, 4 << 20);
    });
}

/// Linux drops pages written with `DontCache` when they are on the device; for a moment one `lseek` calls such data a hole.
#[test]
fn data_is_never_reported_as_a_hole() {
    let time = Duration::from_secs(if runs_all("15 s of queries during writeback") { 15 } else { 1 });
    everywhere(|directory| {
        let file = File::create_new(directory.join("reserved")).unwrap();
        file.set_len(1 << 20).unwrap();
        let (writer, _) = file.with_cache(CachePolicy::DontCache);
        let start = Instant::now();
        while start.elapsed() < time {
            if !made(file.punch_hole(0..1 << 16)) {
                return println!("skipped: {}: no holes", directory.display());
            }
            file.reserve(0..1 << 16).unwrap();
            writer.write_all_at(&[1; 120], 20479).unwrap();
            for _ in 0..60 {
                let data = file.seek_data(18486).unwrap();
                assert!(data.is_some_and(|data| data <= 20479), "data at {data:?}");
                let hole = file.seek_hole(20479).unwrap();
                assert!(hole.is_some_and(|hole| hole >= 20599), "hole at {hole:?}");
            }
        }
    });
}

/// The position of a descriptor that was given away is another's.
#[test]
fn queries_move_no_shared_position() {
    use std::io::{Seek, SeekFrom};
    everywhere(|directory| {
        let file = File::open(filled(directory, 100_000, 1).0).unwrap();
        let mut given_away = fs::File::try_from(&file).unwrap();
        given_away.seek(SeekFrom::Start(5)).unwrap();
        let query = |_| assert_eq!(file.seek_hole(50_000).unwrap(), Some(100_000));
        fullbore_testkit::meanwhile(query, || {
            for _ in 0..20_000 {
                assert_eq!(given_away.stream_position().unwrap(), 5);
            }
        });
    });
}

#[test]
fn impossible_ranges_and_operations_are_errors() {
    everywhere(|directory| {
        let path = directory.join("wrong");
        let file = File::create_new(&path).unwrap();
        #[expect(clippy::reversed_empty_ranges)]
        let backwards = 5..3;
        assert_eq!(file.reserve(backwards.clone()).unwrap_err().kind(), ErrorKind::Invalid);
        assert_eq!(file.punch_hole(backwards).unwrap_err().kind(), ErrorKind::Invalid);
        let without_space = file.reserve(0..1 << 50).unwrap_err().kind();
        // Wine reserves nothing.
        let refused = cfg!(windows) && without_space == ErrorKind::Unsupported;
        assert!(refused || without_space == ErrorKind::NoSpace, "{without_space:?}");
        assert_eq!(file.stamp().unwrap().len, 0);
        file.punch_hole(7..7).unwrap();
        assert_eq!(file.seek_data(u64::MAX).unwrap(), None);
        assert!(File::open(&path).unwrap().set_len(1).is_err());
    });
    let null = File::open(NULL).unwrap();
    assert_eq!(null.seek_data(0).unwrap_err().kind(), ErrorKind::Unsupported);
    // Linux looks at the access first.
    let reserved = null.reserve(0..1).unwrap_err().kind();
    assert_eq!(reserved, if cfg!(windows) { ErrorKind::Unsupported } else { ErrorKind::Io });
}
