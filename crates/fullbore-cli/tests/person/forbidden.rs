//! io_uring forbidden by a sandbox, as in containers, although the kernel supports it.

use crate::support::*;
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, apply_filter};

/// `io_uring_setup(2)`: the same number on every architecture.
const IO_URING_SETUP: i64 = 425;

/// Runs a command in a sandbox that forbids io_uring: the filter applies to its own thread and its children.
fn sandboxed(mut command: Command) -> Finished {
    let confined = move || {
        let filter = SeccompFilter::new(
            BTreeMap::from([(IO_URING_SETUP, vec![])]),
            SeccompAction::Allow,
            SeccompAction::Errno(1),
            std::env::consts::ARCH.try_into().unwrap(),
        );
        let program: BpfProgram = filter.unwrap().try_into().unwrap();
        apply_filter(&program).unwrap();
        run(&mut command)
    };
    thread::spawn(confined).join().unwrap()
}

#[test]
fn a_forbidden_io_uring_is_refused_with_the_reason_or_replaced() {
    let dir = TestDir::new();
    let data = bytes(3_000_001, 6);
    let input = dir.file("in", &data);
    let sandboxed = |words: &str| sandboxed(dir.command(words));
    let probed = sandboxed("probe in").succeeds().text();
    let line = probed.lines().find(|line| line.trim_start().starts_with("uring")).unwrap();
    assert!(line.contains("forbidden here (seccomp"), "{line}");

    sandboxed("transform upper in out --strategy method=uring").fails(2, &["uring", "forbidden here"]);
    assert_eq!(dir.names(), ["in"]);

    // The asynchronous members of the family use io_uring where that works.
    for name in ["auto", "cci-ov", "cci-ex"] {
        let ended = sandboxed(&format!("transform upper in out --strategy {name} --explain")).succeeds();
        assert!(name == "auto" || ended.stderr.contains("uring"), "{name}: {ended}");
        assert!(dir.read("out") == data.to_ascii_uppercase(), "{name}");
    }

    // For cold input, `auto` would choose io_uring.
    let file = File::open(&input).unwrap();
    file.sync_all().unwrap();
    rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed).unwrap();
    sandboxed("transform none in /dev/null --explain").succeeds();
}
