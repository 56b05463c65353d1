//! The end of the process (SIGKILL) at any moment of an atomic replacement: the file has one of its contents, complete, and leftover names beside it
//! are hidden.
//!
//! The child is this test program, which replaces a file forever if a variable of the environment is set.

use super::*;

use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::thread::sleep;

/// Variable with the child's target.
const TARGET: &str = "FULLBORE_TEST_REPLACE";
/// Duration of the test.
const TIME: Duration = Duration::from_secs(5);
/// Least number of children, which a slow system needs longer for.
const ROUNDS: u32 = 20;
/// Least number of contents seen, and the time in which a busy system must show them.
const CONTENTS: usize = 3;
const PATIENCE: Duration = Duration::from_secs(60);

/// Returns content number `number`. Its first bytes hold the number, which determines its length and all other bytes.
fn content(number: u64) -> Vec<u8> {
    let len = 200_000 + (number * 7919 % 200_000) as usize;
    let mut content: Vec<u8> = (0..len).map(|at| ((at as u64 * (number | 1)) >> 3) as u8).collect();
    content[..8].copy_from_slice(&number.to_le_bytes());
    content
}

#[test]
#[ignore = "the child of the test below; it never ends"]
fn child_that_replaces_forever() {
    let Some(target) = std::env::var_os(TARGET) else { return };
    // Not by `println`, which the test harness captures.
    std::io::stdout().write_all(b"begun\n").unwrap();
    for number in 1.. {
        let output = Output::replace(&target).unwrap();
        for (index, part) in content(number).chunks(64 << 10).enumerate() {
            output.file().write_all_at(part, (index << 16) as u64).unwrap();
        }
        let level = [Durability::None, Durability::Data, Durability::Full][number as usize % 3];
        let _ = output.commit(level).unwrap();
    }
}

#[test]
fn sigkill_at_any_moment_leaves_a_complete_file() {
    let room = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let target = write_file(room.path(), "file", content(0));
    File::open_write(&target).unwrap().sync_all().unwrap();
    let (mut rounds, mut seen) = (0u32, BTreeSet::new());
    let start = Instant::now();
    while start.elapsed() < TIME || rounds < ROUNDS || seen.len() < CONTENTS && start.elapsed() < PATIENCE {
        rounds += 1;
        let mut child = alone("killed::child_that_replaces_forever")
            .arg("--ignored")
            .env(TARGET, &target)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap().contains("begun")), "the child did not begin");
        // At any time during the first few replacements, which take longer on a busy system.
        let window = 40_000 * u64::from(rounds.div_ceil(ROUNDS));
        sleep(Duration::from_micros(2000 + u64::from(rounds) * 7919 % window));
        child.kill().unwrap();
        child.wait().unwrap();
        seen.insert(whole(&target));
        clear(room.path());
    }
    println!("{rounds} rounds, {} contents seen", seen.len());
    assert!(seen.len() >= CONTENTS, "{rounds} rounds, {seen:?}");
}

/// Returns the number of the content of `path`; fails if the content is incomplete.
fn whole(path: &Path) -> u64 {
    let found = fs::read(path).unwrap();
    let number = u64::from_le_bytes(found[..8].try_into().unwrap());
    assert!(found == content(number), "{} bytes that are not content {number}", found.len());
    number
}

/// Removes leftover names, all of which are hidden and of one form.
fn clear(directory: &Path) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if name != "file" {
            assert!(name.starts_with(".file.fullbore-"), "unexpected name {name}");
            fs::remove_file(&path).unwrap();
        }
    }
}
