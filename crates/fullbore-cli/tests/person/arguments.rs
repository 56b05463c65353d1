//! The command line: errors name the wrong argument and a remedy, help fits a terminal, completions and manual pages
//! have all flags.

use crate::support::*;

#[test]
fn wrong_arguments_are_named_and_nothing_is_written() {
    let dir = TestDir::new();
    dir.file("in", "abc");
    for (words, told) in [
        ("shift in out", &["shift", "N"][..]),
        ("shift:ten in out", &["ten"]),
        ("xor:zz in out", &["zz"]),
        ("tolower in out", &["tolower", "lower"]),
        ("upper in out --strategy fastest", &["--strategy", "fastest", "cci-mt"]),
        ("upper in out --strategy method=magic", &["magic", "buffered", "uring"]),
        ("upper in out --strategy size=4K", &["size", "request"]),
        ("upper in out --strategy request=0", &["request=0"]),
        ("upper in out --strategy request=4Q", &["request=4Q"]),
        ("upper in out --strategy workers=0", &["workers=0", "1 to"]),
        ("upper in out --strategy depth=99999", &["depth=99999", "1 to"]),
        ("upper in out --sync always", &["always", "none", "full"]),
        ("upper in out --progress perhaps", &["perhaps", "never"]),
        ("upper in out --in-place", &["--in-place"]),
        ("upper in out --workers 0", &["--workers", "1..=256"]),
        ("upper in out --workers many", &["--workers", "many"]),
        ("upper in out --cache flush", &["--cache", "flush", "direct"]),
        ("upper in out --memory 64K", &["--memory", "1M"]),
        ("upper in out --memory 64X", &["--memory", "64X"]),
        ("upper in out --cache direct --strategy read=mmap", &["mmap", "page cache"]),
        ("upper in out --cache keep --strategy method=uncached", &["uncached", "cache policy"]),
        ("upper in out --strategy null --workers 2", &["--strategy", "null"]),
    ] {
        dir.run(&format!("transform {words}")).fails(2, told);
    }
    dir.run("transform upper in").fails(2, &["OUT"]);
    dir.run("transform upper --in-place -").fails(2, &["standard input"]);
    dir.run("transfrom").fails(2, &["transfrom", "transform"]);
    dir.run("gen many -").fails(2, &["many"]);
    dir.run("gen 15E out").fails(2, &["out", "2^63"]);
    dir.run("gen -5 -").fails(2, &["-5"]);
    dir.run("gen 1M - --workers 257").fails(2, &["--workers", "1..=256"]);
    dir.run("gen 1M - --content music").fails(2, &["music", "random"]);
    dir.run("gen 1M - --content text --line 0").fails(2, &["line"]);
    dir.run("gen 1M - --line 72").fails(2, &["--content text"]);
    dir.run("completions cmd").fails(2, &["cmd", "bash"]);
    dir.run("man missing/place").fails(2, &["missing/place", "there is no directory"]);
    assert_eq!(dir.names(), ["in"]);
}

#[test]
fn transform_and_gen_have_the_flags_of_the_tools() {
    let dir = TestDir::new();
    dir.file("in", bytes(8 << 20, 3));
    for command in ["transform none in out", "gen 8M out"] {
        for (flags, parts) in [
            ("--workers 1", &["workers=1,model=serial"][..]),
            ("--workers 3", &["workers=3"]),
            ("--workers 5 --workers 3", &["workers=3"]),
            ("--strategy workers=5,request=64K --workers 3", &["workers=3", "request=64K"]),
            ("--workers 3 --strategy workers=5,request=64K", &["workers=3", "request=64K"]),
            ("--cache drop --cache keep", &["cache=keep"]),
            ("--strategy cci,cache=drop --cache keep", &["cache=keep"]),
            ("--memory 1M --strategy request=1M,workers=4,depth=1", &["workers=1", "budget=1M"]),
            ("--memory 16M --strategy budget=1M", &["budget=16M"]),
        ] {
            let ended = dir.run(&format!("{command} {flags} --explain --json"));
            let summary = ended.json();
            let strategy = summary["strategy"].as_str().unwrap();
            for part in parts {
                let given = strategy.split(',').any(|field| part.split(',').any(|part| part == field));
                assert!(given, "{command} {flags}: {strategy}");
                assert!(ended.stderr.contains(part), "{command} {flags}: {ended}");
            }
            assert_eq!(summary["bytes"], 8 << 20, "{command} {flags}");
        }
        // A file system that cannot bypass the cache gets a note.
        let summary = dir.run(&format!("{command} --cache direct --json")).json();
        let (strategy, notes) = (summary["strategy"].to_string(), summary["notes"].to_string());
        assert!(strategy.contains("direct") || notes.contains("instead of direct"), "{summary}");
    }
}

#[test]
fn help_fits_a_terminal_of_80_columns() {
    let commands = "|bench|bench list|bench show|bench run|report|transform|gen|probe|profile|profile show|profile forget|\
                    completions|man";
    for words in commands.split('|') {
        for flag in ["-h", "--help"] {
            let mut command = fullbore(words.split_whitespace());
            let text = run(command.arg(flag).env("COLUMNS", "80")).succeeds().text();
            assert!(text.contains("Usage: fullbore"), "{words:?}: {text}");
            let wide = text.lines().find(|line| line.chars().count() > 80);
            assert_eq!(wide, None, "{words:?} {flag}");
            assert!(
                words != "report" || text.contains("--fail-on") && text.contains("Exit status"),
                "{text}"
            );
        }
    }
    let text = run(fullbore(["--version"]).env("COLUMNS", "80")).succeeds().text();
    assert_eq!(text.trim(), format!("fullbore {}", env!("CARGO_PKG_VERSION")));
}

#[test]
fn shells_get_completions() {
    let dir = TestDir::new();
    for shell in ["elvish", "powershell", "bash", "zsh", "fish"] {
        let text = dir.run(&format!("completions {shell}")).succeeds().text();
        assert_contains(&text, &["transform", "gen", "probe", "profile", "overwrite", "strategy"]);
        let script = dir.file(shell, &text);
        // PowerShell has no flag that only checks a script.
        if shell == "powershell" {
            continue;
        }
        let Some(()) = or_skip("completions", installed(shell)) else { continue };
        let check = if shell == "elvish" { "-compileonly" } else { "-n" };
        let ended = run(std::process::Command::new(shell).arg(check).arg(&script)).succeeds();
        assert!(ended.stderr.is_empty(), "{ended}");
    }
}

#[test]
fn man_pages_are_written_for_every_command() {
    let dir = TestDir::new();
    dir.run("man .").succeeds();
    let names = dir.names();
    for page in ["", "-transform", "-gen", "-probe", "-profile"] {
        assert!(names.contains(&format!("fullbore{page}.1")), "{page}: {names:?}");
    }
    for name in names {
        let page = fs::read_to_string(dir.at(&name)).unwrap();
        assert!(page.contains("\"fullbore 0.1.0\""), "{name}");
        assert!(page.contains(".TH") && page.contains(".SH NAME") && page.contains(".SH SYNOPSIS"), "{name}");
        if has("groff") {
            let mut groff = Command::new("groff");
            let said = run(groff.args(["-man", "-Tutf8", "-z", "-ww"]).arg(dir.at(&name))).succeeds().stderr;
            // Lines that cannot be stretched to the margin are ragged, which is harmless.
            assert!(said.lines().all(|line| line.contains("cannot adjust line")), "{name}: {said}");
        }
    }
}

#[test]
fn flags_are_repeated_and_abbreviated_as_with_the_gnu_tools() {
    let dir = TestDir::new();
    let one = dir.file("one", "a b\nc\n");
    let text = |words: &str| dir.run(words).succeeds().text();
    text("cp -rR -vv -a -a --reflink=auto --reflink=never one two");
    assert_eq!(dir.read("two"), fs::read(&one).unwrap());
    text("cp --refl=nev --rec --sync d one three");
    assert_eq!(text("wc -ll --w --tot=al --total n one"), "2 3 one\n");
    assert_eq!(text("wc --m -- one"), "3 one\n");
    let list = text("sum -tb --te --alg md5 -a md5 one");
    let checked = run_with(&mut dir.command("sum -c -c --c"), list.as_bytes()).succeeds();
    assert_eq!(checked.text(), "one: OK\n");
    assert_eq!(text("cmp --s -ss one two"), "");
    dir.run("cp --no x y").fails(1, &["--no"]);
    dir.run("wc --total=a").fails(1, &["'a'", "always"]);
    assert_eq!(dir.names(), ["one", "three", "two"]);
}

#[test]
fn called_by_a_tools_name_the_binary_is_that_tool() {
    let dir = TestDir::new();
    let one = dir.file("one", "a b\nc\n");
    for name in ["wc", "rg", "sha256sum", "cp", "cmp"] {
        name_binary(dir.path(), name);
    }
    let call = |words: &str| {
        let mut words = words.split(' ');
        let name = format!("{}{}", words.next().unwrap(), std::env::consts::EXE_SUFFIX);
        run(program(&dir.at(&name), words).arg(&one).current_dir(dir.path()))
    };
    assert_eq!(call("wc -l").succeeds().text(), format!("2 {}\n", one.display()));
    assert_eq!(call("rg -c b").succeeds().text(), "1\n");
    assert!(call("sha256sum").succeeds().text().starts_with("721a7916ccfa5684"));
    assert!(call("wc --version").succeeds().text().starts_with("wc (fullbore) "));
    assert!(call("cp --help").succeeds().text().contains("Usage: cp "));
    let hint = "Try 'wc --help' for more information.";
    call("wc --missing").fails(1, &["wc: unrecognized option '--missing'\n", hint]);
    call("wc -z").fails(1, &["wc: invalid option -- 'z'\n", hint]);
    let ambiguous = "wc: ambiguous argument 'a' for '--total'\nValid arguments are:\n  - 'auto'\n";
    call("wc --total=a").fails(1, &[ambiguous]);
    call("cp --reflink=x").fails(1, &["cp: invalid argument 'x' for '--reflink'\n"]);
    call("cp --archive=x").fails(1, &["cp: option '--archive' doesn't allow an argument\n"]);
    call("cmp --lim=1").fails(2, &["cmp: unrecognized option '--lim=1'"]);
    call("cp missing").fails(1, &["cp: "]);
}
