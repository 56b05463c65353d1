//! Transfers of all lengths at all offsets on or next to a boundary.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use fullbore_io::file::File;

use crate::subject::{Subject, each};
use fullbore_testkit::ground::bytes;

/// Returns positions around 0, the file's alignment, pages and `end`, in bytes.
fn places(path: &Path, end: usize) -> BTreeSet<usize> {
    let alignment = File::open(path).unwrap().direct_alignment();
    let page = fullbore_io::sys::page_size();
    [0, 1, 512, alignment, page, 2 * page, end]
        .into_iter()
        .flat_map(|place| [place.saturating_sub(1), place, place + 1])
        .collect()
}

/// Reads until `data` is full or the file ends.
fn read_on(file: &dyn Subject, data: &mut [u8], offset: usize) -> usize {
    let mut read = 0;
    while read < data.len() {
        match file.read_at(&mut data[read..], (offset + read) as u64).unwrap() {
            0 => break,
            count => read += count,
        }
    }
    read
}

const ENDS: [usize; 6] = [0, 1, 511, 4096, 4097, 9000];

#[test]
fn reads_of_every_length_at_every_offset() {
    each(|directory, interface| {
        let path = directory.join("file");
        for end in ENDS {
            let model = bytes(end, end as u64);
            fs::write(&path, &model).unwrap();
            let file = interface.open(&path).unwrap();
            assert_eq!(file.len().unwrap(), end as u64);
            for offset in places(&path, end) {
                for len in places(&path, end) {
                    let name = || format!("{} {len} bytes at {offset} of {end}", interface.name());
                    let expected = &model[offset.min(end)..(offset + len).min(end)];
                    let mut data = vec![0xa5; len];
                    assert_eq!(read_on(&*file, &mut data, offset), expected.len(), "{}", name());
                    assert!(data[..expected.len()] == *expected, "{}", name());
                    // A single read returns at least one byte if there is any.
                    let count = file.read_at(&mut data, offset as u64).unwrap();
                    assert!(count > 0 || expected.is_empty(), "{}", name());
                    assert!(count <= expected.len() && data[..count] == expected[..count], "{}", name());
                    let mut data = vec![0xa5; len];
                    match file.read_exact_at(&mut data, offset as u64) {
                        Ok(()) => assert!(data == expected, "{}", name()),
                        Err(error) => {
                            assert!(expected.len() < len, "{}: {error}", name());
                            assert_eq!(error.kind(), fullbore_io::error::ErrorKind::Changed, "{}", name());
                        }
                    }
                }
            }
        }
    });
}

#[test]
fn writes_of_every_length_at_every_offset() {
    each(|directory, interface| {
        let path = directory.join("file");
        let source = bytes(20_000, 7);
        for end in ENDS {
            let old = bytes(end, end as u64);
            fs::write(&path, &old).unwrap();
            let file = interface.open_write(&path).unwrap();
            let mut model = old.clone();
            for (round, offset) in places(&path, end).into_iter().enumerate() {
                for len in places(&path, end) {
                    let name = || format!("{} {len} bytes at {offset} of {end}", interface.name());
                    let data = &source[(round * 31 + len) % 5000..][..len];
                    // Writes beyond the end too; truncation makes holes and new blocks recur.
                    if model.len() > end + 4096 {
                        fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(end as u64).unwrap();
                        model.truncate(end);
                    }
                    if round % 2 == 0 {
                        file.write_all_at(data, offset as u64).unwrap();
                    } else {
                        let mut written = 0;
                        while written < len {
                            let at = (offset + written) as u64;
                            let count = file.write_at(&data[written..], at).unwrap();
                            assert!((1..=len - written).contains(&count), "{}", name());
                            written += count;
                        }
                    }
                    if len > 0 {
                        model.resize(model.len().max(offset + len), 0);
                        model[offset..offset + len].copy_from_slice(data);
                    }
                    assert!(fs::read(&path).unwrap() == model, "{}", name());
                }
            }
            file.sync_data().unwrap();
            file.sync_all().unwrap();
            assert!(fs::read(&path).unwrap() == model);
        }
    });
}

#[test]
fn an_empty_buffer_transfers_nothing() {
    each(|directory, interface| {
        let path = directory.join("file");
        fs::write(&path, b"bytes").unwrap();
        let file = interface.open_write(&path).unwrap();
        for offset in [0, 1, 5, 6, 4096, 1 << 40] {
            assert_eq!(file.read_at(&mut [], offset).unwrap(), 0);
            file.read_exact_at(&mut [], offset).unwrap();
            assert_eq!(file.write_at(&[], offset).unwrap(), 0);
            file.write_all_at(&[], offset).unwrap();
            assert_eq!(file.read_vectored_at(&mut [], offset).unwrap(), 0);
            file.write_all_vectored_at(&[], offset).unwrap();
            file.write_all_vectored_at(&[vec![], vec![]], offset).unwrap();
        }
        assert_eq!(fs::read(&path).unwrap(), b"bytes", "{}", interface.name());
    });
}
