//! Ctrl-C, SIGTERM and SIGKILL at any moment: the old output is intact, nothing is left behind, the exit code reports
//! the signal.

#[cfg(unix)]
use crate::streams::fifo;
use crate::support::*;

/// Long enough to be interrupted in the middle.
const LENGTH: usize = 48 << 20;

/// Delays spread over a run, more of them early, from a fixed seed.
fn delays(count: u32, longest: Duration) -> impl Iterator<Item = Duration> {
    bytes(count as usize, 99).into_iter().map(move |byte| longest.mul_f64((f64::from(byte) / 255.0).powi(2)))
}

/// Returns the duration of an undisturbed run.
fn undisturbed(input: &Path, output: &Path, strategy: &str) -> Duration {
    let start = Instant::now();
    run(&mut transform("shift:1", input, output, &["--strategy", strategy])).succeeds();
    start.elapsed()
}

// Signals; a test on Windows cannot send Ctrl-C.
#[cfg(unix)]
#[test]
fn interrupted_run_leaves_the_old_file_and_nothing_else() {
    let dir = TestDir::new();
    let data = bytes(LENGTH, 1);
    let input = dir.file("in", &data);
    let shifted: Vec<u8> = data.iter().map(|byte| byte.wrapping_add(1)).collect();
    let mut stopped = 0;
    for strategy in ["auto", "cci", "cci-mm", "cci-stdio", "cci-ex"] {
        let longest = undisturbed(&input, &dir.at("scratch"), strategy);
        fs::remove_file(dir.at("scratch")).unwrap();
        for (turn, delay) in delays(8, longest).enumerate() {
            let (signal, wanted) = if turn % 2 == 0 { (Signal::INT, 130) } else { (Signal::TERM, 143) };
            let output = dir.file("out", "old");
            let running = start(&mut dir.command(&format!("transform shift:1 in out --strategy {strategy}")));
            sleep(delay);
            running.signal(signal);
            let ended = running.end();
            let found = fs::read(&output).unwrap();
            match ended.code() {
                // The run ended before the signal.
                0 => assert!(found == shifted, "{strategy} after {delay:?}"),
                code => {
                    assert_eq!(code, wanted, "{strategy} after {delay:?}: {ended}");
                    // At the very end the new file may already have its name: then it is complete.
                    assert!(
                        found == b"old" || found == shifted,
                        "{strategy} after {delay:?}: neither old nor new"
                    );
                    stopped += u32::from(found == b"old");
                }
            }
            assert_eq!(dir.names(), ["in", "out"], "{strategy} after {delay:?}");
        }
    }
    assert!(stopped > 0, "no run was interrupted in the middle");
}

// Signals; a test on Windows cannot send Ctrl-C.
#[cfg(unix)]
#[test]
fn interrupted_run_leaves_no_new_file() {
    let dir = TestDir::new();
    for (delay, command) in
        delays(6, Duration::from_millis(150)).zip(["gen", "transform"].into_iter().cycle())
    {
        let mut command = match command {
            "gen" => fullbore(["gen", "4G", dir.at("out").to_str().unwrap()]),
            _ => transform("upper", "/dev/zero".as_ref(), &dir.at("out"), &[]),
        };
        let running = start(&mut command);
        sleep(delay);
        running.signal(Signal::INT);
        assert_eq!(running.end().code(), 130);
        assert_eq!(dir.names(), [""; 0]);
    }
}

#[test]
fn killed_run_leaves_the_old_file() {
    let dir = TestDir::new();
    let input = dir.file("in", bytes(LENGTH, 2));
    let longest = undisturbed(&input, &dir.at("scratch"), "auto");
    let new = dir.read("scratch");
    let mut killed = 0;
    for delay in delays(8, longest) {
        let output = dir.file("out", "old");
        let mut running = start(&mut dir.command("transform shift:1 in out"));
        sleep(delay);
        running.kill();
        let ended = running.end();
        let found = fs::read(&output).unwrap();
        assert!(found == b"old" || found == new, "after {delay:?}: neither old nor new");
        killed += u32::from(ended.code() == KILLED && found == b"old");
    }
    assert!(killed > 0, "no run was killed in the middle");
}

// Signals; a test on Windows cannot send Ctrl-C.
#[cfg(unix)]
#[test]
fn waiting_for_a_pipe_can_be_interrupted() {
    for (signal, wanted) in [(Signal::INT, 130), (Signal::TERM, 143), (Signal::HUP, 129)] {
        let dir = TestDir::new();
        let pipe = fifo(&dir, "pipe");
        let output = dir.file("out", "old");
        // Blocked in opening the other end.
        let running = start(&mut transform("upper", &pipe, &output, &[]));
        sleep(Duration::from_millis(100));
        running.signal(signal);
        assert_eq!(running.end().code(), wanted, "in open");
        // Blocked in reading.
        let mut running = start(&mut transform("upper", &pipe, &output, &[]));
        let mut writer = fs::OpenOptions::new().write(true).open(&pipe).unwrap();
        writer.write_all(b"some").unwrap();
        sleep(Duration::from_millis(100));
        assert!(running.alive());
        running.signal(signal);
        assert_eq!(running.end().code(), wanted, "in read");
        drop(writer);
        // Blocked in writing.
        let mut running = start_unread(&mut dir.command("transform upper /dev/zero -"));
        sleep(Duration::from_millis(100));
        assert!(running.alive());
        running.signal(signal);
        assert_eq!(running.end().code(), wanted, "in write");
        // Blocked in reading from a terminal user.
        let mut command = fullbore(["transform", "upper", "-"]);
        let running = start(command.arg(&output).stdin(Stdio::piped()));
        sleep(Duration::from_millis(100));
        running.signal(signal);
        assert_eq!(running.end().code(), wanted, "in standard input");
        assert_eq!(fs::read(&output).unwrap(), b"old");
        assert_eq!(dir.names(), ["out", "pipe"]);
    }
}

// Signals; a test on Windows cannot send Ctrl-C.
#[cfg(unix)]
#[test]
fn interrupted_in_place_change_names_the_file() {
    let dir = TestDir::new();
    let pipe = fifo(&dir, "pipe");
    let output = dir.file("out", "some old bytes");
    let running = start(&mut transform("upper", &pipe, &output, &["--overwrite"]));
    let writer = fs::OpenOptions::new().write(true).open(&pipe).unwrap();
    sleep(Duration::from_millis(100));
    running.signal(Signal::INT);
    running.end().fails(130, &["out", "part old and part new"]);
    drop(writer);
    let data = bytes(LENGTH, 3);
    let file = dir.file("file", &data);
    let mut stopped = 0;
    for delay in delays(10, Duration::from_millis(60)) {
        let before = fs::read(&file).unwrap();
        let mut command =
            fullbore(["transform", "shift:1", "--in-place", "--strategy", "request=4K,workers=1"]);
        let running = start(command.arg(&file));
        sleep(delay);
        running.signal(Signal::TERM);
        let ended = running.end();
        let after = fs::read(&file).unwrap();
        assert_eq!(after.len(), before.len());
        // Not block by block: builds with debug assertions cut writes short, and may be interrupted before the rest.
        assert!(after.iter().zip(&before).all(|(new, old)| new == old || *new == old.wrapping_add(1)));
        if ended.code() == 143 && after != before && after.iter().zip(&before).any(|(new, old)| new == old) {
            stopped += 1;
            assert!(ended.stderr.contains("part old and part new"), "{ended}");
        }
    }
    println!("{stopped} of 10 runs were interrupted in the middle");
    assert_eq!(dir.names(), ["file", "out", "pipe"]);
}
