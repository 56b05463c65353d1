//! What cannot be sought: never read ahead, never waited for by mistake.

use std::io::{BufRead, Read, Seek, Write};
use std::os::fd::OwnedFd;
use std::thread;
use std::time::Duration;

use fullbore::file::File;
use fullbore::stream::FileStream;

fn pipe() -> (FileStream, FileStream) {
    let (reader, writer) = std::io::pipe().unwrap();
    let stream = |fd: OwnedFd, name: &str| FileStream::new(File::from_fd(fd, name).unwrap());
    (stream(reader.into(), "reader"), stream(writer.into(), "writer"))
}

#[test]
fn never_read_ahead_on_an_unseekable_file() {
    let (reader, writer) = std::io::pipe().unwrap();
    let mut writer = std::fs::File::from(OwnedFd::from(writer));
    writer.write_all(b"for the stream, for another").unwrap();
    let other = reader.try_clone().unwrap();
    let mut stream = FileStream::new(File::from_fd(reader.into(), "pipe").unwrap());
    let mut mine = [0; 15];
    stream.read_exact(&mut mine).unwrap();
    assert_eq!(&mine, b"for the stream,");
    drop(writer);
    // What the stream was not asked for is still in the pipe.
    let mut rest = String::new();
    std::fs::File::from(OwnedFd::from(other)).read_to_string(&mut rest).unwrap();
    assert_eq!(rest, " for another");
}

#[test]
fn two_ends_that_answer_each_other_never_wait_for_more_than_is_there() {
    let ((mut question_in, mut question_out), (mut answer_in, mut answer_out)) = (pipe(), pipe());
    let echo = thread::spawn(move || {
        let mut line = String::new();
        while question_in.read_line(&mut line).unwrap() > 0 {
            answer_out.write_all(line.as_bytes()).unwrap();
            answer_out.flush().unwrap();
            line.clear();
        }
    });
    let mut answer = [0; 64];
    for round in 0..100 {
        let line = format!("question {round}\n");
        question_out.write_all(line.as_bytes()).unwrap();
        question_out.flush().unwrap();
        let mut have = 0;
        while !answer[..have].ends_with(b"\n") {
            have += answer_in.read(&mut answer[have..]).unwrap();
        }
        assert_eq!(&answer[..have], line.as_bytes());
    }
    question_out.close().unwrap();
    echo.join().unwrap();
}

#[test]
fn a_pipe_has_no_position_and_says_so() {
    let (mut reader, mut writer) = pipe();
    let error = reader.rewind().unwrap_err();
    assert!(error.to_string().contains("pipe"), "{error}");
    writer.write_all(b"x").unwrap();
    drop(writer);
    assert_eq!(reader.fill_buf().unwrap(), b"x");
    assert!(reader.stream_position().is_err());
}

#[test]
fn a_slow_writer_is_read_as_it_writes() {
    let (mut reader, mut writer) = pipe();
    let slow = thread::spawn(move || {
        for byte in 0..5u8 {
            writer.write_all(&[byte]).unwrap();
            writer.flush().unwrap();
            thread::sleep(Duration::from_millis(5));
        }
    });
    let mut all = Vec::new();
    reader.read_to_end(&mut all).unwrap();
    slow.join().unwrap();
    assert_eq!(all, [0, 1, 2, 3, 4]);
}

#[test]
fn procfs_is_read_whole_although_it_says_it_is_empty() {
    let mut stream = FileStream::new(File::open("/proc/version").unwrap());
    let mut all = String::new();
    stream.read_to_string(&mut all).unwrap();
    assert_eq!(all, std::fs::read_to_string("/proc/version").unwrap());
}
