//! Random operations on a stream and on `std::io::Cursor` give the same bytes, lengths and positions.

use super::*;

use std::io::{Cursor, IoSliceMut};

use fullbore_io::file::Access;
use proptest::prelude::*;

#[derive(Debug, Clone)]
enum Step {
    Read(usize),
    ReadParts(usize, usize),
    ReadUntil(u8),
    ReadToEnd,
    Write(usize, u8),
    WriteParts(usize, usize),
    Start(u64),
    Current(i64),
    End(i64),
    SetLen(u64),
    Flush,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (0..600usize).prop_map(Step::Read),
        (0..100usize, 0..300usize).prop_map(|(one, two)| Step::ReadParts(one, two)),
        any::<u8>().prop_map(Step::ReadUntil),
        Just(Step::ReadToEnd),
        (0..600usize, any::<u8>()).prop_map(|(len, seed)| Step::Write(len, seed)),
        (0..100usize, 0..300usize).prop_map(|(one, two)| Step::WriteParts(one, two)),
        (0..3000u64).prop_map(Step::Start),
        (-700..700i64).prop_map(Step::Current),
        (-700..300i64).prop_map(Step::End),
        (0..3000u64).prop_map(Step::SetLen),
        Just(Step::Flush),
    ]
}

/// Writes to the model. An empty write beyond the end does not extend a file, but it would extend a `Cursor`.
fn write(model: &mut Cursor<Vec<u8>>, data: &[u8]) {
    if !data.is_empty() {
        model.write_all(data).unwrap();
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn random_work_equals_the_model(size in prop_oneof![Just(0usize), Just(1), 2..40usize, Just(256), Just(4096)],
                                    steps in proptest::collection::vec(step(), 1..60)) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        let start = bytes(1500, 9);
        let file = File::create_new(&path).unwrap();
        file.write_all_at(&start, 0).unwrap();
        let mut stream = FileStream::with_buffer(file, size);
        let mut model = Cursor::new(start);
        for step in &steps {
            match *step {
                Step::Read(len) => {
                    let (mut found, mut wanted) = (vec![0; len], vec![0; len]);
                    let count = stream.read(&mut found).unwrap();
                    // Reads may be short, but return 0 only at the end.
                    model.read_exact(&mut wanted[..count]).unwrap();
                    prop_assert_eq!(&found[..count], &wanted[..count]);
                    let end = model.position() >= model.get_ref().len() as u64;
                    prop_assert!(count > 0 || len == 0 || end);
                }
                Step::ReadParts(one, two) => {
                    let (mut first, mut second) = (vec![0; one], vec![0; two]);
                    let mut parts = [IoSliceMut::new(&mut first), IoSliceMut::new(&mut second)];
                    let count = stream.read_vectored(&mut parts).unwrap();
                    let mut wanted = vec![0; count];
                    model.read_exact(&mut wanted).unwrap();
                    let found = [first, second].concat();
                    prop_assert_eq!(&found[..count], &wanted[..]);
                }
                Step::ReadUntil(byte) => {
                    let (mut found, mut wanted) = (Vec::new(), Vec::new());
                    stream.read_until(byte, &mut found).unwrap();
                    model.read_until(byte, &mut wanted).unwrap();
                    prop_assert_eq!(found, wanted);
                }
                Step::ReadToEnd => {
                    let (mut found, mut wanted) = (vec![1], vec![1]);
                    let count = stream.read_to_end(&mut found).unwrap();
                    prop_assert_eq!(count, model.read_to_end(&mut wanted).unwrap());
                    prop_assert_eq!(found, wanted);
                }
                Step::Write(len, seed) => {
                    let data = bytes(len, seed.into());
                    stream.write_all(&data).unwrap();
                    write(&mut model, &data);
                }
                Step::WriteParts(one, two) => {
                    let (first, second) = (bytes(one, 1), bytes(two, 2));
                    let count = stream.write_vectored(&[IoSlice::new(&first), IoSlice::new(&second)]).unwrap();
                    prop_assert_eq!(count, one + two);
                    write(&mut model, &first);
                    write(&mut model, &second);
                }
                Step::Start(offset) => {
                    prop_assert_eq!(stream.seek(SeekFrom::Start(offset)).unwrap(), offset);
                    model.set_position(offset);
                }
                Step::Current(distance) => {
                    let (found, wanted) =
                        (stream.seek(SeekFrom::Current(distance)), model.seek(SeekFrom::Current(distance)));
                    prop_assert_eq!(found.ok(), wanted.ok());
                }
                Step::End(distance) => {
                    let (found, wanted) =
                        (stream.seek(SeekFrom::End(distance)), model.seek(SeekFrom::End(distance)));
                    prop_assert_eq!(found.ok(), wanted.ok());
                }
                Step::SetLen(len) => {
                    stream.set_len(len).unwrap();
                    model.get_mut().resize(len as usize, 0);
                    model.set_position(model.position().min(len));
                }
                Step::Flush => {
                    stream.flush().unwrap();
                    prop_assert!(&std::fs::read(&path).unwrap() == model.get_ref());
                }
            }
            prop_assert_eq!(stream.stream_position().unwrap(), model.position());
            prop_assert_eq!(stream.len().unwrap(), model.get_ref().len() as u64);
        }
        stream.close().unwrap();
        prop_assert!(&std::fs::read(&path).unwrap() == model.get_ref());
    }
}

/// Bytes held, bytes pending, a position, one after the end, text that is not UTF-8, and a file without a length.
#[test]
fn the_rest_is_read_from_the_position() {
    let directory = tempfile::tempdir().unwrap();
    let content: Vec<u8> = (0..300_000u32).map(|i| b'a' + (i * 7 % 26) as u8).collect();
    let path = write_file(directory.path(), "file", &content);
    let open = || OpenOptions::new().access(Access::ReadWrite).open(&path).unwrap();
    for (size, skip) in [(0, 0), (4096, 0), (4096, 5), (4096, 200_000), (1 << 20, 17), (8192, 300_000)] {
        let mut stream = FileStream::with_buffer(open(), size);
        let mut first = vec![0; skip];
        stream.read_exact(&mut first).unwrap();
        let mut bytes = b"before".to_vec();
        assert_eq!(stream.read_to_end(&mut bytes).unwrap(), content.len() - skip);
        assert_eq!((&bytes[..6], &bytes[6..]), (&b"before"[..], &content[skip..]), "{size} {skip}");
        assert_eq!(stream.stream_position().unwrap(), content.len() as u64);
        assert_eq!(stream.read_to_end(&mut bytes).unwrap(), 0);
    }
    let mut stream = FileStream::new(open());
    stream.write_all(b"written").unwrap();
    let mut text = String::from("text: ");
    stream.read_to_string(&mut text).unwrap();
    assert_eq!(text.as_bytes()[6..], content[7..]);
    stream.seek(SeekFrom::Start(0)).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    assert_eq!(text.as_bytes(), [b"written", &content[7..]].concat());
    stream.seek(SeekFrom::Start(content.len() as u64 + 5)).unwrap();
    assert_eq!(stream.read_to_end(&mut Vec::new()).unwrap(), 0);

    std::fs::write(&path, b"\xff").unwrap();
    let error = FileStream::new(open()).read_to_string(&mut text).unwrap_err();
    assert_eq!((error.kind(), text.len()), (std::io::ErrorKind::InvalidData, content.len()));
    #[cfg(target_os = "linux")]
    {
        let mut status = String::new();
        FileStream::new(File::open("/proc/self/status").unwrap()).read_to_string(&mut status).unwrap();
        assert!(status.starts_with("Name:") && status.len() > 500, "{status}");
    }
}
