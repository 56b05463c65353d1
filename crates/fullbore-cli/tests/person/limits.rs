//! Limits of the environment: file sizes, memory, ignored signals, closed streams, no `/proc`.

use crate::support::*;

#[test]
fn past_a_file_size_limit_it_fails_with_a_message() {
    let dir = TestDir::new();
    dir.file("in", bytes(3_000_000, 1));
    dir.file("out", "old");
    for strategy in named() {
        let line = format!(r#"ulimit -f 1000; "$0" transform upper in out --strategy {strategy}"#);
        dir.shell(&line).fails(2, &["out", "File too large"]);
        assert_eq!(dir.read("out"), b"old", "{strategy}");
    }
    // A limit within a block, at which direct writes end each time.
    for strategy in ["method=direct,workers=1", "method=uring,cache=direct"] {
        let line = format!(r#"ulimit -f 1001; timeout 60 "$0" transform upper in out --strategy {strategy}"#);
        let ended = dir.shell(&line);
        if !refused(&ended) {
            ended.fails(2, &["out"]);
        }
        assert_eq!(dir.read("out"), b"old", "{strategy}");
    }
    dir.shell(r#"ulimit -f 1000; "$0" gen 3M new"#).fails(2, &["new", "File too large"]);
    assert_eq!(dir.names(), ["in", "out"]);
}

#[test]
fn out_of_memory_fails_with_a_message() {
    let dir = TestDir::new();
    let input = File::create(dir.at("in")).unwrap();
    input.set_len(1 << 30).unwrap();
    dir.file("out", "old");
    let line = r#"ulimit -v 400000; "$0" transform upper in out --strategy cci-mm"#;
    dir.shell(line).fails(2, &[&system_text(12)]);
    input.set_len(64 << 20).unwrap();
    // Each thread's stack takes so much address space that only few threads start. Those do all the work.
    let line = r#"ulimit -v 800000; RUST_MIN_STACK=250000000 "$0" transform upper in - --strategy workers=256,request=4K,model=pool | cmp - in"#;
    dir.shell(line).succeeds();
    assert_eq!(dir.read("out"), b"old");
    assert_eq!(dir.names(), ["in", "out"]);
}

#[test]
fn closed_standard_error_is_no_failure() {
    let dir = TestDir::new();
    let data = bytes(3_000_000, 2);
    dir.file("in", &data);
    for (words, code) in [
        ("transform upper in out --explain --time --progress always --strategy cci-mt", 0),
        ("transform none in - --json", 0),
        ("transform upper missing out", 2),
        ("transform", 2),
    ] {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let status = dir.command(words).stderr(full).stdout(Stdio::null()).status();
        assert_eq!(status.unwrap().code(), Some(code), "{words}");
    }
    assert!(dir.read("out") == data.to_ascii_uppercase());
}

#[test]
fn signals_that_were_ignored_before_stay_ignored() {
    let dir = TestDir::new();
    for (name, signal) in [("HUP", Signal::HUP), ("INT", Signal::INT)] {
        let mut command = dir.shell_command(&format!(r#"trap '' {name}; exec "$0" transform upper - -"#));
        let mut running = start(command.stdin(Stdio::piped()).stdout(Stdio::piped()));
        let pipe = running.child.stdin.take().unwrap();
        sleep(Duration::from_millis(300));
        running.signal(signal);
        sleep(Duration::from_millis(100));
        assert!(running.alive(), "{name}");
        drop(pipe);
        running.end().succeeds();
    }
}

#[test]
fn without_proc_outputs_are_as_safe() {
    let dir = TestDir::new();
    let data = bytes(3_000_000, 3);
    dir.file("in", &data);
    for strategy in named() {
        dir.file("out", "old");
        let command = dir.command(&format!("transform upper in out --strategy {strategy}"));
        let Some(mut command) = without_proc(&command) else { return };
        run(&mut command).succeeds();
        assert!(dir.read("out") == data.to_ascii_uppercase(), "{strategy}");
        assert_eq!(dir.names(), ["in", "out"], "{strategy}");
    }
    dir.file("out", "old");
    let limited = without_proc(&dir.shell_command(r#"ulimit -f 1000; exec "$0" transform upper in out"#));
    run(&mut limited.unwrap()).fails(2, &["out", "File too large"]);
    for (turn, signal) in [Signal::INT, Signal::TERM, Signal::INT].into_iter().enumerate() {
        let running = start(&mut without_proc(&dir.command("transform upper /dev/zero out")).unwrap());
        // Waits for the temporary file, which has no name if run by root.
        let begin = Instant::now();
        while dir.names().len() == 2 && begin.elapsed() < Duration::from_millis(300) {
            sleep(Duration::from_millis(1));
        }
        sleep(Duration::from_millis(20 * turn as u64));
        running.signal(signal);
        assert_eq!(running.end().code(), 128 + signal.as_raw());
        assert_eq!(dir.names(), ["in", "out"]);
    }
    assert_eq!(dir.read("out"), b"old");
}
