//! The example programs: an operation of a few lines handles files, pipes, stripes, order and the common flags.

use crate::support::*;
use std::sync::OnceLock;
use std::time::SystemTime;

/// Returns the directory of the examples. `cargo test` builds them; `cargo test --test person` would run old ones, so they are built
/// if a source is newer. Under Wine there is no cargo, and the caller builds them.
fn built() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let directory = binary().parent().unwrap();
        let examples = directory.join("examples");
        let modified = |path: &Path| path.metadata().and_then(|metadata| metadata.modified()).ok();
        let oldest = ["byte_histogram", "csv_column_sum", "line_lengths"]
            .map(|name| modified(&example(&examples, name)))
            .into_iter()
            .min()
            .unwrap();
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        if cfg!(unix) && newest(sources).is_none_or(|newest| oldest.is_none_or(|oldest| oldest <= newest)) {
            let profile =
                directory.file_name().and_then(|name| name.to_str()).unwrap().replace("debug", "dev");
            let mut cargo = Command::new(env!("CARGO"));
            cargo.args(["build", "--quiet", "-p", "fullbore-cli", "--examples", "--profile", &profile]);
            // A build for another system is in a directory with the name of its target.
            let parent = directory.parent().and_then(Path::file_name).and_then(|name| name.to_str());
            if let Some(target) = parent.filter(|name| name.matches('-').count() >= 2) {
                cargo.args(["--target", target]);
            }
            assert!(cargo.status().unwrap().success());
        }
        examples
    })
}

fn example(directory: &Path, name: &str) -> PathBuf {
    directory.join(format!("{name}{}", std::env::consts::EXE_SUFFIX))
}

/// Returns the time of the last modification of a source file below a directory.
fn newest(directory: &Path) -> Option<SystemTime> {
    let entries = fs::read_dir(directory).unwrap().map(Result::unwrap);
    entries
        .filter_map(|entry| match entry.file_type().unwrap().is_dir() {
            true => newest(&entry.path()),
            false => entry.metadata().unwrap().modified().ok(),
        })
        .max()
}

/// Runs the example of this name, with `input` through a pipe.
fn run(name: &str, arguments: &[&str], input: impl AsRef<[u8]>) -> Finished {
    run_with(&mut program(&example(built(), name), arguments), input.as_ref())
}

/// A table of numbers and words, longer than one worker processes alone.
fn table() -> String {
    (0..300_000)
        .map(|row: u32| format!("{},{}.25,{}\n", "x".repeat(row as usize % 9), row, row % 7))
        .collect()
}

#[test]
fn a_histogram_counts_every_byte() {
    let (dir, text) = (TestDir::new(), table());
    let path = dir.file("table", &text);
    let mut counts: BTreeMap<u8, u64> = BTreeMap::new();
    text.bytes().for_each(|byte| *counts.entry(byte).or_default() += 1);
    let lines: String = counts.iter().map(|(byte, count)| format!("{byte:3} {count}\n")).collect();
    for workers in ["1", "3"] {
        let ended = run("byte_histogram", &["--workers", workers, path.to_str().unwrap()], "").succeeds();
        assert_eq!(ended.text(), format!("{}:\n{lines}", path.display()));
        let ended = run("byte_histogram", &["--workers", workers], &text).succeeds();
        assert_eq!(ended.text(), format!("-:\n{lines}"));
    }
}

#[test]
fn line_lengths_do_not_depend_on_cuts() {
    let (dir, text) = (TestDir::new(), format!("{}no newline", table()));
    let path = dir.file("table", &text);
    let mut lengths: BTreeMap<usize, u64> = BTreeMap::new();
    text.lines().for_each(|line| *lengths.entry(line.len()).or_default() += 1);
    let lines: String = lengths.iter().map(|(length, count)| format!("{length:6} {count}\n")).collect();
    let arguments = ["--strategy", "request=5000,workers=4", path.to_str().unwrap(), "-"];
    let ended = run("line_lengths", &arguments, &text).succeeds();
    assert_eq!(ended.text(), format!("{}:\n{lines}-:\n{lines}", path.display()));
}

#[test]
fn column_is_summed_in_file_order() {
    let dir = TestDir::new();
    dir.file("big", table());
    dir.file("small", "a,1.5\nb,-2.75\nc,none\n");
    let paths = ["big", "missing", "small"].map(|name| dir.at(name).to_str().unwrap().to_owned());
    let arguments = ["--column", "2", "--explain", &paths[0], &paths[1], &paths[2]];
    let ended = run("csv_column_sum", &arguments, "").fails(2, &["missing: cannot open"]);
    let cents: u64 = (0..300_000u64).map(|row| row * 100 + 25).sum();
    let expected = format!(
        "{}.{:02} {} (0 lines without a number)\n-1.25 {} (1 lines without a number)\n",
        cents / 100,
        cents % 100,
        paths[0],
        paths[2]
    );
    assert_eq!(ended.text(), expected);
    // Windows does not report the state of the page cache.
    assert!(cfg!(windows) || ended.stderr.contains("% of the input is in the page cache"), "{ended}");
}
