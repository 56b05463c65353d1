//! Limits of the environment: file sizes, memory, ignored signals, closed streams, no `/proc`.

use crate::support::*;
#[test]
fn past_a_file_size_limit_it_fails_with_a_message() {
    let dir = TestDir::new();
    let input = dir.file("in", bytes(3_000_000, 1));
    let output = dir.file("out", "old");
    for strategy in named() {
        let line = format!(r#"ulimit -f 1000; "$0" transform upper "$1" "$2" --strategy {strategy}"#);
        shell(&line, &[&input, &output]).fails(2, &["out", "File too large"]);
        assert_eq!(fs::read(&output).unwrap(), b"old", "{strategy}");
    }
    shell(r#"ulimit -f 1000; "$0" gen 3M "$1""#, &[&dir.at("new")]).fails(2, &["new", "File too large"]);
    assert_eq!(dir.names(), ["in", "out"]);
}

#[test]
fn out_of_memory_fails_with_a_message() {
    let dir = TestDir::new();
    let input = dir.at("in");
    fs::File::create(&input).unwrap().set_len(1 << 30).unwrap();
    let output = dir.file("out", "old");
    let line = r#"ulimit -v 400000; "$0" transform upper "$1" "$2" --strategy cci-mm"#;
    shell(line, &[&input, &output]).fails(2, &[&system_text(12)]);
    // Each thread's stack takes so much address space that only few threads start. Those do all the work.
    let line = r#"ulimit -v 800000; RUST_MIN_STACK=250000000 "$0" transform upper "$1" - --strategy workers=256,request=4K,model=pool | cmp - "$1""#;
    File::options().write(true).open(&input).unwrap().set_len(64 << 20).unwrap();
    shell(line, &[&input]).succeeds();
    assert_eq!(fs::read(&output).unwrap(), b"old");
    assert_eq!(dir.names(), ["in", "out"]);
}

#[test]
fn closed_standard_error_is_no_failure() {
    let dir = TestDir::new();
    let data = bytes(3_000_000, 2);
    let input = dir.file("in", &data);
    let full = || fs::File::options().write(true).open("/dev/full").unwrap();
    let options = ["--explain", "--time", "--progress", "always", "--strategy", "cci-mt"];
    let said = |mut command: Command| command.stderr(full()).stdout(Stdio::null()).status().unwrap().code();
    assert_eq!(said(transform("upper", &input, &dir.at("out"), &options)), Some(0));
    assert!(dir.read("out") == data.to_ascii_uppercase());
    assert_eq!(said(transform("none", &input, "-".as_ref(), &["--json"])), Some(0));
    assert_eq!(said(transform("upper", &dir.at("missing"), &dir.at("out"), &[])), Some(2));
    assert_eq!(said(fullbore(["transform"])), Some(2));
}

#[test]
fn signals_that_were_ignored_before_stay_ignored() {
    for (name, signal) in [("HUP", Signal::HUP), ("INT", Signal::INT)] {
        let mut command = Command::new("bash");
        command.args(["-c", &format!(r#"trap '' {name}; exec "$0" transform upper - -"#)]);
        let mut running =
            start(command.arg(env!("CARGO_BIN_EXE_fullbore")).stdin(Stdio::piped()).stdout(Stdio::piped()));
        let pipe = running.child.stdin.take().unwrap();
        sleep(Duration::from_millis(300));
        running.signal(signal);
        sleep(Duration::from_millis(100));
        assert!(running.alive(), "{name}");
        drop(pipe);
        running.end().succeeds();
    }
}

/// Returns a shell line with an empty `/proc`; `None`, with the reason printed, if that is not possible.
fn without_proc(line: &str, paths: &[&std::path::Path]) -> Option<Command> {
    let possible = rustix::process::geteuid().is_root()
        && Command::new("unshare")
            .args(["--mount", "mount", "-t", "tmpfs", "none", "/proc"])
            .status()
            .is_ok_and(|s| s.success());
    if !possible {
        println!("skipped: without /proc: unshare and mount need root");
        return None;
    }
    let mut command = Command::new("unshare");
    command.args(["--mount", "bash", "-c", &format!("mount -t tmpfs none /proc && {line}")]);
    command
        .arg(env!("CARGO_BIN_EXE_fullbore"))
        .args(paths)
        .env("XDG_CONFIG_HOME", "/nonexistent")
        .stdin(Stdio::null());
    Some(command)
}

#[test]
fn without_proc_outputs_are_as_safe() {
    let dir = TestDir::new();
    let data = bytes(3_000_000, 3);
    let input = dir.file("in", &data);
    for strategy in named() {
        let output = dir.file("out", "old");
        let line = format!(r#"exec "$0" transform upper "$1" "$2" --strategy {strategy}"#);
        let Some(mut command) = without_proc(&line, &[&input, &output]) else { return };
        run(&mut command).succeeds();
        assert!(fs::read(&output).unwrap() == data.to_ascii_uppercase(), "{strategy}");
        assert_eq!(dir.names(), ["in", "out"], "{strategy}");
    }
    let output = dir.file("out", "old");
    let line = r#"ulimit -f 1000; exec "$0" transform upper "$1" "$2""#;
    run(&mut without_proc(line, &[&input, &output]).unwrap()).fails(2, &["out", "File too large"]);
    for (turn, signal) in [Signal::INT, Signal::TERM, Signal::INT].into_iter().enumerate() {
        let line = r#"exec "$0" transform upper /dev/zero "$1""#;
        let running = start(&mut without_proc(line, &[&output]).unwrap());
        // Waits for the temporary file, which has no name if run by root.
        let mut waits = 0;
        while dir.names().len() == 2 && waits < 300 {
            sleep(Duration::from_millis(1));
            waits += 1;
        }
        sleep(Duration::from_millis(20 * turn as u64));
        running.signal(signal);
        assert_eq!(running.end().code(), 128 + signal.as_raw());
        assert_eq!(dir.names(), ["in", "out"]);
    }
    assert_eq!(fs::read(&output).unwrap(), b"old");
}
