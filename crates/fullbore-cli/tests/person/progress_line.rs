//! The progress line on a terminal: results are printed in its place, and nothing of it stays.

use crate::escapes::on_a_terminal_while;
use crate::support::*;

use rustix::process::{Pid, Signal, kill_process};

/// The text that a terminal shows after this output.
fn visible(seen: &[u8]) -> String {
    let text = String::from_utf8_lossy(seen).into_owned();
    let (mut rows, mut row, mut column) = (vec![Vec::<char>::new()], 0, 0);
    let mut rest = text.as_str();
    while let Some(first) = rest.chars().next() {
        let (sequence, cleared) = match first {
            _ if rest.starts_with("\x1b[2K") => (4, true),
            _ if rest.starts_with("\x1b[1A") => (4, false),
            _ => (first.len_utf8(), false),
        };
        match first {
            '\x1b' if cleared => rows[row].clear(),
            '\x1b' => row -= 1,
            '\r' => column = 0,
            '\n' => {
                row += 1;
                if row == rows.len() {
                    rows.push(Vec::new());
                }
            }
            _ => {
                let width = rows[row].len().max(column + 1);
                rows[row].resize(width, ' ');
                rows[row][column] = first;
                column += 1;
            }
        }
        rest = &rest[sequence..];
    }
    let rows: Vec<String> = rows.iter().map(|row| row.iter().collect::<String>()).collect();
    rows.join("\n")
}

#[test]
fn results_replace_the_line() {
    let dir = TestDir::new();
    dir.file("file", "foo\n");
    dir.fifo("pipe");
    for (line, drawn, shown) in [
        ("cmp pipe file", "cmp ", "pipe file differ: byte 3, line 1\n"),
        ("wc -l pipe", "wc ", "1 pipe\n"),
        ("wc -l --json pipe", "wc ", "{\"files\":[\n{\"lines\":1,\"path\":\"pipe\"}\n],"),
    ] {
        let mut command = dir.command(line);
        command.env("TERM", "xterm").stdin(Stdio::null());
        let pipe = dir.at("pipe");
        let (seen, _) = on_a_terminal_while(&mut command, |_, wait_for| {
            let mut pipe = File::options().write(true).open(pipe).unwrap();
            wait_for(drawn);
            pipe.write_all(b"fox\n").unwrap();
        });
        let screen = visible(&seen);
        assert!(screen.starts_with(shown), "{line}: {screen:?}");
    }
}

#[test]
fn nothing_of_the_line_stays_after_ctrl_c() {
    let dir = TestDir::new();
    dir.fifo("pipe");
    let mut command = dir.command("copy pipe copy");
    command.env("TERM", "xterm").stdin(Stdio::null());
    let pipe = dir.at("pipe");
    let (seen, code) = on_a_terminal_while(&mut command, |child, wait_for| {
        let mut pipe = File::options().write(true).open(pipe).unwrap();
        pipe.write_all(&[7; 1000]).unwrap();
        wait_for("copy ");
        let child = Pid::from_raw(child.cast_signed()).unwrap();
        kill_process(child, Signal::INT).unwrap();
        // The pipe stays open until the copy has ended.
        pipe
    });
    assert_eq!((visible(&seen).trim(), code), ("", None));
}
