//! Transfers of all lengths at all offsets on or next to a boundary; scattered and gathered ones; from several threads, which have
//! no shared position that another could move.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use fullbore_io::error::ErrorKind;
use fullbore_io::file::File;
use fullbore_testkit::ground::{bytes, write_file};

use crate::subject::{Subject, each};

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
                            assert_eq!(error.kind(), ErrorKind::UnexpectedEof, "{}", name());
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

/// Longer than a bounce buffer.
#[test]
fn long_transfers_within_a_file_move_every_byte() {
    each(|directory, interface| {
        let path = directory.join("file");
        let mut model = bytes(300_000, 6);
        fs::write(&path, &model).unwrap();
        let file = interface.open_write(&path).unwrap();
        for (offset, len) in [(0, 4096), (1, 4096), (4095, 2), (8192, 65_536), (123_456, 100_001)] {
            let mut data = vec![0; len];
            file.read_exact_at(&mut data, offset as u64).unwrap();
            assert!(data == model[offset..offset + len], "{} {len} bytes at {offset}", interface.name());
            data.iter_mut().for_each(|byte| *byte ^= 0x55);
            model[offset..offset + len].copy_from_slice(&data);
            file.write_all_at(&data, offset as u64).unwrap();
        }
        assert!(fs::read(&path).unwrap() == model, "{}", interface.name());
    });
}

#[test]
fn an_empty_buffer_transfers_nothing() {
    each(|directory, interface| {
        let path = write_file(directory, "file", b"bytes");
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

const THREADS: usize = 4;

#[test]
fn threads_read_and_write_their_own_parts() {
    each(|directory, interface| {
        let path = directory.join("file");
        // Adjacent parts share pages and blocks.
        let part = 700;
        let rounds = 12;
        let old = bytes(THREADS * rounds * part, 1);
        let new = bytes(old.len(), 2);
        fs::write(&path, &old).unwrap();
        let file = interface.open_write(&path).unwrap();
        std::thread::scope(|scope| {
            for thread in 0..THREADS {
                let (file, old, new, path) = (&file, &old, &new, &path);
                scope.spawn(move || {
                    for round in 0..rounds {
                        let start = (round * THREADS + thread) * part;
                        let mut read = vec![0; part];
                        file.read_exact_at(&mut read, start as u64).unwrap();
                        assert!(read == old[start..start + part], "{} {path:?} before", interface.name());
                        file.write_all_at(&new[start..start + part], start as u64).unwrap();
                        file.read_exact_at(&mut read, start as u64).unwrap();
                        assert!(read == new[start..start + part], "{} {path:?} after", interface.name());
                    }
                });
            }
        });
        assert!(fs::read(&path).unwrap() == new, "{}", interface.name());
    });
}

#[test]
fn threads_extend_one_file() {
    each(|directory, interface| {
        let path = write_file(directory, "file", b"");
        let data = bytes(THREADS * 20_011, 3);
        let file = interface.open_write(&path).unwrap();
        std::thread::scope(|scope| {
            for (thread, part) in data.chunks(20_011).enumerate() {
                let file = &file;
                scope.spawn(move || {
                    for (index, piece) in part.chunks(997).enumerate() {
                        file.write_all_at(piece, (thread * 20_011 + index * 997) as u64).unwrap();
                    }
                });
            }
        });
        assert!(fs::read(&path).unwrap() == data, "{}", interface.name());
    });
}

/// Lengths of the pieces.
const SHAPES: [&[usize]; 8] = [
    &[1],
    &[0, 1, 0],
    &[3, 0, 0, 5, 7],
    &[0, 0, 0],
    &[4096, 4096],
    &[512, 0, 4097, 1],
    &[1; 40],
    &[4095, 1, 0, 4096, 300],
];

fn cut(data: &[u8], shape: &[usize]) -> Vec<Vec<u8>> {
    let mut rest = data;
    shape
        .iter()
        .map(|&len| {
            let (part, after) = rest.split_at(len);
            rest = after;
            part.to_vec()
        })
        .collect()
}

#[test]
fn vectors_transfer_the_bytes_of_one_buffer() {
    each(|directory, interface| {
        let path = directory.join("file");
        let source = bytes(20_000, 1);
        for shape in SHAPES {
            let len: usize = shape.iter().sum();
            for offset in [0, 1, 511, 4095, 4096, 9_999, 10_000, 12_000] {
                let name = || format!("{} {shape:?} at {offset}", interface.name());
                let mut model = bytes(10_000, 2);
                fs::write(&path, &model).unwrap();
                let file = interface.open_write(&path).unwrap();
                file.write_all_vectored_at(&cut(&source, shape), offset as u64).unwrap();
                if len > 0 {
                    model.resize(model.len().max(offset + len), 0);
                    model[offset..offset + len].copy_from_slice(&source[..len]);
                }
                assert!(fs::read(&path).unwrap() == model, "{}", name());
                let mut parts = cut(&vec![0xa5; len], shape);
                file.read_exact_vectored_at(&mut parts, offset as u64).unwrap();
                assert!(parts.concat() == source[..len], "{}", name());
                let mut parts = cut(&vec![0xa5; len], shape);
                let count = file.read_vectored_at(&mut parts, offset as u64).unwrap();
                assert!(count > 0 || len == 0, "{}: empty pieces were taken for the end", name());
                assert!(parts.concat()[..count] == source[..count], "{}", name());
            }
        }
    });
}

#[test]
fn vectors_beyond_the_end_fail_or_are_short() {
    each(|directory, interface| {
        let model = bytes(5000, 3);
        let path = write_file(directory, "file", &model);
        let file = interface.open(&path).unwrap();
        let mut parts = vec![vec![0; 10], vec![], vec![0; 4990], vec![0; 1]];
        let error = file.read_exact_vectored_at(&mut parts, 0).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::UnexpectedEof, "{}: {error}", interface.name());
        assert!(error.to_string().contains("offset 5000"), "{}: {error}", interface.name());
        let mut parts = vec![vec![], vec![0; 10], vec![0; 10]];
        let count = file.read_vectored_at(&mut parts, 4995).unwrap();
        assert!((1..=5).contains(&count), "{}: {count}", interface.name());
        assert!(parts.concat()[..count] == model[4995..4995 + count]);
        assert_eq!(file.read_vectored_at(&mut parts, 5000).unwrap(), 0);
    });
}

/// More than `IOV_MAX` pieces, which is 1024: these failed in .NET for years (dotnet#108380).
#[test]
fn dotnet_108380_vectors_may_exceed_the_pieces_of_one_call() {
    each(|directory, interface| {
        let path = directory.join("file");
        // Each piece is a call on Windows.
        let many = if cfg!(windows) { 1100 } else { 5000 };
        let lengths = bytes(many, 5).into_iter().map(|byte| usize::from(byte) % 13).collect();
        for shape in [vec![3; many], lengths] {
            fs::write(&path, b"").unwrap();
            let source = bytes(shape.iter().sum(), 4);
            let file = interface.open_write(&path).unwrap();
            file.write_all_vectored_at(&cut(&source, &shape), 5).unwrap();
            assert!(fs::read(&path).unwrap()[5..] == source, "{}", interface.name());
            let mut parts = cut(&vec![0; source.len()], &shape);
            file.read_exact_vectored_at(&mut parts, 5).unwrap();
            assert!(parts.concat() == source, "{}", interface.name());
        }
    });
}
