//! Lengths, holes and blocks, compared with a model.

use std::fs;

use fullbore_io::error::ErrorKind;
use fullbore_io::file::{CachePolicy, File};

use crate::made;
use fullbore_testkit::ground::{NULL, bytes, everywhere};

#[test]
fn holes_and_lengths_equal_the_model() {
    everywhere(|directory| {
        for cache in [CachePolicy::Keep, CachePolicy::Direct] {
            let path = directory.join(format!("model-{cache}"));
            let (file, _) = File::create_new(&path).unwrap().with_cache(cache);
            let mut model = Vec::new();
            for step in bytes(4 * 120, 8).chunks(4) {
                let number = |index: usize| u64::from(step[index]) * 613;
                let (start, len) = (number(1), number(2) % 60_000);
                let range = start as usize..(start + len) as usize;
                let within = range.start.min(model.len())..range.end.min(model.len());
                match step[0] % 5 {
                    0 => {
                        let data = bytes(len as usize, u64::from(step[3]));
                        file.write_all_at(&data, start).unwrap();
                        if len > 0 {
                            model.resize(model.len().max(range.end), 0);
                            model[range].copy_from_slice(&data);
                        }
                    }
                    1 => {
                        file.set_len(start).unwrap();
                        model.resize(start as usize, 0);
                    }
                    2 => {
                        if made(file.punch_hole(start..start + len)) {
                            model[within].fill(0);
                        }
                    }
                    3 => match file.zero_range(start..start + len) {
                        Ok(()) => model[within].fill(0),
                        Err(error) => assert_eq!(error.kind(), ErrorKind::Unsupported),
                    },
                    _ => drop(made(file.reserve(start..start + len))),
                }
                assert!(fs::read(&path).unwrap() == model, "{path:?} after {step:?}");
                let (data, hole) = (file.seek_data(start).unwrap(), file.seek_hole(start).unwrap());
                // Only zeros may be in holes, and a hole exists exactly before the end.
                let stop = data.map_or(model.len(), |data| data as usize);
                let from = range_start(start, &model);
                assert!(model[from..stop.max(from)].iter().all(|&byte| byte == 0), "{start}: {data:?}");
                assert_eq!(hole.is_none(), start >= model.len() as u64, "{start}: {hole:?}");
                if let Some(hole) = hole {
                    assert!(hole >= start && hole <= model.len() as u64);
                }
                // The position is unchanged; `seekable_len` uses it to recognise a partly read file.
                assert_eq!(file.seekable_len().unwrap(), (!model.is_empty()).then_some(model.len() as u64));
            }
        }
    });
}

fn range_start(start: u64, model: &[u8]) -> usize {
    (start as usize).min(model.len())
}

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
