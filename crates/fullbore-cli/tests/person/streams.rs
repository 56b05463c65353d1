//! What has no offsets: pipes, devices, sockets, files that the kernel makes up, and readers that go away.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::thread;

use rustix::fs::{CWD, Mode};

use crate::support::{TestDir, bytes, fullbore, named, run, shell, start, transform};

pub(crate) fn fifo(dir: &TestDir, name: &str) -> PathBuf {
    rustix::fs::mkfifoat(CWD, dir.at(name), Mode::from_raw_mode(0o666)).unwrap();
    dir.at(name)
}

#[test]
fn proc_files_with_zero_size_are_read() {
    let dir = TestDir::new();
    for path in ["/proc/cpuinfo", "/proc/filesystems", "/proc/self/mountinfo"] {
        let wanted = fs::read(path).unwrap();
        assert!(!wanted.is_empty());
        for strategy in ["auto", "cci", "cci-mm", "cci-ex", "method=direct"] {
            let options = ["--strategy", strategy];
            let ended = run(&mut transform("swab", path.as_ref(), &dir.at("out"), &options)).succeeds();
            assert!(ended.stdout.is_empty());
            let found = fs::read(dir.at("out")).unwrap();
            // The clock rates in it change all the time.
            assert!(found.len().abs_diff(wanted.len()) < 200, "{path} {strategy}: {} bytes", found.len());
            let back = run(&mut transform("swab", &dir.at("out"), "-".as_ref(), &[])).succeeds().text();
            assert!(back.starts_with(std::str::from_utf8(&wanted[..10]).unwrap()), "{path} {strategy}");
        }
    }
    let own = run(&mut transform("none", "/proc/self/status".as_ref(), "-".as_ref(), &[])).succeeds().text();
    assert!(own.starts_with("Name:\tfullbore\n"), "{own}");
}

#[test]
fn character_devices_are_read_and_written() {
    let dir = TestDir::new();
    let input = dir.file("in", bytes(500_000, 1));
    for strategy in named() {
        let options = ["--strategy", strategy];
        run(&mut transform("upper", &input, "/dev/null".as_ref(), &options)).succeeds();
        run(&mut transform("upper", "/dev/null".as_ref(), &dir.at("out"), &options)).succeeds();
        assert_eq!(fs::read(dir.at("out")).unwrap(), b"", "{strategy}");
    }
    run(&mut transform("upper", "/dev/null".as_ref(), "/dev/null".as_ref(), &[])).succeeds();
    run(&mut transform("upper", &input, "/dev/null".as_ref(), &["--overwrite"])).succeeds();
    let ended = shell(
        r#"set -o pipefail; "$0" transform shift:1 /dev/zero - | head -c 1000000 | md5sum; echo ${PIPESTATUS[0]}"#,
        &[],
    );
    let text = ended.succeeds().text();
    // md5sum of a million bytes of one.
    let wanted = shell(r#"head -c 1000000 /dev/zero | tr '\000' '\001' | md5sum"#, &[]).succeeds().text();
    assert_eq!(text, format!("{wanted}141\n"));
    assert!(fs::metadata("/dev/null").unwrap().len() == 0);
}

#[test]
fn full_device_is_reported() {
    let dir = TestDir::new();
    let input = dir.file("in", bytes(500_000, 2));
    run(&mut transform("upper", &input, "/dev/full".as_ref(), &[]))
        .fails(2, &["/dev/full", "No space left on device"]);
    let full = || File::options().write(true).open("/dev/full").unwrap();
    let onto_full = |mut command: std::process::Command| start(command.stdout(full())).end();
    onto_full(transform("upper", &input, "-".as_ref(), &[])).fails(2, &["standard output", "No space left"]);
    onto_full(fullbore(["gen", "1M", "-"])).fails(2, &["standard output", "No space left"]);
    onto_full(fullbore(["completions", "bash"])).fails(2, &["standard output", "No space left"]);
    onto_full(fullbore(["probe", "/"])).fails(2, &["standard output", "No space left"]);
}

#[test]
fn named_pipes_are_read_and_written() {
    let dir = TestDir::new();
    let data = bytes(1_000_001, 3);
    for strategy in named() {
        let (from, to) = (fifo(&dir, "from"), fifo(&dir, "to"));
        let mut command = transform("upper", &from, &to, &["--strategy", strategy]);
        let running = start(&mut command);
        let found = thread::scope(|scope| {
            scope.spawn(|| fs::write(&from, &data).unwrap());
            fs::read(&to).unwrap()
        });
        running.end().succeeds();
        assert!(found == data.to_ascii_uppercase(), "{strategy}");
        fs::remove_file(from).unwrap();
        fs::remove_file(to).unwrap();
    }
    assert_eq!(dir.names(), [""; 0]);
}

#[test]
fn dev_stdin_continues_at_its_offset() {
    let dir = TestDir::new();
    let input = dir.file("in", "first\nsecond\n");
    let log = dir.file("log", "old\n");
    shell(r#""$0" transform upper "$1" /dev/stdout >> "$2""#, &[&input, &log]).succeeds();
    shell(r#""$0" gen 0 /dev/stdout >> "$1""#, &[&log]).succeeds();
    shell(r#"{ read -r line; "$0" transform upper /dev/stdin -; } < "$1" >> "$2""#, &[&input, &log])
        .succeeds();
    assert_eq!(fs::read_to_string(&log).unwrap(), "old\nFIRST\nSECOND\nSECOND\n");
    let line = r#""$0" transform upper <(cat "$1") >(cat > "$2"; echo end >> "$2"); wait $!; sleep 0.2"#;
    shell(line, &[&input, &dir.at("out")]).succeeds();
    assert_eq!(fs::read_to_string(dir.at("out")).unwrap(), "FIRST\nSECOND\nend\n");
}

#[test]
fn sockets_are_refused_by_name_and_served_as_standard_streams() {
    let dir = TestDir::new();
    let input = dir.file("in", "abc");
    let _listener = UnixListener::bind(dir.at("socket")).unwrap();
    run(&mut transform("upper", &dir.at("socket"), &dir.at("out"), &[])).fails(2, &["socket"]);
    run(&mut transform("upper", &input, &dir.at("socket"), &[])).fails(2, &["socket"]);
    run(&mut fullbore(["gen", "10", dir.at("socket").to_str().unwrap()])).fails(2, &["socket"]);
    assert_eq!(dir.names(), ["in", "socket"]);
    let (mut ours, theirs) = std::os::unix::net::UnixStream::pair().unwrap();
    let mut command = fullbore(["transform", "upper", "-", "-"]);
    let end = std::os::fd::OwnedFd::from(theirs);
    command.stdin(Stdio::from(end.try_clone().unwrap())).stdout(Stdio::from(end));
    let running = start(&mut command);
    drop(command);
    ours.write_all(b"hello").unwrap();
    ours.shutdown(std::net::Shutdown::Write).unwrap();
    let mut heard = Vec::new();
    ours.read_to_end(&mut heard).unwrap();
    assert_eq!(heard, b"HELLO");
    running.end().succeeds();
}

#[test]
fn closed_pipe_ends_the_run_quietly() {
    let dir = TestDir::new();
    let input = dir.file("in", bytes(8_000_000, 4));
    let quiet = |line: &str, paths: &[&Path]| {
        let ended =
            shell(&format!("{line} | head -c 10 >/dev/null; echo ${{PIPESTATUS[0]}}"), paths).succeeds();
        assert!(ended.stderr.is_empty(), "{line}: {ended}");
        assert_eq!(ended.text().trim(), "141", "{line}");
    };
    for strategy in named() {
        quiet(&format!(r#""$0" transform upper "$1" - --strategy {strategy}"#), &[&input]);
    }
    quiet(r#""$0" gen 100M -"#, &[]);
    quiet(r#""$0" gen 100M - --strategy cci-tp"#, &[]);
    let gone = |mut command: std::process::Command| {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let ended = start(command.stdout(writer)).end();
        assert_eq!((ended.code(), ended.stderr.as_str()), (141, ""));
    };
    gone(fullbore(["completions", "bash"]));
    gone(fullbore(["probe", "/"]));
    gone(fullbore(["profile", "show"]));
    gone(transform("upper", &input, &dir.at("out"), &["--json"]));
}

#[test]
fn closed_standard_streams_are_reported() {
    let dir = TestDir::new();
    let input = dir.file("in", "abc");
    // A closed input reads as an empty one or is refused; a closed output must not become some other file.
    let ended = shell(r#""$0" transform upper - "$1" <&-"#, &[&dir.at("out")]);
    assert!([0, 2].contains(&ended.code()), "{ended}");
    let ended = shell(r#""$0" transform upper "$1" - >&-"#, &[&input]);
    assert!([0, 2].contains(&ended.code()), "{ended}");
    shell(r#""$0" transform upper "$1" "$2" >&- 2>&- <&-"#, &[&input, &dir.at("quiet")]).succeeds();
    assert_eq!(fs::read(dir.at("quiet")).unwrap(), b"ABC");
    assert_eq!(fs::read(&input).unwrap(), b"abc");
}
