//! `fullbore transform`: operations, strategies and messages.

use crate::support::*;

/// Applies an operation according to its definition.
fn defined(operation: &str, data: &[u8]) -> Vec<u8> {
    let rot13 = |byte: &u8| match byte.to_ascii_lowercase() {
        b'a'..=b'm' => byte + 13,
        b'n'..=b'z' => byte - 13,
        _ => *byte,
    };
    match operation {
        "shift:10" => data.iter().map(|byte| byte.wrapping_add(10)).collect(),
        "rot13" => data.iter().map(rot13).collect(),
        "upper" => data.to_ascii_uppercase(),
        other => panic!("no definition of {other}"),
    }
}

/// Every byte value, in every position of a vector, and an odd length.
fn every_byte() -> Vec<u8> {
    let mut data: Vec<u8> = (0..70_000u32).map(|index| (index + index / 256) as u8).collect();
    data.extend(bytes(31_001, 5));
    data
}

// `tr` and `dd` as peers.
#[cfg(unix)]
#[test]
fn transforms_match_other_programs() {
    let dir = TestDir::new();
    dir.file("in", every_byte());
    dir.file("even", bytes(50_000, 6));
    for (operation, input, peer) in [
        ("rot13", "in", "tr A-Za-z N-ZA-Mn-za-m"),
        ("upper", "in", "tr a-z A-Z"),
        ("lower", "in", "tr A-Z a-z"),
        ("shift:1", "in", r"tr '\000-\377' '\001-\377\000'"),
        ("none", "in", "cat"),
        ("swab", "even", "dd conv=swab status=none"),
    ] {
        let Some(()) = or_skip(peer, installed(peer.split(' ').next().unwrap())) else { continue };
        let theirs = line_of_tools(dir.path(), &format!("{peer} < {input}"), false, "C").succeeds();
        for options in ["", "--scalar"] {
            dir.run(&format!("transform {operation} {input} ours {options}")).succeeds();
            assert!(dir.read("ours") == theirs.stdout, "{operation} {options} is not {peer}");
        }
    }
}

#[test]
fn kernel_copies_only_copy() {
    let dir = TestDir::new();
    let data = bytes(700_001, 2);
    dir.file("in", &data);
    for method in ["splice", "copy_file_range"] {
        let ended = dir.run(&format!("transform none in {method} --scalar --strategy method={method}"));
        if !refused_method(&ended, method) {
            ended.succeeds();
            assert!(dir.read(method) == data, "{method}");
        }
        for wrong in ["upper in upper", "none in --in-place"] {
            dir.run(&format!("transform {wrong} --strategy method={method}")).fails(2, &[method]);
        }
        assert!(dir.read("in") == data && !dir.at("upper").exists());
    }
}

#[test]
fn dashes_are_standard_input_and_output() {
    let dir = TestDir::new();
    let data = bytes(1_000_003, 3);
    let input = dir.file("in", &data);
    let wanted = defined("rot13", &data);
    let piped = |words: &str| run_with(&mut dir.command(words), &data).succeeds().stdout;
    assert!(piped("transform rot13 - -") == wanted);
    assert!(dir.run("transform rot13 in -").succeeds().stdout == wanted);
    piped("transform rot13 - out");
    assert!(dir.read("out") == wanted);
    let mut redirected = dir.command("transform rot13 - -");
    redirected.stdin(File::open(&input).unwrap()).stdout(File::create(dir.at("redirected")).unwrap());
    start(&mut redirected).end().succeeds();
    assert!(dir.read("redirected") == wanted);
    assert!(run_with(&mut dir.command("transform swab - -"), b"abcde").succeeds().stdout == b"badce");
    for strategy in named() {
        assert!(piped(&format!("transform rot13 - - --strategy {strategy}")) == wanted, "{strategy}");
        let from_file = dir.run(&format!("transform rot13 in - --strategy {strategy}")).succeeds();
        assert!(from_file.stdout == wanted, "{strategy} from a file");
    }
}

#[test]
fn pipe_with_odd_chunks_is_transformed() {
    let transformed = |operation: &str, chunks: &[&str]| {
        let mut command = fullbore(["transform", operation, "-", "-"]);
        let mut running = start(command.stdin(Stdio::piped()).stdout(Stdio::piped()));
        let mut pipe = running.child.stdin.take().unwrap();
        for chunk in chunks {
            pipe.write_all(chunk.as_bytes()).unwrap();
            sleep(Duration::from_millis(50));
        }
        drop(pipe);
        running.end().succeeds().text()
    };
    assert_eq!(transformed("swab", &["a", "bcd", "ef"]), "badcfe");
    assert_eq!(transformed("xor:000102", &["a", "bc"]), "aca");
}

#[test]
fn partly_read_standard_input_continues() {
    let dir = TestDir::new();
    let data = bytes(200_000, 4);
    let mut file = File::open(dir.file("in", &data)).unwrap();
    file.seek(SeekFrom::Start(1001)).unwrap();
    let mut command = fullbore(["transform", "shift:10", "-", "-"]);
    assert!(run(command.stdin(file)).succeeds().stdout == defined("shift:10", &data[1001..]));
    let mut lines = File::open(dir.file("lines", "first\nsecond\nthird\n")).unwrap();
    lines.read_exact(&mut [0; 6]).unwrap();
    let ended = run(fullbore(["transform", "upper", "-", "-"]).stdin(lines)).succeeds();
    assert_eq!(ended.text(), "SECOND\nTHIRD\n");
}

#[test]
fn standard_output_keeps_earlier_data() {
    let dir = TestDir::new();
    let input = dir.file("in", "two\n");
    let out = dir.at("out");
    let mut file = File::create(&out).unwrap();
    file.write_all(b"one\n").unwrap();
    let onto = |operation: &str, file: File| {
        start(transform(operation, &input, "-".as_ref(), &[]).stdout(file)).end().succeeds();
    };
    onto("none", file.try_clone().unwrap());
    file.write_all(b"three\n").unwrap();
    assert_eq!(fs::read_to_string(&out).unwrap(), "one\ntwo\nthree\n");
    onto("upper", File::options().append(true).open(&out).unwrap());
    assert_eq!(fs::read_to_string(&out).unwrap(), "one\ntwo\nthree\nTWO\n");
}

#[test]
fn in_place_changes_the_file_itself() {
    let dir = TestDir::new();
    let data = bytes(1_500_001, 5);
    for strategy in ["auto", "method=uring,depth=8"] {
        fs::hard_link(dir.file("file", &data), dir.at("link")).unwrap();
        if dir
            .run(&format!("transform shift:10 --in-place file --strategy {strategy}"))
            .succeeds_unless_refused()
        {
            assert!(dir.read("link") == defined("shift:10", &data), "{strategy}");
        }
        fs::remove_file(dir.at("link")).unwrap();
    }
    assert_eq!(dir.names(), ["file"]);
}

#[test]
fn overwrite_uses_the_existing_file() {
    let dir = TestDir::new();
    let data = bytes(900_001, 6);
    dir.file("in", &data);
    let wanted = defined("upper", &data);
    for old in [0, 1, 500_000, 900_001, 2_000_000] {
        let plain = ["auto", "cci", "cci-stdio", "cci-mm", "cci-mtmm", "cci-ex", "cci-tp", "method=direct"];
        for strategy in plain.into_iter().chain(["auto --sync data", "auto --sync full"]) {
            let output = dir.file("out", bytes(old, 7));
            let _ = fs::remove_file(dir.at("link"));
            fs::hard_link(&output, dir.at("link")).unwrap();
            let ended = dir.run(&format!("transform upper in out --overwrite --strategy {strategy}"));
            if !refused_method(&ended, "direct") {
                ended.succeeds();
                assert!(dir.read("link") == wanted, "{strategy} over {old} bytes");
            }
        }
    }
    dir.run("transform upper in new --overwrite --scalar").succeeds();
    assert!(dir.read("new") == wanted);
}

#[test]
fn explain_names_strategy_and_reason() {
    let dir = TestDir::new();
    dir.file("in", bytes(3_000_000, 8));
    let ended = dir.run("transform upper in out --explain").succeeds();
    assert_contains(&ended.stderr, &["strategy: method=", "because: ", "not "]);
    assert!(ended.stdout.is_empty());
    let ended = dir.run("transform upper in out --explain --strategy cci-mt,request=32K").succeeds();
    assert!(ended.stderr.contains("specified: cci-mt,request=32K"), "{ended}");
    assert!(ended.stderr.contains(",request=32K,"), "{ended}");
}

#[test]
fn unavailable_methods_are_replaced_or_rejected() {
    let dir = TestDir::new();
    let input = dir.file("in", bytes(100_000, 9));
    // A pipe cannot be mapped: a named strategy continues without mapping and reports that.
    let mut command = dir.command("transform upper - out --explain --strategy cci-mm");
    let ended = run_with(&mut command, b"abc").succeeds();
    assert!(ended.stderr.contains("note: "), "{ended}");
    dir.run("transform upper in out --strategy method=null").fails(2, &["null"]);
    // tmpfs has no device: an explicit request for direct I/O is an error.
    if cfg!(target_os = "linux") {
        let Some(memory) = or_skip("/dev/shm", tempfile::tempdir_in("/dev/shm")) else { return };
        let held = memory.path().join("held");
        fs::copy(&input, &held).unwrap();
        run(&mut transform("upper", &held, &dir.at("out"), &["--strategy", "method=direct"]))
            .fails(2, &["held", "method direct", "auto"]);
    }
}

#[test]
fn json_describes_the_run() {
    let dir = TestDir::new();
    let input = dir.file("in", bytes(2_500_000, 10));
    let statistics = dir.run("transform upper in out --json --strategy cci").succeeds().json();
    assert_eq!(statistics["bytes"], 2_500_000);
    assert_eq!(statistics["spec"], "cci");
    assert!(statistics["strategy"].as_str().unwrap().contains("method=buffered,request=64K"), "{statistics}");
    assert!(statistics["real_seconds"].as_f64().unwrap() > 0.0);
    assert!(statistics["read_requests"].as_u64().unwrap() >= 39, "{statistics}");
    let ended = dir.run("transform none in - --json").succeeds();
    assert!(ended.stdout == fs::read(&input).unwrap(), "the summary is not in the output");
    let statistics: serde_json::Value = serde_json::from_str(&ended.stderr).unwrap();
    assert_eq!(statistics["bytes"], 2_500_000);
    let statistics = dir.run("transform upper --in-place in --json").succeeds().json();
    assert_eq!(statistics["bytes"], 2_500_000);
}

#[test]
fn time_and_progress_go_to_standard_error() {
    let dir = TestDir::new();
    let input = dir.file("in", bytes(2_500_000, 11));
    let ended = dir.run("transform none in - --time --progress always").succeeds();
    assert!(ended.stdout == fs::read(&input).unwrap());
    assert_contains(&ended.stderr, &["real ", "user ", "sys ", "/s", "none: "]);
    let ended = dir.run("transform none in out --progress never").succeeds();
    assert!(ended.stderr.is_empty() && ended.stdout.is_empty(), "{ended}");
    // Standard error is not a terminal here: no progress by default.
    let ended = dir.run("transform none in out").succeeds();
    assert!(ended.stderr.is_empty(), "{ended}");
}

#[test]
fn an_empty_file_gives_an_empty_file() {
    let dir = TestDir::new();
    dir.file("in", "");
    let methods = ["method=direct", "method=uring", "method=aio", "method=mmap"];
    for strategy in cases("empty files", 4, named().into_iter().chain(methods)) {
        for old in [None, Some("old")] {
            let _ = fs::remove_file(dir.at("out"));
            old.into_iter().for_each(|old| drop(dir.file("out", old)));
            for options in ["", "--overwrite"] {
                let words = format!("transform shift:1 in out --strategy {strategy} {options}");
                if dir.run(&words).succeeds_unless_refused() {
                    assert_eq!(dir.read("out"), b"", "{strategy}");
                }
            }
        }
    }
    dir.run("transform shift:1 --in-place in").succeeds();
    assert_eq!(dir.read("in"), b"");
    assert!(dir.run("transform shift:1 - -").succeeds().stdout.is_empty());
}

#[test]
fn slow_input_is_written_at_once() {
    let mut running = start_unread(fullbore(["transform", "upper", "-", "-"]).stdin(Stdio::piped()));
    let (mut pipe, mut out) = (running.child.stdin.take().unwrap(), running.child.stdout.take().unwrap());
    // If it waited for a whole request it would hang, and the time limit would end it.
    pipe.write_all(b"hello\n").unwrap();
    let mut heard = [0; 6];
    out.read_exact(&mut heard).unwrap();
    assert_eq!(&heard, b"HELLO\n");
    drop(pipe);
    running.end().succeeds();
}

#[cfg(unix)]
#[test]
fn an_overwritten_file_has_its_old_length_after_an_error() {
    let dir = TestDir::new();
    dir.file("in", bytes(10 << 20, 1));
    for command in ["gen 10M out --overwrite", "transform none in out --overwrite"] {
        dir.file("out", "old");
        let ended = dir.shell(&format!("ulimit -f 1000; \"$0\" {command}"));
        ended.fails(2, &["out", "may be part old, part new"]);
        assert_eq!(dir.read("out").len(), 3, "{command}");
    }
}

// A named pipe.
#[cfg(unix)]
#[test]
fn an_overwritten_file_that_another_process_truncates_is_an_error() {
    const LEN: usize = 256 << 10;
    let dir = TestDir::new();
    let (pipe, output) = (dir.fifo("pipe"), dir.file("out", "old"));
    let mut command = dir.command("transform upper pipe out --overwrite --strategy request=64K,workers=1");
    let running = start(&mut command);
    let mut writer = File::options().write(true).open(pipe).unwrap();
    writer.write_all(&bytes(LEN, 1)).unwrap();
    // All is written, and only the end of the input is missing.
    assert_eventually("length", LEN as u64, || fs::metadata(&output).unwrap().len());
    File::options().write(true).open(&output).unwrap().set_len(1000).unwrap();
    drop(writer);
    running.end().fails(3, &["out", "cannot write: truncated while being written"]);
}

#[cfg(target_os = "linux")]
#[test]
fn a_replaced_file_keeps_its_access_list_and_gets_no_other() {
    use rustix::fs::{XattrFlags, getxattr, setxattr};
    const ACCESS: &str = "system.posix_acl_access";
    let dir = TestDir::new();
    dir.file("in", "bytes");
    dir.directories(["d"]);
    let [listed, plain] = ["d/listed", "d/plain"].map(|name| dir.file(name, "old"));
    // Owner, another user, group, mask, others.
    let access_list = |user, group| {
        const NONE: u32 = u32::MAX;
        access_list(&[(1, 7, NONE), (2, user, 1), (4, group, NONE), (16, user, NONE), (32, 0, NONE)])
    };
    let list = access_list(6, 0);
    let set = setxattr(&listed, ACCESS, &list, XattrFlags::empty()).and_then(|()| {
        setxattr(dir.at("d"), "system.posix_acl_default", &access_list(7, 5), XattrFlags::empty())
    });
    let Some(()) = or_skip("access control lists", set) else { return };
    let found = |path: &Path| {
        let mut value = [0; 200];
        getxattr(path, ACCESS, &mut value[..]).ok().map(|len| value[..len].to_vec())
    };
    for command in ["transform upper in", "copy in", "copy --reflink=never in"] {
        dir.run(&format!("{command} d/listed")).succeeds();
        dir.run(&format!("{command} d/plain")).succeeds();
        assert_eq!((found(&listed), found(&plain)), (Some(list.clone()), None), "{command}");
    }
    dir.run("copy -p in d/new").succeeds();
    assert_eq!(found(&dir.at("d/new")), None, "-p: that of the source");
}

/// Workers that write without the page cache rewrite whole blocks: two must not share one.
#[test]
fn direct_writes_of_any_request_size_give_the_same_bytes() {
    let dir = TestDir::within(&fullbore_testkit::ground::build_directory());
    let data = bytes(3_000_001, 1);
    let short = &data[..200_001];
    dir.file("in", short);
    let mut swapped = short.to_vec();
    swapped.chunks_exact_mut(2).for_each(|pair| pair.swap(0, 1));
    for round in 0..3 {
        for request in [1000, 4095, 65535, 100_000, 262_143] {
            let words = format!("transform none - out --cache direct --strategy request={request}");
            run_with(&mut dir.command(&words), &data).succeeds();
            assert!(dir.read("out") == data, "{words}, round {round}");
        }
        for request in ["request=101,stripe=1", "request=1001,stripe=1", "request=4097,stripe=5K"] {
            let strategy = format!("method=direct,{request},workers=2,model=pool");
            let ended = dir.run(&format!("transform swab in out --strategy {strategy}"));
            if refused(&ended) {
                return println!("skipped: direct writes: {ended}");
            }
            ended.succeeds();
            assert!(dir.read("out") == swapped, "{strategy}, round {round}");
        }
    }
}
