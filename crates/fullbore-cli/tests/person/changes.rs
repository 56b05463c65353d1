//! A file that is cut short while it is read: an error of its own, whatever the method, and no result.

use std::fs::{self, File};
use std::io::Read;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::ground::{Room, bytes, fullbore, methods, named, refused, run, start, start_unread, transform};

/// Many times what a pipe and all requests in flight hold.
const LENGTH: usize = 24 << 20;

fn strategies() -> Vec<String> {
    let fields = methods().into_iter().map(|method| format!("method={method}")).collect::<Vec<_>>();
    let more = ["method=uring,depth=8,cache=direct", "method=mmap,window=1M", "method=vectored,depth=4"];
    named().iter().map(ToString::to_string).chain(fields).chain(more.map(str::to_owned)).collect()
}

#[test]
fn the_reader_of_a_pipe_learns_that_the_input_was_cut_short() {
    let room = Room::new();
    let data = bytes(LENGTH, 1);
    for strategy in strategies() {
        let input = room.file("in", &data);
        let mut running =
            start_unread(&mut transform("none", &input, "-".as_ref(), &["--strategy", &strategy]));
        let mut out = running.child.stdout.take().unwrap();
        // The first bytes are here, so it reads; the pipe is full soon, so it cannot have read all.
        let mut first = [0; 100];
        if out.read_exact(&mut first).is_ok() {
            File::options().write(true).open(&input).unwrap().set_len(100_000).unwrap();
        }
        let mut rest = Vec::new();
        out.read_to_end(&mut rest).unwrap();
        let ended = running.end();
        if methods().iter().any(|method| refused(&ended, method)) {
            continue;
        }
        assert!(rest.len() < LENGTH, "{strategy}");
        ended.fails(3, &["in: cannot", "while it was read"]);
    }
}

/// How long a run takes that nobody disturbs.
fn duration(room: &Room, data: &[u8], strategy: &str) -> Duration {
    let input = room.file("in", data);
    let start = Instant::now();
    run(&mut transform("shift:1", &input, &room.at("out"), &["--strategy", strategy]));
    start.elapsed()
}

#[test]
fn the_old_output_stays_if_the_input_was_cut_short() {
    let room = Room::new();
    let data = bytes(LENGTH, 2);
    let shifted: Vec<u8> = data.iter().map(|byte| byte.wrapping_add(1)).collect();
    for strategy in strategies() {
        let undisturbed = duration(&room, &data, &strategy);
        let mut met = false;
        // Stopped in its tracks at different moments, until one of them was in the middle.
        for attempt in 0..40u32 {
            let input = room.file("in", &data);
            let output = room.file("out", "old");
            let running = start(&mut transform("shift:1", &input, &output, &["--strategy", &strategy]));
            sleep(undisturbed.mul_f64((0.5 + f64::from(attempt * 7 % 10)) / 10.0));
            running.signal(Signal::STOP);
            File::options().write(true).open(&input).unwrap().set_len(5000).unwrap();
            running.signal(Signal::CONT);
            let ended = running.end();
            let found = fs::read(&output).unwrap();
            assert_eq!(room.names(), ["in", "out"], "{strategy}");
            match ended.code() {
                // It had begun after the cut, or was done before.
                0 => assert!(found == shifted || found == shifted[..5000], "{strategy}"),
                2 if methods().iter().any(|method| refused(&ended, method)) => {
                    assert_eq!(found, b"old");
                    met = true;
                }
                _ => {
                    assert_eq!(found, b"old", "{strategy}");
                    ended.fails(3, &["in: cannot", "while it was read"]);
                    met = true;
                }
            }
            if met {
                break;
            }
        }
        assert!(met, "{strategy}: no run was met in the middle");
    }
}

#[test]
fn a_file_that_is_modified_while_it_is_read_is_not_trusted() {
    let room = Room::new();
    let input = room.file("in", bytes(LENGTH, 3));
    let output = room.file("out", "old");
    let mut running = start_unread(&mut transform("none", &input, "-".as_ref(), &[]));
    let mut out = running.child.stdout.take().unwrap();
    out.read_exact(&mut [0; 100]).unwrap();
    sleep(Duration::from_millis(20));
    std::os::unix::fs::FileExt::write_all_at(&File::options().write(true).open(&input).unwrap(), b"x", 9)
        .unwrap();
    std::io::copy(&mut out, &mut std::io::sink()).unwrap();
    running.end().fails(3, &["in: cannot", "modified"]);
    // In place it is the run itself that modifies it.
    run(fullbore(["transform", "shift:1", "--in-place"]).arg(&input)).succeeds();
    assert_eq!(fs::read(&output).unwrap(), b"old");
}
