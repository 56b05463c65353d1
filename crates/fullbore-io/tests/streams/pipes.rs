//! Unseekable files: no read-ahead, no needless waiting.

use super::*;

use std::io;

use fullbore_io::sys::Handle;

use crate::rules::counted;

#[cfg(target_os = "linux")]
use fullbore_io::error::ErrorKind;
#[cfg(target_os = "linux")]
use fullbore_testkit::{ground::NULL, in_time, processes::traced};

fn pipe() -> (FileStream, FileStream) {
    let (reader, writer) = std::io::pipe().unwrap();
    let stream = |fd: Handle, name: &str| FileStream::new(File::from_fd(fd, name).unwrap());
    (stream(reader.into(), "reader"), stream(writer.into(), "writer"))
}

/// A pipe with room for 64 KiB. That of std has room for a page on Windows.
fn roomy() -> (io::PipeReader, io::PipeWriter) {
    let (reader, writer) = fullbore_io::sys::pipe().unwrap();
    (reader.into(), writer.into())
}

#[test]
fn never_read_ahead_on_an_unseekable_file() {
    let (reader, writer) = std::io::pipe().unwrap();
    let mut writer = std::fs::File::from(Handle::from(writer));
    writer.write_all(b"for the stream, for another").unwrap();
    let other = reader.try_clone().unwrap();
    let mut stream = FileStream::new(File::from_fd(reader.into(), "pipe").unwrap());
    let mut mine = [0; 15];
    stream.read_exact(&mut mine).unwrap();
    assert_eq!(&mine, b"for the stream,");
    drop(writer);
    // Bytes beyond the request are still in the pipe.
    let mut rest = String::new();
    std::fs::File::from(Handle::from(other)).read_to_string(&mut rest).unwrap();
    assert_eq!(rest, " for another");
}

#[test]
fn a_dialogue_over_two_pipes_never_blocks() {
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
fn a_pipe_has_no_position() {
    let (mut reader, mut writer) = pipe();
    let error = reader.rewind().unwrap_err();
    assert!(error.to_string().contains("pipe"), "{error}");
    writer.write_all(b"x").unwrap();
    drop(writer);
    assert_eq!(reader.fill_buf().unwrap(), b"x");
    assert!(reader.stream_position().is_err());
}

#[test]
fn a_slow_writer_is_read_incrementally() {
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
fn a_gathered_write_to_a_pipe_is_one_call() {
    let (reader, writer) = roomy();
    let mut reader = std::fs::File::from(Handle::from(reader));
    for size in [0, 100] {
        let file = File::from_fd(writer.try_clone().unwrap().into(), "writer").unwrap();
        let mut stream = FileStream::with_buffer(file, size);
        let data = bytes(8000, 7);
        let mut parts: Vec<IoSlice<'_>> = data.chunks(77).map(IoSlice::new).collect();
        parts.insert(3, IoSlice::new(b""));
        // The first call discovers that there are no offsets.
        for most in [2, 1, 1] {
            let (count, _, writes) = counted(|| stream.write_vectored(&parts).unwrap());
            assert_eq!(count, 8000, "size {size}");
            let most = if cfg!(debug_assertions) { 104 } else { most };
            assert!(writes.are(..=most), "size {size}: {writes:?} calls");
            let mut found = vec![0; 8000];
            reader.read_exact(&mut found).unwrap();
            assert!(found == data, "size {size}");
        }
        stream.close().unwrap();
    }
}

/// Creates a pipe whose writer is under a plan.
fn faulty(plan: &Plan) -> (std::io::PipeReader, File) {
    let (reader, writer) = roomy();
    (reader, File::from_fd(writer.into(), "pipe").unwrap().with_faults(plan))
}

#[test]
fn faults_apply_to_files_without_offsets() {
    let data = bytes(30_000, 8);
    for gathered in [false, true] {
        let plan = Plan::new(3)
            .with(Fault::Short { one_in: 2 })
            .with(Fault::Interrupted { one_in: 3 })
            .with(Fault::WouldBlock { one_in: 3 })
            .with(Fault::Buffers { most: 3 });
        let (reader, writer) = faulty(&plan);
        let mut stream = FileStream::with_buffer(writer, 16);
        for piece in data.chunks(1000) {
            if gathered {
                let parts: Vec<IoSlice<'_>> = piece.chunks(70).map(IoSlice::new).collect();
                assert_eq!(stream.write_vectored(&parts).unwrap(), piece.len());
            } else {
                stream.write_all(piece).unwrap();
            }
        }
        stream.close().unwrap();
        let counts = plan.counts();
        assert!(counts.short > 0 && counts.interrupted > 0 && counts.would_block > 0, "{counts:?}");

        let plan = Plan::new(4).with(Fault::Short { one_in: 2 }).with(Fault::Interrupted { one_in: 2 });
        let mut found = Vec::new();
        let file = File::from_fd(reader.into(), "pipe").unwrap().with_faults(&plan);
        FileStream::with_buffer(file, 16).read_to_end(&mut found).unwrap();
        assert!(found == data);
        let counts = plan.counts();
        assert!(counts.short > 0 && counts.interrupted > 0, "{counts:?}");
    }
}

#[test]
fn offset_faults_count_the_bytes_of_a_pipe() {
    for gathered in [false, true] {
        let (mut reader, writer) = faulty(&Plan::new(1).with(Fault::NoSpace { at: 100 }));
        let mut stream = FileStream::with_buffer(writer, 0);
        stream.write_all(&[1; 60]).unwrap();
        if gathered {
            let parts = [IoSlice::new(&[1; 30]), IoSlice::new(&[1; 30])];
            assert_eq!(stream.write_vectored(&parts).unwrap(), 40);
        } else {
            stream.write_all(&[1; 40]).unwrap();
        }
        assert_eq!(stream.write_all(&[1]).unwrap_err().kind(), io::ErrorKind::StorageFull);
        drop(stream);
        let mut found = Vec::new();
        reader.read_to_end(&mut found).unwrap();
        assert_eq!(found, [1; 100]);
    }
    let (reader, mut writer) = std::io::pipe().unwrap();
    writer.write_all(&[2; 500]).unwrap();
    let plan = Plan::new(1).with(Fault::IoErrorAt { offset: 300 });
    let file = File::from_fd(reader.into(), "pipe").unwrap().with_faults(&plan);
    let mut stream = FileStream::with_buffer(file, 0);
    stream.read_exact(&mut [0; 300]).unwrap();
    assert!(stream.read(&mut [0; 10]).is_err());
    stream.read_exact(&mut [0; 200]).unwrap();
    assert_eq!(plan.counts().io_errors, 1);
}

/// `strace` can make a call return 0, which no pipe does.
// Only Linux has it.
#[cfg(target_os = "linux")]
#[test]
fn a_pipe_that_accepts_nothing_is_an_error() {
    const CHILD: &str = "FULLBORE_TEST_TAKES_NOTHING";
    if let Some(path) = std::env::var_os(CHILD) {
        let found = in_time("a write of nothing is repeated", move || {
            let mut stream = FileStream::new(File::open_write(&path).unwrap());
            stream.write_all(b"bytes").unwrap();
            (stream.flush().unwrap_err().kind(), stream.close().unwrap_err().kind())
        });
        std::process::exit(if found == (io::ErrorKind::WriteZero, ErrorKind::Io) { 77 } else { 1 });
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("pipe");
    fullbore_testkit::ground::fifo(&path);
    let options = ["-e", "inject=write:retval=0", "-P", path.to_str().unwrap()];
    let mut child = alone("pipes::a_pipe_that_accepts_nothing_is_an_error");
    let Some(mut child) = traced(&options, NULL.as_ref(), child.env(CHILD, &path)) else { return };
    let output = child.output().unwrap();
    assert_eq!(output.status.code(), Some(77), "{output:?}");
}

/// A pipe has no end to append to: what was read ahead is not read again after a write.
// Elsewhere a pipe has no handle for both.
#[cfg(target_os = "linux")]
#[test]
fn an_appending_pipe_delivers_its_bytes_once() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("pipe");
    fullbore_testkit::ground::fifo(&path);
    let (mode, access) = (fullbore_io::file::Mode::Append, fullbore_io::file::Access::ReadWrite);
    let file = OpenOptions::new().mode(mode).access(access).open(&path).unwrap();
    let mut stream = FileStream::new(file);
    let mut lines = String::new();
    stream.write_all(b"one\ntwo\n").unwrap();
    stream.read_line(&mut lines).unwrap();
    stream.write_all(b"three\n").unwrap();
    stream.flush().unwrap();
    stream.read_line(&mut lines).unwrap();
    stream.read_line(&mut lines).unwrap();
    assert_eq!(lines, "one\ntwo\nthree\n");
}
