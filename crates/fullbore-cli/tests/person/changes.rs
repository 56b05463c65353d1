//! A file that is truncated or modified while being read: an error of its own, for every method, and no result.

use crate::support::*;
use fullbore::file::File as Mapped;

/// Strategies besides the named ones and the methods.
const MORE: [&str; 3] =
    ["method=uring,depth=8,cache=direct", "method=mmap,window=1M", "method=vectored,depth=4"];

/// Many times the capacity of a pipe and all requests in flight.
const LENGTH: usize = 24 << 20;

#[test]
fn truncated_input_is_an_error_on_a_pipe() {
    let dir = TestDir::new();
    let data = bytes(LENGTH, 1);
    for strategy in strategies(&MORE) {
        let input = dir.file("in", &data);
        let mut running =
            start_unread(&mut dir.command(&format!("transform none in - --strategy {strategy}")));
        let mut out = running.child.stdout.take().unwrap();
        // The first bytes have arrived, so the read has begun; the full pipe prevents it from completing.
        let mut first = [0; 100];
        let mut refused_by_system = false;
        if out.read_exact(&mut first).is_ok() {
            let truncated = File::options().write(true).open(&input).unwrap().set_len(100_000);
            // Windows does not truncate a mapped file.
            refused_by_system =
                cfg!(windows) && truncated.as_ref().is_err_and(|error| error.raw_os_error() == Some(1224));
            assert!(refused_by_system || truncated.is_ok(), "{strategy}: {truncated:?}");
        }
        let mut rest = Vec::new();
        out.read_to_end(&mut rest).unwrap();
        let ended = running.end();
        if refused_by_system {
            assert_eq!(rest.len(), LENGTH - first.len(), "{strategy}: {ended}");
        }
        if refused_by_system || refused(&ended) {
            continue;
        }
        assert!(rest.len() < LENGTH, "{strategy}");
        ended.fails(3, &["in: cannot", "while"]);
    }
}

// Runs that a signal pauses.
#[cfg(unix)]
#[test]
fn truncated_input_leaves_the_old_output() {
    let dir = TestDir::new();
    let data = bytes(LENGTH, 2);
    let shifted: Vec<u8> = data.iter().map(|byte| byte.wrapping_add(1)).collect();
    for strategy in strategies(&MORE) {
        let words = format!("transform shift:1 in out --strategy {strategy}");
        let input = dir.file("in", &data);
        let begin = Instant::now();
        dir.run(&words);
        let undisturbed = begin.elapsed();
        // Truncates at different moments, until one of them is in the middle of a run.
        let met = (0..40u32).any(|attempt| {
            dir.file("in", &data);
            dir.file("out", "old");
            let running = start(&mut dir.command(&words));
            sleep(undisturbed.mul_f64((0.5 + f64::from(attempt * 7 % 10)) / 10.0));
            running.signal(Signal::STOP);
            File::options().write(true).open(&input).unwrap().set_len(5000).unwrap();
            running.signal(Signal::CONT);
            let ended = running.end();
            let found = dir.read("out");
            assert_eq!(dir.names(), ["in", "out"], "{strategy}");
            if ended.code() == 0 {
                // The run began after the truncation, or ended before it.
                assert!(found == shifted || found == shifted[..5000], "{strategy}");
                return false;
            }
            assert_eq!(found, b"old", "{strategy}");
            if !refused(&ended) {
                ended.fails(3, &["in: cannot", "while"]);
            }
            true
        });
        assert!(met, "{strategy}: no truncation hit the middle of a run");
    }
}

#[test]
fn modified_input_is_an_error() {
    let dir = TestDir::new();
    let data = bytes(64 << 20, 3);
    for (words, from, told) in [
        ("transform none in -", 9, &["in: cannot", "modified"][..]),
        ("copy --reflink=never --workers 1 in out", 9, &["in': modified while"]),
        // Both are equal up to the end of the pipe.
        ("cmp - in", 64 << 20, &["cmp: ", "in", "modified while"]),
    ] {
        // A run may end before the first change.
        let mut all = (0..10).map(|_| {
            let input = dir.file("in", &data);
            let change = |number: u64| {
                write_at(&input, b"x", from + number);
                sleep(Duration::from_millis(2));
            };
            meanwhile(change, || run_with(&mut dir.command(words), &data))
        });
        let ended = all.find(|ended| ended.code() != 0);
        ended.expect("no change fell into a run").fails(3, told);
    }
    // In place, the run itself modifies the file.
    dir.run("transform shift:1 --in-place in").succeeds();
}

/// Each read is delayed, so that a change that keeps the length falls between the first byte and the last.
// `strace`.
#[cfg(target_os = "linux")]
#[test]
fn modified_small_input_is_an_error() {
    let dir = TestDir::new();
    let input = dir.file("in", bytes(100_000, 4));
    fs::copy(&input, dir.at("other")).unwrap();
    let change = |number: u64| {
        write_at(&input, &number.to_le_bytes(), 90_000);
        sleep(Duration::from_millis(2));
    };
    let calls = "read,pread64,preadv2";
    let delay = format!("inject={calls}:delay_exit=200000:when=1+");
    let (path, calls) = (input.to_str().unwrap(), format!("trace={calls}"));
    let options = ["-P", "in", "-P", "./in", "-P", path, "-e", &calls, "-e", &delay];
    for words in [
        "wc -l in",
        "sum in",
        "sum -a sha256 in",
        "grep -c x in",
        "grep -r -c x .",
        // The file is left out.
        "dedupe in other",
        "copy --reflink=never in out",
        "transform upper in out",
        // Standard input, also where only the rest of it is read.
        "grep -c x <in",
        "wc -l <in; dd bs=10 count=1 of=/dev/null status=none",
        "sum -a sha256 <in; dd bs=10 count=1 of=/dev/null status=none",
        "transform upper - out <in; dd bs=10 count=1 of=/dev/null status=none",
    ] {
        let command = match words.split_once(" <in") {
            Some((words, before)) => dir.shell_command(&format!("exec <in{before}; exec \"$0\" {words}")),
            None => dir.command(words),
        };
        let Some(mut command) = traced(&options, NULL.as_ref(), &command) else { return };
        let (code, name) = if words == "dedupe in other" { (1, "in: ") } else { (3, "") };
        meanwhile(change, || run_with(&mut command, b"")).fails(code, &[name, "modified while"]);
        assert!(!dir.at("out").exists(), "{words:?}");
    }
}

/// Stores to a page that is already dirty do not update the modification time.
#[test]
fn verified_copy_detects_changes_through_a_mapping() {
    const LENGTH: u64 = 24 << 20;
    let dir = TestDir::new();
    let path = dir.file("in", bytes(LENGTH as usize, 5));
    let file = Mapped::open_write(&path).unwrap();
    let mut first = file.map_writable(0..8).unwrap();
    let mut last = file.map_writable(LENGTH - 8..LENGTH).unwrap();
    for options in ["--verify", "--verify --resume"] {
        let mut command = dir.command(&format!("copy --reflink=never {options} in out"));
        let change = |number: u64| {
            first.write_all_at(&number.to_le_bytes(), 0).unwrap();
            last.write_all_at(&number.to_le_bytes(), 0).unwrap();
        };
        meanwhile(change, || run_with(&mut command, b"")).fails(3, &["modified while"]);
        assert!(!dir.at("out").exists(), "{options:?}");
    }
    let source = fs::read(&path).unwrap();
    dir.run("copy --reflink=never --verify in out").succeeds();
    assert!(dir.read("out") == source);
}
