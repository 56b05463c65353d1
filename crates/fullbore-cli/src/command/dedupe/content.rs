//! File contents: compared and hashed, skipping holes.

use fullbore::error::{Error, Result};
use fullbore::file::File;
use fullbore::operation::Fold;
use fullbore::operation::hash::{Digest, Hash};

/// Bytes per read.
const REQUEST: u64 = 1 << 20;

/// The unit in which zeros are skipped, in bytes.
const BLOCK: u64 = 4 << 10;

/// Returns the number of bytes read, and the hash of all non-zero blocks with their offsets: equal for all files of the
/// same content, however much of it is in holes.
pub(super) fn data(file: &File, len: u64) -> Result<(u64, Digest)> {
    let mut memory = vec![0; REQUEST as usize];
    let hash = Hash::default();
    let mut sum = hash.identity();
    let (mut hashed, mut read, mut at) = (0, 0, 0);
    let mut add = |bytes: &[u8]| {
        hash.block(&mut sum, hashed, bytes);
        hashed += bytes.len() as u64;
    };
    while at < len {
        let count = (len - at).min(REQUEST - at % REQUEST);
        let bytes = &mut memory[..count as usize];
        file.read_exact_at(bytes, at).map_err(Error::of_shortened)?;
        read += count;
        let mut zeros = true;
        for (number, block) in bytes.chunks(BLOCK as usize).enumerate() {
            if !is_zero(block) {
                zeros = false;
                add(&(at + number as u64 * BLOCK).to_le_bytes());
                add(block);
            }
        }
        at += count;
        if zeros {
            at = next(file, at, len)?;
        }
    }
    Ok((read, sum.digest()))
}

/// True if two files have the same bytes. Adds the number of bytes read to `read`, even if reading fails.
pub(super) fn equal(one: &File, other: &File, read: &mut u64) -> Result<bool> {
    const REQUEST: u64 = 128 << 10;
    let (mut left, mut right) = (vec![0; REQUEST as usize], vec![0; REQUEST as usize]);
    let (len, other_len) = (one.stamp()?.len, other.stamp()?.len);
    if len != other_len {
        return Ok(false);
    }
    let mut at = 0;
    while at < len {
        let count = (len - at).min(REQUEST) as usize;
        for (file, bytes) in [(one, &mut left), (other, &mut right)] {
            file.read_exact_at(&mut bytes[..count], at).map_err(Error::of_shortened)?;
            *read += count as u64;
        }
        if left[..count] != right[..count] {
            return Ok(false);
        }
        at += count as u64;
        if is_zero(&left[..count]) {
            // If neither has data, both are zeros.
            at = next(one, at, len)?.min(next(other, at, len)?);
        }
    }
    Ok(true)
}

fn is_zero(bytes: &[u8]) -> bool {
    bytes.iter().fold(0, |any, byte| any | byte) == 0
}

/// Returns the block with the next data at or after `at`; `at` is the start of a block, or the end.
fn next(file: &File, at: u64, len: u64) -> Result<u64> {
    if at >= len {
        return Ok(len);
    }
    match file.seek_data(at)? {
        Some(data) => Ok((data - data % BLOCK).clamp(at, len)),
        None => Ok(len),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(runs: &[(u64, &[u8])], len: u64) -> File {
        let directory = tempfile::tempdir().unwrap();
        let file = File::create_new(directory.path().join("file")).unwrap();
        file.set_len(len).unwrap();
        runs.iter().for_each(|(at, bytes)| file.write_all_at(bytes, *at).unwrap());
        file
    }

    #[test]
    fn holes_and_zeros_are_the_same_and_offsets_are_not() {
        let zeros = vec![0; 3 << 20];
        let files = [
            file(&[(1 << 20, b"data"), (3_000_001, b"end")], 3_000_004),
            file(&[(0, &zeros[..3_000_000]), (1 << 20, b"data"), (3_000_001, b"end")], 3_000_004),
            file(
                &[(0, &zeros[..5]), (2 << 20, &zeros[..70_000]), (1 << 20, b"data"), (3_000_001, b"end")],
                3_000_004,
            ),
            file(&[((1 << 20) + BLOCK, b"data"), (3_000_001, b"end")], 3_000_004),
            file(&[(1 << 20, b"data"), (3_000_001, b"End")], 3_000_004),
            file(&[], 3_000_004),
        ];
        for (i, one) in files.iter().enumerate() {
            for (j, other) in files.iter().enumerate() {
                let same = i == j || i < 3 && j < 3;
                assert_eq!(equal(one, other, &mut 0).unwrap(), same, "{i} {j}");
                let sums = [one, other].map(|file| data(file, 3_000_004).unwrap().1);
                assert_eq!(sums[0] == sums[1], same, "{i} {j}");
            }
        }
    }

    #[test]
    fn equal_counts_the_bytes_that_it_reads() {
        let len = 3 << 20;
        let count = |one, other| {
            let mut read = 0;
            (equal(&one, &other, &mut read).unwrap(), read >> 10)
        };
        let data = vec![1; 1 << 20];
        let first = || file(&[(0, &data)], len);
        assert_eq!(
            count(first(), file(&[(0, b"other"), (1 << 20, &data)], len)),
            (false, 2 * 128),
            "ends early"
        );
        assert_eq!(count(first(), file(&[], 2 << 20)), (false, 0), "another length");
        let (same, read) = count(first(), first());
        assert!(same && [2 * 1152, 2 * 3072].contains(&read), "{read}, with or without holes");
    }
}
