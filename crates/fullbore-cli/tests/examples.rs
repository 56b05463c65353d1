//! The example programs: an operation of a few lines handles files, pipes, stripes, order and the common flags.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;
use std::time::SystemTime;

/// Returns the directory of the examples. `cargo test` builds them; `cargo test --test examples` would run old ones, so they are built
/// if a source is newer. Under Wine there is no cargo, and the caller builds them.
fn built() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let binary = std::path::absolute(env!("CARGO_BIN_EXE_fullbore")).unwrap();
        let directory = binary.parent().unwrap();
        let examples = directory.join("examples");
        let modified = |path: &Path| path.metadata().and_then(|metadata| metadata.modified()).ok();
        let oldest = ["byte_histogram", "csv_column_sum", "line_lengths"]
            .map(|name| modified(&examples.join(program(name))))
            .into_iter()
            .min()
            .unwrap();
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        if cfg!(unix) && newest(sources).is_none_or(|newest| oldest.is_none_or(|oldest| oldest <= newest)) {
            let profile =
                directory.file_name().and_then(|name| name.to_str()).unwrap().replace("debug", "dev");
            let arguments = ["build", "--quiet", "-p", "fullbore-cli", "--examples", "--profile", &profile];
            assert!(Command::new(env!("CARGO")).args(arguments).status().unwrap().success());
        }
        examples
    })
}

fn program(name: &str) -> String {
    format!("{name}{}", std::env::consts::EXE_SUFFIX)
}

/// Returns the time of the last modification of a source file below a directory.
fn newest(directory: &Path) -> Option<SystemTime> {
    let entries = std::fs::read_dir(directory).unwrap().map(Result::unwrap);
    entries
        .filter_map(|entry| match entry.file_type().unwrap().is_dir() {
            true => newest(&entry.path()),
            false => entry.metadata().unwrap().modified().ok(),
        })
        .max()
}

/// Runs the example of this name without a profile, with `input` through a pipe.
fn run(name: &str, arguments: &[&str], input: &[u8]) -> Output {
    let mut child = Command::new(built().join(program(name)))
        .args(arguments)
        .env("XDG_CONFIG_HOME", Path::new("/nonexistent"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut pipe = child.stdin.take().unwrap();
    let input = input.to_vec();
    let feeder = std::thread::spawn(move || drop(pipe.write_all(&input)));
    let output = child.wait_with_output().unwrap();
    feeder.join().unwrap();
    output
}

/// A table of numbers and words, longer than one worker processes alone.
fn table() -> String {
    (0..300_000)
        .map(|row: u32| format!("{},{}.25,{}\n", "x".repeat(row as usize % 9), row, row % 7))
        .collect()
}

fn saved(directory: &tempfile::TempDir, name: &str, text: &[u8]) -> PathBuf {
    let path = directory.path().join(name);
    std::fs::write(&path, text).unwrap();
    path
}

fn shown(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[test]
fn a_histogram_counts_every_byte() {
    let directory = tempfile::tempdir().unwrap();
    let text = table();
    let path = saved(&directory, "table", text.as_bytes());
    let mut counts: BTreeMap<u8, u64> = BTreeMap::new();
    text.bytes().for_each(|byte| *counts.entry(byte).or_default() += 1);
    let lines: String = counts.iter().map(|(byte, count)| format!("{byte:3} {count}\n")).collect();
    for workers in ["1", "3"] {
        let output = run("byte_histogram", &["--workers", workers, path.to_str().unwrap()], b"");
        assert_eq!(shown(&output), format!("{}:\n{lines}", path.display()));
        let output = run("byte_histogram", &["--workers", workers], text.as_bytes());
        assert_eq!(shown(&output), format!("-:\n{lines}"));
    }
}

#[test]
fn line_lengths_do_not_depend_on_cuts() {
    let directory = tempfile::tempdir().unwrap();
    let text = format!("{}no newline", table());
    let path = saved(&directory, "table", text.as_bytes());
    let mut lengths: BTreeMap<usize, u64> = BTreeMap::new();
    text.lines().for_each(|line| *lengths.entry(line.len()).or_default() += 1);
    let lines: String = lengths.iter().map(|(length, count)| format!("{length:6} {count}\n")).collect();
    let arguments = ["--strategy", "request=5000,workers=4", path.to_str().unwrap(), "-"];
    let output = run("line_lengths", &arguments, text.as_bytes());
    assert_eq!(shown(&output), format!("{}:\n{lines}-:\n{lines}", path.display()));
}

#[test]
fn column_is_summed_in_file_order() {
    let directory = tempfile::tempdir().unwrap();
    let big = saved(&directory, "big", table().as_bytes());
    let small = saved(&directory, "small", b"a,1.5\nb,-2.75\nc,none\n");
    let missing = directory.path().join("missing");
    let paths = [&big, &missing, &small].map(|path| path.to_str().unwrap());
    let output = run("csv_column_sum", &[&["--column", "2", "--explain"], &paths[..]].concat(), b"");
    let cents: u64 = (0..300_000u64).map(|row| row * 100 + 25).sum();
    let expected = format!(
        "{}.{:02} {} (0 lines without a number)\n-1.25 {} (1 lines without a number)\n",
        cents / 100,
        cents % 100,
        paths[0],
        paths[2]
    );
    assert_eq!(String::from_utf8_lossy(&output.stdout), expected);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("missing: cannot open"), "{said}");
    // Windows does not report the state of the page cache.
    assert!(cfg!(windows) || said.contains("% of the input is in the page cache"), "{said}");
}
