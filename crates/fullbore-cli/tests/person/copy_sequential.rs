//! Sources and targets of `copy` that are read or written in order: pipes, devices, files made by the kernel.

use crate::support::*;

#[test]
fn bytes_of_pipes_and_of_the_system_are_verified() {
    let dir = TestDir::new();
    for len in [0, 5, 4 << 20, (9 << 20) + 5] {
        let data = bytes(len, 7);
        let ended = run_with(&mut dir.command("copy --verify --json /dev/stdin target"), &data).succeeds();
        let copy = &ended.json()["copy"];
        assert_eq!((&copy["copied"], &copy["verified"]), (&json!(len), &json!(len)), "{ended}");
        assert!(dir.read("target") == data, "{len}");
    }
    let copy = &dir.run("copy --verify --json /proc/self/status target").succeeds().json()["copy"];
    assert!(copy["verified"].as_u64() > Some(0) && copy["verified"] == copy["copied"], "{copy}");
}

#[test]
fn targets_that_cannot_be_read_back_are_not_verified() {
    let dir = TestDir::new();
    dir.file("source", "bytes");
    dir.fifo("fifo");
    for target in ["/dev/null", "/dev/stdout", "fifo"] {
        let line = format!("set -o pipefail; exec 3<>fifo; $0 copy --verify source {target} | cat");
        let ended = dir.shell(&line).fails(1, &[&format!("cannot verify '{target}'"), "cannot be read back"]);
        assert!(ended.stdout.is_empty(), "{ended}");
    }
}

#[test]
fn a_copy_of_a_pipe_cannot_be_resumed() {
    let dir = TestDir::new();
    let ended = run_with(&mut dir.command("copy --resume /dev/stdin target"), b"bytes");
    ended.fails(1, &["cannot resume '/dev/stdin'", "a pipe cannot be read again"]);
    assert!(dir.names().is_empty());
    dir.run("copy --resume /proc/self/status target").succeeds();
    assert!(!dir.read("target").is_empty());
}

#[test]
fn blocks_of_zeros_of_a_pipe_become_holes() {
    let dir = TestDir::new();
    let data = [bytes(8192, 1), vec![0; 4_000_000], bytes(4096, 2), vec![0; 50_000]].concat();
    dir.file("source", &data);
    dir.directories(["tree"]);
    dir.fifo("tree/fifo");
    for line in [
        "cat source | $0 copy --sparse=always --json /dev/stdin target",
        "cat source > tree/fifo & $0 copy --sparse=always --json tree/fifo target",
        "cat source > tree/fifo & $0 copy -r --copy-contents --sparse=always --json tree copy && mv copy/fifo target",
    ] {
        let ended = dir.shell(line).succeeds();
        assert!(dir.read("target") == data, "{line}");
        let copy = &ended.json()["copy"];
        assert_eq!(
            copy["copied"].as_u64().zip(copy["holes"].as_u64()).map(|(one, two)| one + two),
            Some(data.len() as u64),
            "{line}"
        );
        let blocks = fs::metadata(dir.at("target")).unwrap().blocks() * 512;
        assert!(blocks <= 64 << 10, "{line}: {blocks} bytes");
        dir.shell("rm -rf copy target").succeeds();
    }
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

/// No other file can get such a name: the bytes are written in place, as by `cp`.
#[cfg(target_os = "linux")]
#[test]
fn files_made_by_the_kernel_are_written_in_place() {
    let dir = TestDir::new();
    dir.file("source", "0x7\n");
    for target in ["/proc/$$/coredump_filter", "link"] {
        let begin = "ln -sf /proc/$$/coredump_filter link; echo 0x33 > link";
        let line = format!("{begin}; $0 copy source {target} && cat link");
        assert_eq!(dir.shell(&line).succeeds().text(), "00000007\n", "{target}");
    }
    let ended = dir.run("copy --verify source /proc/self/coredump_filter");
    ended.fails(1, &["cannot verify '/proc/self/coredump_filter'"]);
    dir.run("copy source /proc/version").fails(1, &["'/proc/version': "]);
}
