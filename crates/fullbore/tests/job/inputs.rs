//! Every kind of input.

use super::*;

#[test]
fn folds_take_every_kind_of_input() {
    let (_directory, path, text) = directory();
    let lines = op::count_lines();
    let expected = text.iter().filter(|&&byte| byte == b'\n').count() as u64;
    assert_eq!(fullbore::fold(&lines, &path).unwrap(), expected);
    assert_eq!(fullbore::fold(&lines, path.to_str().unwrap()).unwrap(), expected);
    assert_eq!(fullbore::fold(&lines, fullbore::file::File::open(&path).unwrap()).unwrap(), expected);
    assert_eq!(fullbore::fold(&lines, fs::File::open(&path).unwrap()).unwrap(), expected);
    assert_eq!(fullbore::fold(&lines, &text[..]).unwrap(), expected);
    assert_eq!(fullbore::fold(&lines, text.clone()).unwrap(), expected);
    for strategy in ["method=mmap", "method=uring,depth=8", "cci-mt,workers=3", "method=direct"] {
        match Job::new().strategy(strategy).unwrap().workers(2).fold(&lines, &path) {
            Ok((found, stats)) => {
                assert_eq!((found, stats.bytes), (expected, text.len() as u64), "{strategy}")
            }
            Err(error) => assert_eq!(error.kind(), ErrorKind::Unsupported, "{strategy}: {error}"),
        }
    }
}

#[test]
fn a_partly_read_file_continues_at_its_position_and_a_pipe_is_read_to_its_end() {
    let (_directory, path, text) = directory();
    let mut file = fs::File::open(&path).unwrap();
    file.seek(SeekFrom::Start(100)).unwrap();
    let rest = text[100..].iter().filter(|&&byte| byte == b'\n').count() as u64;
    assert_eq!(fullbore::fold(&op::count_lines(), file).unwrap(), rest);
    let (reader, mut writer) = std::io::pipe().unwrap();
    let sent = text.clone();
    let thread = std::thread::spawn(move || writer.write_all(&sent).unwrap());
    let pipe = fs::File::from(fullbore::sys::Handle::from(reader));
    let digest = fullbore::fold(&op::sha256(), pipe).unwrap().digest();
    thread.join().unwrap();
    assert_eq!(digest, fullbore::fold(&op::sha256(), &text[..]).unwrap().digest());
}

#[test]
fn a_partly_read_file_that_changes_is_an_error() {
    let (_directory, path, _) = directory();
    let mut file = fs::File::open(&path).unwrap();
    file.seek(SeekFrom::Start(10)).unwrap();
    let change = || {
        let file = fs::File::options().write(true).open(&path).unwrap();
        file.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
    };
    let fold = fold_fn(|| (), |(), _bytes| change(), |(), ()| {});
    assert_eq!(fullbore::fold(&fold, file).unwrap_err().kind(), ErrorKind::Changed);
}

#[test]
fn a_pair_has_the_bytes_from_the_positions_of_its_files_on() {
    let (_directory, path) = fullbore_testkit::ground::temporary_file([7; 20]);
    let mut file = fs::File::open(&path).unwrap();
    file.seek(SeekFrom::Start(10)).unwrap();
    assert_eq!(Job::new().pair(file, &path).unwrap().skip([2, 0]).common_len(), Some(8));
}

#[test]
fn a_pipe_equals_itself() {
    let (reader, _writer) = std::io::pipe().unwrap();
    let pipe = fullbore::file::File::try_from(fs::File::from(fullbore::sys::Handle::from(reader))).unwrap();
    assert_eq!(fullbore::compare(&pipe, &pipe).unwrap(), Comparison::Equal);
}

/// Bytes in memory have no access method: a strategy applies to files alone.
#[test]
fn bytes_in_memory_work_with_every_strategy() {
    let (held, path, text) = directory();
    let other = held.path().join("other");
    for strategy in ["method=direct", "method=uncached", "method=aio", "cci-mm", "read=mmap,read-cache=keep"]
    {
        let Ok(job) = Job::new().strategy(strategy) else { continue };
        // The file system may refuse a method for the file.
        assert_eq!(job.compare(&text, &text).unwrap().0, Comparison::Equal, "{strategy}");
        if job.transform(&op::shift(1), &path, &other).is_err() {
            continue;
        }
        assert_eq!(job.compare(&path, &text).unwrap().0, Comparison::Equal, "{strategy}");
        job.transform(&op::shift(1), &text, &other).unwrap();
        let shifted: Vec<u8> = text.iter().map(|byte| byte.wrapping_add(1)).collect();
        assert!(fs::read(&other).unwrap() == shifted, "{strategy}");
    }
}

/// A rate can be computed from the statistics of any run, also of one that is too short to count its requests.
#[test]
fn short_runs_have_a_time() {
    let (held, path, text) = directory();
    let small = held.path().join("small");
    fs::write(&small, &text[..1000]).unwrap();
    let folded = |input: fullbore::Input<'_>| Job::new().fold(&op::count_lines(), input).unwrap().1;
    for stats in [folded((&text[..1000]).into()), folded((&*small).into()), folded((&*path).into())] {
        assert!(stats.bytes > 0 && !stats.elapsed.is_zero(), "{stats:?}");
    }
}

#[test]
fn the_output_of_a_program_is_an_input() {
    let mut child = std::process::Command::new(std::env::current_exe().unwrap())
        .arg("--list")
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let lines = fullbore::fold(&op::count_lines(), child.stdout.take().unwrap()).unwrap();
    assert!(child.wait().unwrap().success() && lines > 10, "{lines}");
    let (reader, mut writer) = std::io::pipe().unwrap();
    writer.write_all(b"one\ntwo\n").unwrap();
    drop(writer);
    assert_eq!(fullbore::fold(&op::count_lines(), reader).unwrap(), 2);
}
