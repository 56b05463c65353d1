//! Safe outputs: failures leave the old file and nothing else; an input is not its own output.

use crate::support::*;

#[test]
fn another_name_of_the_old_file_keeps_the_old_bytes() {
    let dir = TestDir::new();
    dir.file("in", "abc");
    fs::hard_link(dir.file("out", "old"), dir.at("other")).unwrap();
    dir.run("transform upper in out").succeeds();
    assert_eq!((dir.read("out"), dir.read("other")), (b"ABC".to_vec(), b"old".to_vec()));
}

#[test]
fn input_as_output_is_rejected_under_any_name() {
    let dir = TestDir::new();
    let data = bytes(500_000, 1);
    let file = dir.file("same", &data);
    fs::hard_link(&file, dir.at("hard")).unwrap();
    #[cfg(unix)]
    symlink("same", dir.at("soft")).unwrap();
    let names = dir.names();
    for name in names.iter().map(String::as_str).chain(["./same"]) {
        for options in ["", "--overwrite"] {
            let ended = dir.run(&format!("transform upper same {name} {options}"));
            ended.fails(2, &["same file", "--in-place"]);
        }
    }
    let open = || fs::File::options().read(true).write(true).open(&file).unwrap();
    run(transform("upper", "-".as_ref(), &file, &[]).stdin(open())).fails(2, &["same file"]);
    start(transform("upper", &file, "-".as_ref(), &[]).stdout(open())).end().fails(2, &["same file"]);
    let append = fs::File::options().append(true).open(&file).unwrap();
    start(transform("upper", &file, "-".as_ref(), &[]).stdout(append)).end().fails(2, &["same file"]);
    assert!(fs::read(&file).unwrap() == data);
    assert_eq!(dir.names(), names);
    // The shell has already truncated it; the content is lost, but the file must not grow without end.
    let empty = fs::File::create(&file).unwrap();
    let ended = start(transform("upper", &file, "-".as_ref(), &[]).stdout(empty)).end();
    assert!([0, 2].contains(&ended.code()), "{ended}");
    assert_eq!(fs::metadata(&file).unwrap().len(), 0);
}

#[test]
fn directories_are_neither_inputs_nor_outputs() {
    let dir = TestDir::new();
    dir.file("in", "abc");
    dir.directories(["directory"]);
    dir.run("transform upper directory out").fails(2, &["directory", "name a file"]);
    dir.run("transform upper in directory").fails(2, &["it is a directory", "name a file in it"]);
    dir.run("transform upper in directory --overwrite").fails(2, &["it is a directory"]);
    dir.run("transform upper --in-place directory").fails(2, &["it is a directory"]);
    dir.run("gen 1M directory").fails(2, &["it is a directory"]);
    #[cfg(unix)]
    dir.shell(r#""$0" transform upper - - < directory"#).fails(2, &["directory"]);
    assert_eq!(dir.names(), ["directory", "in"]);
}

#[test]
fn missing_files_are_named() {
    let dir = TestDir::new();
    let input = dir.file("in", "abc");
    let old = dir.file("old", "old");
    dir.run("transform upper missing old").fails(2, &["missing", &not_found()]);
    for options in ["", "--overwrite"] {
        dir.run(&format!("transform upper in no/where {options}")).fails(2, &["no/where", "directory"]);
    }
    let not_a_directory = system_text(if cfg!(windows) { 267 } else { 20 });
    dir.run("transform upper in in/out").fails(2, &["in/out", &not_a_directory]);
    run(&mut transform("upper", &input, "".as_ref(), &[])).fails(2, &["OUT"]);
    run(&mut transform("upper", "".as_ref(), &old, &[])).fails(2, &["IN"]);
    let too_long = if cfg!(windows) { "nnn: cannot" } else { "name too long" };
    dir.run(&format!("transform upper in {}", "n".repeat(300))).fails(2, &[too_long]);
    dir.run("transform upper --in-place missing").fails(2, &["missing", &not_found()]);
    assert_eq!(dir.read("old"), b"old");
    assert_eq!(dir.names(), ["in", "old"]);
}

#[test]
fn the_longest_name_can_be_written() {
    let dir = TestDir::new();
    dir.file("in", "abc");
    let long = "n".repeat(255);
    for _ in 0..2 {
        dir.run(&format!("transform upper in {long}")).succeeds();
        assert_eq!(dir.read(&long), b"ABC");
    }
}

#[test]
fn names_need_not_be_utf_8() {
    let dir = TestDir::new();
    #[cfg(unix)]
    let [input, output]: [std::ffi::OsString; 2] =
        [b"in \xff\n".to_vec(), b"out \xfe\t'".to_vec()].map(std::os::unix::ffi::OsStringExt::from_vec);
    // A surrogate without its partner.
    #[cfg(windows)]
    let [input, output]: [std::ffi::OsString; 2] =
        [[0x69, 0xd800], [0x6f, 0xdc00]].map(|units| std::os::windows::ffi::OsStringExt::from_wide(&units));
    let [input, output] = [input, output].map(|name| dir.path().join(name));
    if let (true, Err(error)) = (cfg!(windows), fs::write(&input, "abc")) {
        return println!("skipped: the system makes no such names: {error}");
    }
    fs::write(&input, "abc").unwrap();
    for options in [&[][..], &["--overwrite"], &[]] {
        run(&mut transform("upper", &input, &output, options)).succeeds();
        assert_eq!(fs::read(&output).unwrap(), b"ABC");
    }
    run(fullbore(["probe"]).arg(&output)).succeeds();
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
}
