//! Every command that prints reports a closed or full standard output, with the exit code of its peer, and prints results
//! as soon as they are next.

use crate::support::*;
use std::io::{BufRead, BufReader};

/// Shell lines with commands that print, and the exit code if printing fails.
const PRINTING: &[(&str, i32)] = &[
    ("--help", 2),
    ("--version", 2),
    ("-V", 2),
    ("help", 2),
    ("completions bash", 2),
    ("completions zsh", 2),
    ("man --help", 2),
    ("bench list", 2),
    ("bench list --json", 2),
    ("bench show quick", 2),
    ("bench export --help", 2),
    ("bench run --help", 2),
    ("bench --version", 2),
    ("report --version", 2),
    ("report --help", 2),
    ("profile show", 2),
    ("profile --help", 2),
    ("probe a", 2),
    ("probe a --json", 2),
    ("probe --version", 2),
    ("wc a", 1),
    ("wc -l a b a", 1),
    ("wc --json a", 1),
    ("wc --help", 1),
    ("wc --version", 1),
    ("grep x a", 2),
    ("grep -c x a b", 2),
    ("grep --files .", 2),
    ("grep --type-list", 2),
    ("grep --json x a", 2),
    ("grep --help", 2),
    ("grep -V", 2),
    ("cmp a b", 2),
    ("cmp -l a b", 2),
    ("cmp --json a b", 2),
    ("cmp --help", 2),
    ("cmp -v", 2),
    ("cp -v a c", 1),
    ("cp --json a c", 1),
    ("cp --help", 1),
    ("cp --version", 1),
    ("sum a", 1),
    ("sum --json a", 1),
    ("sum --raw a", 1),
    ("sum --check list", 1),
    ("sum --help", 1),
    ("sum --version", 1),
    ("dedupe a a2", 2),
    ("dedupe --json a", 2),
    ("dedupe --help", 2),
    ("dedupe --version", 2),
    ("transform upper a -", 2),
    ("transform upper a c --json", 2),
    ("transform --help", 2),
    ("gen 1M -", 2),
    ("gen 10 c --json", 2),
    ("gen --version", 2),
];

fn dir() -> TestDir {
    let dir = TestDir::new();
    dir.files(["a", "a2"], "x\ny\n");
    dir.file("b", "x\nz\n");
    dir.file("list", dir.run("sum a").succeeds().stdout);
    dir
}

#[test]
fn a_closed_or_full_standard_output_is_an_error() {
    let dir = dir();
    // Windows has neither a full device nor closed streams.
    #[cfg(unix)]
    for (words, code) in PRINTING {
        let mut wrong = Vec::new();
        for (to, reason) in [("/dev/full", "No space left on device"), ("&-", "Bad file descriptor")] {
            let ended = dir.shell(&format!(r#""$0" {words} >{to}"#));
            if ended.code() != *code || !ended.stderr.contains(reason) || ended.stderr.contains("panicked") {
                wrong.push(format!("{words} >{to}: {ended}"));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
    for (words, _) in PRINTING {
        let _ = std::fs::remove_file(dir.at("c"));
        let ended = dir.run(words);
        assert!(ended.code() < 2, "{words}: {ended}");
        assert!(!ended.stdout.is_empty(), "{words}: prints nothing");
    }
}

// Closed streams, by a shell.
#[cfg(unix)]
#[test]
fn no_file_replaces_a_closed_stream() {
    let dir = dir();
    dir.shell(r#""$0" cp a c >&- <&-"#).succeeds();
    dir.shell(r#""$0" transform upper a d >&- <&- 2>&-"#).succeeds();
    assert_eq!(dir.read("c"), b"x\ny\n");
    assert_eq!(dir.read("d"), b"X\nY\n");
    for words in ["wc", "sum", "cmp - a", "transform upper - e"] {
        let ended = dir.shell(&format!(r#""$0" {words} <&-"#));
        assert!(ended.code() > 0 && ended.stderr.contains("Bad file descriptor"), "{words}: {ended}");
    }
    assert!(!Path::new(&dir.at("e")).exists());
    // By their paths, too: nothing is emptied, and no run succeeds.
    for line in [
        r#""$0" copy /dev/stdin c <&-"#,
        r#""$0" copy /dev/fd/0 e <&-"#,
        r#""$0" copy /dev/stderr c 2>&-"#,
        r#""$0" copy a /dev/stdout >&-"#,
        r#""$0" wc /dev/stdin <&-"#,
        r#""$0" sum /dev/stdin <&-"#,
        r#""$0" transform upper /dev/stdin c <&-"#,
    ] {
        let ended = dir.shell(line);
        assert!(ended.code() > 0, "{line}: {ended}");
        assert_eq!(dir.read("c"), b"x\ny\n", "{line}");
        assert!(fs::symlink_metadata(dir.at("e")).is_err(), "{line}");
    }
}

#[test]
fn character_devices_are_read_and_written() {
    let dir = TestDir::new();
    dir.file("in", bytes(500_000, 1));
    for strategy in named() {
        dir.run(&format!("transform upper in {NULL} --strategy {strategy}")).succeeds();
        dir.run(&format!("transform upper {NULL} out --strategy {strategy}")).succeeds();
        assert_eq!(dir.read("out"), b"", "{strategy}");
    }
    dir.run(&format!("transform upper {NULL} {NULL}")).succeeds();
    dir.run(&format!("transform upper in {NULL} --overwrite")).succeeds();
    assert_eq!(dir.names(), ["in", "out"]);
    #[cfg(unix)]
    {
        let line = r#"set -o pipefail; "$0" transform shift:1 /dev/zero - | head -c 1000000 | md5sum; echo ${PIPESTATUS[0]}"#;
        let text = dir.shell(line).succeeds().text();
        // md5sum of a million bytes of one.
        let wanted = dir.shell(r"head -c 1000000 /dev/zero | tr '\000' '\001' | md5sum").succeeds().text();
        assert_eq!(text, format!("{wanted}141\n"));
        assert!(fs::metadata(NULL).unwrap().len() == 0);
        dir.run("transform upper in /dev/full").fails(2, &["/dev/full", "No space left on device"]);
    }
}

#[test]
fn closed_pipe_ends_the_run_quietly() {
    let dir = TestDir::new();
    dir.file("in", bytes(8_000_000, 4));
    dir.file("f", "abc");
    let sums = format!("sum{}", " f".repeat(30_000));
    let strategies =
        named().into_iter().map(|strategy| format!("transform upper in - --strategy {strategy}"));
    let others = ["gen 100M -", "gen 100M - --strategy cci-tp"].into_iter();
    // Windows limits the length of a command line.
    let others = others.chain(["copy in /dev/stdout", sums.as_str()].into_iter().filter(|_| cfg!(unix)));
    for words in strategies.chain(others.map(str::to_owned)) {
        let mut running = start_unread(&mut dir.command(&words));
        // The reader takes ten bytes and leaves.
        let mut pipe = running.child.stdout.take().unwrap();
        pipe.read_exact(&mut [0; 10]).unwrap();
        drop(pipe);
        let ended = running.end();
        assert_eq!((ended.code(), ended.stderr.as_str()), (141, ""), "{words}");
    }
    for words in ["completions bash", "probe /", "profile show", "transform upper in out --json"] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let ended = start(dir.command(words).stdout(writer)).end();
        assert_eq!((ended.code(), ended.stderr.as_str()), (141, ""), "{words}");
    }
}

/// A process that shares the stream may have made it non-blocking, as ssh does.
#[cfg(unix)]
#[test]
fn a_full_stream_that_does_not_block_is_waited_for() {
    let dir = TestDir::new();
    let text = "a line of text\n".repeat(100_000);
    dir.file("in", &text);
    for words in ["grep line in", "transform rot13 in -"] {
        let (mut reader, writer) = std::os::unix::net::UnixStream::pair().unwrap();
        writer.set_nonblocking(true).unwrap();
        let mut command = dir.command(words);
        let running = start(command.stdout(std::os::fd::OwnedFd::from(writer)));
        drop(command);
        std::thread::sleep(std::time::Duration::from_millis(100));
        let mut output = Vec::new();
        reader.read_to_end(&mut output).unwrap();
        running.end().succeeds();
        assert_eq!(output.len(), text.len(), "{words}");
    }
}

// A named pipe: results before a slow file are printed immediately, even while workers wait for it.
#[cfg(unix)]
#[test]
fn results_before_a_slow_file_are_printed() {
    let dir = TestDir::new();
    let names: Vec<String> = (0..60).map(|number| format!("{number:02}")).collect();
    names.iter().for_each(|name| drop(dir.file(name, format!("content of {name}\n"))));
    fs::remove_file(dir.at("37")).unwrap();
    dir.fifo("37");
    for tool in ["wc -c", "sum", "sum -a crc32c", "grep content"] {
        for workers in ["1", "2", "3", "8"] {
            let mut command = dir.command(&format!("{tool} --workers {workers}"));
            let mut running = start_unread(command.args(&names));
            let mut lines = BufReader::new(running.child.stdout.take().unwrap()).lines();
            // The pipe has no writer yet. Reading the first lines is the test: otherwise it hangs.
            for (number, name) in names.iter().enumerate() {
                if number == 37 {
                    fs::write(dir.at("37"), "content at last\n").unwrap();
                }
                let line = lines.next().unwrap().unwrap();
                assert!(line.contains(name.as_str()), "{tool} {workers}: {line}");
            }
            drop(lines);
            running.end().succeeds();
        }
    }
}

#[test]
fn name_is_processed_when_it_arrives() {
    let dir = TestDir::new();
    let names = ["one", "two", "three"];
    let sums = run(fullbore(["sum"]).args(names.map(|name| dir.file(name, name)))).succeeds().text();
    let list: Vec<String> = names.iter().map(|name| format!("{}\0", dir.at(name).display())).collect();
    let claims: Vec<String> = sums.lines().map(|line| format!("{line}\n")).collect();
    for (words, said) in [(&["wc", "-c", "--files0-from=-"][..], list), (&["sum", "-c"], claims)] {
        for workers in ["1", "4"] {
            let mut command = fullbore(words);
            command.args(["--workers", workers]).stdin(Stdio::piped());
            let mut running = start_unread(&mut command);
            let mut lines = BufReader::new(running.child.stdout.take().unwrap()).lines();
            let mut input = running.child.stdin.take().unwrap();
            for (name, said) in names.iter().zip(&said) {
                input.write_all(said.as_bytes()).unwrap();
                let line = lines.next().unwrap().unwrap();
                assert!(line.contains(name), "{words:?} {workers}: {line}");
            }
            drop(input);
            lines.for_each(|line| drop(line.unwrap()));
            running.end().succeeds();
        }
    }
}
