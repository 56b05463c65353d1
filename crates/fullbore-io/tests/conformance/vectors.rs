//! Scattered reads and gathered writes, with empty pieces, across boundaries and the end.

use std::fs;

use fullbore_io::error::ErrorKind;

use crate::subject::each;
use fullbore_testkit::ground::bytes;

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
        let path = directory.join("file");
        let model = bytes(5000, 3);
        fs::write(&path, &model).unwrap();
        let file = interface.open(&path).unwrap();
        let mut parts = vec![vec![0; 10], vec![], vec![0; 4990], vec![0; 1]];
        let error = file.read_exact_vectored_at(&mut parts, 0).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Changed, "{}: {error}", interface.name());
        let mut parts = vec![vec![], vec![0; 10], vec![0; 10]];
        let count = file.read_vectored_at(&mut parts, 4995).unwrap();
        assert!((1..=5).contains(&count), "{}: {count}", interface.name());
        assert!(parts.concat()[..count] == model[4995..4995 + count]);
        assert_eq!(file.read_vectored_at(&mut parts, 5000).unwrap(), 0);
    });
}

/// More than `IOV_MAX`, which is 1024. Each piece is a call on Windows.
const MANY: usize = if cfg!(windows) { 1100 } else { 3000 };

/// More than `IOV_MAX` pieces, which failed in .NET for years (dotnet#108380).
#[test]
fn vectors_may_exceed_the_pieces_of_one_call() {
    each(|directory, interface| {
        let path = directory.join("file");
        fs::write(&path, b"").unwrap();
        let source = bytes(MANY * 3, 4);
        let file = interface.open_write(&path).unwrap();
        file.write_all_vectored_at(&cut(&source, &[3; MANY]), 5).unwrap();
        assert!(fs::read(&path).unwrap()[5..] == source, "{}", interface.name());
        let mut parts = vec![vec![0; 3]; MANY];
        file.read_exact_vectored_at(&mut parts, 5).unwrap();
        assert!(parts.concat() == source, "{}", interface.name());
    });
}
