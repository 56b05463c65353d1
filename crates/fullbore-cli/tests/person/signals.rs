//! Ctrl-C and SIGTERM at any moment: the old output is intact, nothing is left behind, the exit code reports the signal.

use crate::killed::{SHIFTED, delays, undisturbed};
use crate::support::*;

#[test]
fn interrupted_run_leaves_the_old_file_and_nothing_else() {
    let dir = TestDir::new();
    let data = bytes(SHIFTED, 1);
    dir.file("in", &data);
    let shifted: Vec<u8> = data.iter().map(|byte| byte.wrapping_add(1)).collect();
    let mut stopped = 0;
    for strategy in ["auto", "cci", "cci-mm", "cci-stdio", "cci-ex"] {
        let longest = undisturbed(&dir, strategy);
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

#[test]
fn interrupted_run_leaves_no_new_file() {
    let dir = TestDir::new();
    let words = ["gen 4G out", "transform upper /dev/zero out"];
    for (delay, words) in delays(6, Duration::from_millis(150)).zip(words.into_iter().cycle()) {
        let running = start(&mut dir.command(words));
        sleep(delay);
        running.signal(Signal::INT);
        assert_eq!(running.end().code(), 130);
        assert_eq!(dir.names(), [""; 0]);
    }
}

#[test]
fn waiting_for_a_pipe_can_be_interrupted() {
    for (signal, wanted) in [(Signal::INT, 130), (Signal::TERM, 143), (Signal::HUP, 129)] {
        if fullbore::sys::is_ignored(signal.as_raw()) {
            println!(
                "skipped: {signal:?}: the caller of the tests ignores it (nohup), and so does the program"
            );
            continue;
        }
        let dir = TestDir::new();
        let pipe = dir.fifo("pipe");
        dir.file("out", "old");
        let interrupted = |mut running: RunningProgram, place: &str| {
            sleep(Duration::from_millis(100));
            assert!(running.alive(), "{place}");
            running.signal(signal);
            assert_eq!(running.end().code(), wanted, "{place}");
        };
        interrupted(start(&mut dir.command("transform upper pipe out")), "opening the other end");
        let running = start(&mut dir.command("transform upper pipe out"));
        let mut writer = File::options().write(true).open(&pipe).unwrap();
        writer.write_all(b"some").unwrap();
        interrupted(running, "reading");
        drop(writer);
        interrupted(start_unread(&mut dir.command("transform upper /dev/zero -")), "writing");
        let mut command = dir.command("transform upper - out");
        interrupted(start(command.stdin(Stdio::piped())), "reading standard input");
        assert_eq!(dir.read("out"), b"old");
        assert_eq!(dir.names(), ["out", "pipe"]);
    }
}

#[test]
fn interrupted_in_place_change_names_the_file() {
    let dir = TestDir::new();
    let pipe = dir.fifo("pipe");
    let output = dir.file("out", "some old bytes");
    let running = start(&mut transform("upper", &pipe, &output, &["--overwrite"]));
    let mut writer = fs::OpenOptions::new().write(true).open(&pipe).unwrap();
    // More than a pipe holds: the run has begun to read, so its output is open.
    writer.write_all(&bytes(4 << 20, 2)).unwrap();
    running.signal(Signal::INT);
    running.end().fails(130, &["out", "part old and part new"]);
    drop(writer);
    let data = bytes(SHIFTED, 3);
    let file = dir.file("file", &data);
    let command = || dir.command("transform shift:1 --in-place file --strategy request=4K,workers=1");
    let begin = Instant::now();
    run(&mut command()).succeeds();
    let (longest, mut stopped) = (begin.elapsed(), 0);
    // Ten moments, and more until a run is stopped in the middle.
    for (turn, delay) in delays(60, longest).enumerate() {
        if turn >= 10 && stopped > 0 {
            break;
        }
        let before = fs::read(&file).unwrap();
        let running = start(&mut command());
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
    assert!(stopped > 0, "no run was interrupted in the middle");
    assert_eq!(dir.names(), ["file", "out", "pipe"]);
}

/// Ctrl-C ends all programs of a pipeline: the input ends, but it is not complete.
#[cfg(unix)]
#[test]
fn interrupted_pipeline_yields_no_result() {
    use std::os::unix::process::CommandExt;
    if fullbore::sys::is_ignored(Signal::INT.as_raw()) {
        return println!("skipped: the caller of the tests ignores Ctrl-C, and so do the programs");
    }
    let dir = TestDir::new();
    let old = dir.file("old", "old");
    let binary = binary().display();
    for iteration in 0..40 {
        let reader = ["transform none - old", "wc -c"][iteration % 2];
        let mut shell = Command::new("sh");
        let line = format!("dd if=/dev/zero bs=64k 2>/dev/null | {binary} {reader}");
        let running =
            start(shell.args(["-c", &line]).current_dir(dir.path()).process_group(0).stdout(Stdio::piped()));
        sleep(Duration::from_millis(60));
        let group = Pid::from_raw(i32::try_from(running.child.id()).unwrap()).unwrap();
        rustix::process::kill_process_group(group, Signal::INT).unwrap();
        let ended = running.end();
        assert!(ended.stdout.is_empty(), "{reader}: {ended}");
        assert_eq!(fs::read(&old).unwrap(), b"old", "{ended}");
    }
}
