//! The trees of files: sources to search, many small files to copy and hash, and files of which some are equal.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use fullbore_bench::stats::Xoshiro256;

use super::harness::Attempt;
use super::text::{LINE, Lines};

const WIDTH: usize = 40;

/// The name of a file of a tree, relative to its root. Every name has the same length, so none is part of another.
pub(crate) fn name(index: usize, ending: &str) -> PathBuf {
    PathBuf::from(format!("{:04}/{index:05}{ending}", index / WIDTH))
}

/// Writes a file of a tree. A directory that was removed, as by an interruption, is not created again.
fn put(root: &Path, name: &Path, content: &[u8]) -> Attempt<()> {
    let path = root.join(name);
    if let Some(parent) = path.parent()
        && !parent.exists()
    {
        fs::create_dir(parent)?;
    }
    Ok(fs::File::create_new(path)?.write_all(content)?)
}

/// A source tree with marks of a repository: `.git`, and a `.gitignore` for the few logs among the sources.
pub(crate) fn sources(root: &Path, files: usize, seed: u64) -> Attempt<()> {
    const ENDINGS: [&str; 8] = [".rs", ".rs", ".rs", ".c", ".h", ".py", ".md", ".js"];
    fs::create_dir(root)?;
    // A directory above the tree may ignore it; a repository has its own rules.
    fs::create_dir(root.join(".git"))?;
    fs::write(root.join(".git/HEAD"), "ref: refs/heads/main\n")?;
    fs::write(root.join(".gitignore"), "*.log\n")?;
    let (mut dice, mut lines) = (Xoshiro256::seeded(seed), Lines::new(seed));
    let mut block = vec![0; LINE * 1024];
    for index in 0..files {
        let ending = if dice.below(50) == 0 { ".log" } else { ENDINGS[dice.below(ENDINGS.len())] };
        // From 1 to 1024 lines, every order of magnitude alike.
        let count = 2f64.powf(dice.unit() * 10.0) as usize;
        let block = &mut block[..LINE * count];
        lines.fill(block);
        put(root, &name(index, ending), &source(block, &mut dice))?;
    }
    Ok(())
}

/// Gives prose the shape of a program: lines of varying length, indented, that end like statements.
fn source(prose: &[u8], dice: &mut Xoshiro256) -> Vec<u8> {
    const ENDS: [&[u8]; 6] = [b";", b" {", b",", b");", b"", b" = 0;"];
    let mut text = Vec::with_capacity(prose.len());
    for line in prose.chunks_exact(LINE) {
        if dice.below(8) == 0 {
            text.push(b'\n');
            continue;
        }
        text.extend_from_slice(&b"                "[..4 * dice.below(5)]);
        text.extend_from_slice(&line[..20 + dice.below(LINE - 21)]);
        text.extend_from_slice(ENDS[dice.below(ENDS.len())]);
        text.push(b'\n');
    }
    text
}

/// Small files of random bytes, 64 bytes to 8 KiB.
pub(crate) fn crowd(root: &Path, files: usize, seed: u64) -> Attempt<()> {
    fs::create_dir(root)?;
    let mut dice = Xoshiro256::seeded(seed);
    for index in 0..files {
        let len = 64 << dice.below(7);
        let content = random(len + dice.below(len), &mut dice);
        put(root, &name(index, ""), &content)?;
    }
    Ok(())
}

pub(crate) fn names(count: usize) -> impl Iterator<Item = PathBuf> {
    (0..count).map(|index| name(index, ""))
}

/// Files, some of them equal. One in three is a copy of an earlier one; one in ten is an earlier one with another last byte,
/// which only its content distinguishes. One in a hundred is large, `large` bytes of all of them together.
///
/// Returns for each file true if another is equal to it.
pub(crate) fn doubles(root: &Path, files: usize, large: u64, seed: u64) -> Attempt<Vec<bool>> {
    fs::create_dir(root)?;
    let mut dice = Xoshiro256::seeded(seed);
    let large = (large as usize / (files / 100).max(1)).max(64 << 10);
    // By index: start of its content, its length, and the difference of its last byte.
    let mut contents: Vec<(u64, usize, u8)> = Vec::with_capacity(files);
    for index in 0..files {
        let fresh = |dice: &mut Xoshiro256| {
            let len = if dice.below(100) == 0 { large } else { 256 << dice.below(6) };
            (dice.next_u64(), len, 0)
        };
        let content = match dice.below(30) {
            0..10 if index > 0 => contents[dice.below(index)],
            10..13 if index > 0 => {
                let (seed, len, change) = contents[dice.below(index)];
                (seed, len, change.wrapping_add(1 + dice.below(200) as u8))
            }
            _ => fresh(&mut dice),
        };
        let (seed, len, change) = content;
        let mut bytes = random(len, &mut Xoshiro256::seeded(seed));
        bytes[len - 1] ^= change;
        put(root, &name(index, ""), &bytes)?;
        contents.push(content);
    }
    let mut counts = std::collections::HashMap::new();
    contents.iter().for_each(|content| *counts.entry(content).or_insert(0) += 1);
    Ok(contents.iter().map(|content| counts[content] > 1).collect())
}

fn random(len: usize, dice: &mut Xoshiro256) -> Vec<u8> {
    let mut bytes: Vec<u8> =
        std::iter::repeat_with(|| dice.next_u64().to_le_bytes()).take(len.div_ceil(8)).flatten().collect();
    bytes.truncate(len);
    bytes
}
