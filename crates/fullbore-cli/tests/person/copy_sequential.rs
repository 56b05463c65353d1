//! Sources and targets of `copy` that are read or written in order: pipes, devices, files made by the kernel.

use crate::support::*;

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
