//! Sources and targets of `copy` that are read or written in order: pipes, devices, files made by the kernel.

use crate::support::*;

#[test]
fn a_copy_of_a_pipe_cannot_be_resumed() {
    let dir = TestDir::new();
    let ended = run_with(&mut dir.command("copy --resume /dev/stdin target"), b"bytes");
    ended.fails(1, &["cannot resume '/dev/stdin'", "a pipe cannot be read again"]);
    assert!(dir.names().is_empty());
    dir.run("copy --resume /proc/self/status target").succeeds();
    assert!(!dir.read("target").is_empty());
}

/// The summary does not become part of the copied bytes.
#[test]
fn summary_is_on_standard_error_if_the_target_is_standard_output() {
    let dir = TestDir::new();
    dir.file("source", "bytes");
    for target in ["/dev/stdout", "/dev/fd/1"] {
        let ended = dir.shell(&format!("$0 copy --json source {target} | cat")).succeeds();
        assert_eq!(ended.text(), "bytes", "{target}");
        let summary: Value = serde_json::from_str(&ended.stderr).unwrap();
        assert_eq!(summary["copy"]["copied"], 5, "{target}");
    }
    // An ordinary name.
    assert_eq!(dir.run("copy --json source -").succeeds().json()["copy"]["copied"], 5);
}
