//! Flags of `grep` beyond the search: PCRE2, commands that read files, links, a configuration file; and lines longer
//! than the memory limit.

use crate::sum::of;
use crate::support::*;

#[test]
fn pcre2_has_look_around_and_backreferences() {
    let dir = TestDir::new();
    dir.file("in", (0..200_000).map(|n| format!("{n} ab{} \u{e9}\n", n % 7)).collect::<String>());
    let has_peer = of(&dir, "grep -P a in").output().is_ok_and(|out| out.status.success());
    if !has_peer {
        println!("skipped: comparing -P: not supported by this grep");
    }
    for pattern in [r"(\d)\1\1\1", r"\d(?= ab3)", r"(?<!9)9 ab", r"(?i)AB[12]", r"^(?:(?!ab4).)*$"] {
        let grep = |flags: &str| run(dir.command(&format!("grep {flags} -P")).args([pattern, "in"]));
        for flags in ["-n", "-c", "-o", "-m3", "-v -c", "-nb --color=always"] {
            let count = |workers: u8| grep(&format!("{flags} --workers {workers}")).succeeds().stdout;
            assert!(count(1) == count(4), "{pattern} {flags}");
        }
        if has_peer {
            let expected = run(of(&dir, "grep -nP").args([pattern, "in"]).env("LC_ALL", "C.UTF-8"));
            assert!(grep("-n").stdout == expected.stdout, "{pattern}");
        }
    }
    dir.run(r"grep (a)\1 in").fails(2, &["--pcre2"]);
    dir.run(r"grep --engine=auto -c (8)\1{4} in").succeeds();
    dir.run("grep -P ( in").fails(2, &["PCRE2"]);
    assert!(dir.run("grep --pcre2-version").succeeds().text().starts_with("PCRE2 10."));
}

/// There are no shell scripts on Windows; a tool's name makes the binary a preprocessor.
#[cfg(windows)]
#[test]
fn preprocessor_output_is_searched() {
    let dir = TestDir::new();
    dir.file("a.up", "NEEDLE\n");
    dir.file("b", "needle\n");
    dir.directories(["bin"]);
    let sum = name_binary(&dir.at("bin"), "sha256sum");
    let pre = sum.to_str().unwrap();
    let grep = |words: &[&str]| run(dir.command("grep --sort=path").args(words));
    assert_eq!(
        grep(&["--pre", pre, "-c", "^[0-9a-f]{64}  ", "a.up", "b"]).succeeds().text(),
        "a.up:1\nb:1\n"
    );
    assert_eq!(grep(&["--pre", pre, "--pre-glob", "*.up", "needle", "a.up", "b"]).text(), "b:needle\n");
    assert_eq!(grep(&["--pre", pre, "--no-pre", "needle", "a.up", "b"]).text(), "b:needle\n");
    // It fails, after it printed a part.
    grep(&["--pre", binary().to_str().unwrap(), "needle", "b"])
        .fails(2, &["preprocessor command failed", "b"]);
    grep(&["--pre", "no-such-program", "needle", "b"]).fails(2, &["no-such-program"]);
}

// Shell scripts.
#[cfg(unix)]
#[test]
fn preprocessor_output_is_searched() {
    let dir = TestDir::new();
    dir.file("a.up", "NEEDLE\n");
    dir.file("b", "needle\n");
    dir.file("lower.sh", "#!/bin/sh\nexec tr A-Z a-z\n");
    // More messages than a pipe holds, while nothing reads them.
    dir.file("noisy.sh", "#!/bin/sh\nhead -c 500000 /dev/zero >&2\necho needle\nexit 3\n");
    for script in ["lower", "noisy"] {
        copy_program(dir.at(&format!("{script}.sh")), &dir.at(script));
    }
    let grep = |words: &str| dir.run(&format!("grep --sort=path {words}"));
    assert_eq!(grep("--pre ./lower needle a.up b").succeeds().text(), "a.up:needle\nb:needle\n");
    for words in ["--pre-glob *.zz", "--no-pre", "--pre="] {
        assert_eq!(grep(&format!("--pre ./lower {words} needle a.up b")).text(), "b:needle\n", "{words}");
    }
    grep("--pre false needle b").fails(2, &["preprocessor command failed", "b"]);
    grep("--pre no-such-program needle b").fails(2, &["no-such-program"]);
    assert_eq!(grep("--pre ./noisy needle b").fails(2, &["failed"]).text(), "needle\n");
    if has("gzip") {
        dir.shell("gzip a.up").succeeds();
        assert_eq!(grep("-z -c NEEDLE a.up.gz").succeeds().text(), "1\n");
        dir.file("bad.gz", "this is none\n");
        grep("-z x bad.gz").fails(2, &["bad.gz"]);
    }
}

#[test]
fn hyperlinks_are_printed_on_request() {
    let dir = TestDir::new();
    let lines: String = (1..300_000).map(|number| format!("line {number}\n")).collect();
    dir.file("in", &lines);
    let grep = |words: &str| {
        let mut command = dir.command("grep --color=always -nH");
        run(command.args(["line 299999", "in"]).args(words.split_whitespace())).succeeds().text()
    };
    let path = match cfg!(windows) {
        true => format!("/{}", slashes(dir.at("in").to_str().unwrap())),
        false => fs::canonicalize(dir.at("in")).unwrap().display().to_string(),
    };
    let link = format!("\x1b]8;;x://{path}#299999\x1b\\");
    let text = grep("--hyperlink-format x://{path}#{line}");
    assert!(text.starts_with(&link) && text.contains("\x1b]8;;\x1b\\"), "{text:?}");
    let plain = grep("");
    assert!(!plain.contains("\x1b]8"), "{plain:?}");
    assert_eq!(grep("--hyperlink-format file --no-hyperlink-format"), plain);
    assert_eq!(grep("--hyperlink-format=none"), plain);
    run(&mut fullbore(["grep", "--hyperlink-format", "{nothing}", "a"])).fails(2, &["--hyperlink-format"]);
}

#[test]
fn a_configuration_file_has_flags_before_those_of_the_command_line() {
    let dir = TestDir::new();
    let file = dir.file("in", "Needle\nneedle\n");
    let config = dir.file("config", "# a comment\n\n  --ignore-case\n--max-count\n1\n");
    let grep = |words: &[&str], config: &Path| {
        run(fullbore(["grep"]).args(words).arg(&file).env("FULLBORE_GREP_CONFIG_PATH", config)).succeeds()
    };
    assert_eq!(grep(&["needle"], &config).text(), "Needle\n");
    assert_eq!(grep(&["-s", "needle"], &config).text(), "needle\n");
    assert_eq!(grep(&["--no-config", "-c", "needle"], &config).text(), "1\n");
    let missing = grep(&["-c", "needle"], &dir.at("missing"));
    assert!(missing.stderr.contains("FULLBORE_GREP_CONFIG_PATH"), "{missing}");
    assert_eq!(missing.text(), "1\n");
    // A word that is a value is no flag.
    assert_eq!(grep(&["-e", "--no-config", "-e", "NEEDLE"], &config).text(), "Needle\n");
    // The command line is parsed alone first.
    let broken = dir.file("broken", "--no-such-flag\n");
    for flag in ["--help", "-h", "--version", "--pcre2-version"] {
        assert_eq!(grep(&[flag], &broken).stderr, "", "{flag}");
    }
}

#[test]
fn the_variable_of_rg_counts_under_its_name_alone() {
    let dir = TestDir::new();
    dir.file("in", "Needle\nneedle\n");
    dir.file("of-rg", "--count\n");
    dir.file("own", "--max-count=1\n--ignore-case\n");
    let rg = name_binary(dir.path(), "rg");
    for (named, own, wanted) in [
        (true, false, "1\n"),
        (true, true, "Needle\n"),
        (false, false, "needle\n"),
        (false, true, "Needle\n"),
    ] {
        let mut command = if named { program(&rg, [""; 0]) } else { fullbore(["grep"]) };
        command.args(["needle", "in"]).current_dir(dir.path()).env("RIPGREP_CONFIG_PATH", "of-rg");
        command.env_remove("FULLBORE_GREP_CONFIG_PATH");
        if own {
            command.env("FULLBORE_GREP_CONFIG_PATH", "own");
        }
        assert_eq!(run(&mut command).succeeds().text(), wanted, "rg: {named}, own variable: {own}");
    }
}

#[test]
fn a_wrong_flag_in_the_configuration_file_is_reported_with_the_file() {
    let dir = TestDir::new();
    dir.file("in", "needle\n");
    let grep = |words: &str, flags: &str| {
        let config = dir.file("flags", flags);
        let mut command = dir.command("grep needle in");
        run(command.args(words.split_whitespace()).env("FULLBORE_GREP_CONFIG_PATH", config)).fails(2, &[])
    };
    for flag in ["--no-such-flag", "--context=many", "-C"] {
        let stderr = grep("", flag).stderr;
        assert!(stderr.contains("flags: ") && stderr.contains("CONFIG_PATH"), "{flag}: {stderr}");
    }
    let stderr = grep("--no-such-flag", "--ignore-case").stderr;
    assert!(!stderr.contains("CONFIG_PATH"), "the command line is wrong: {stderr}");
}

#[test]
fn messages_besides_results_match() {
    let dir = TestDir::new();
    dir.file("in", "needle\n");
    dir.file(".ignore", "in\n");
    dir.run("grep needle").fails(2, &["No files were searched"]);
    assert_eq!(dir.run("grep --no-messages needle").fails(2, &[]).stderr, "");
    dir.run("grep --debug needle").fails(2, &["DEBUG", "ignore"]);
    assert!(dir.run("grep --trace needle in").succeeds().stderr.contains("TRACE"));
    assert!(dir.run("grep --generate man").succeeds().text().contains("hyperlink\\-format"));
    for shell in ["bash", "zsh", "fish", "powershell"] {
        let text = dir.run(&format!("grep --generate complete-{shell}")).succeeds().text();
        assert!(text.contains("hyperlink-format"), "{shell}");
    }
    dir.run("grep --generate nothing").fails(2, &["nothing"]);
}

#[test]
fn messages_about_ignore_files_are_printed_with_the_list_of_files() {
    let dir = TestDir::new();
    dir.file("in", "");
    dir.file(".ignore", "{x\n");
    let files = |words: &str| dir.run(&format!("grep --files {words}")).succeeds();
    let all = files("--ignore-file nofile");
    assert_contains(&all.stderr, &["nofile", "{x"]);
    assert_eq!(all.text(), "in\n");
    for flag in ["--no-messages", "--no-ignore-messages"] {
        assert_eq!(files(&format!("--ignore-file nofile {flag}")).stderr, "", "{flag}");
    }
}

#[test]
fn the_list_of_files_has_the_common_flags() {
    let dir = TestDir::new();
    dir.file("in", "");
    assert_contains(&dir.run("grep --files --time --workers 1").succeeds().stderr, &["real"]);
    dir.run("grep --files --strategy nosuch").fails(2, &["nosuch"]);
}

/// `rg` walks several paths with several threads, whose messages differ.
#[test]
fn message_about_a_missing_path_matches() {
    let dir = TestDir::new();
    dir.file("in", "needle\n");
    for (words, names) in [("nope in", 1), ("nope", 2), ("--sort path nope in", 2), ("--files in nope", 1)] {
        let pattern = if words.starts_with("--files") { "" } else { "needle" };
        let stderr = dir.run(&format!("grep {pattern} {words}")).fails(2, &["nope: "]).stderr;
        assert_eq!(stderr.matches("nope").count(), names, "{words}: {stderr}");
    }
}

#[test]
fn line_longer_than_the_memory_is_searched() {
    let dir = TestDir::new();
    let x = |count: usize| vec![b'x'; count << 20];
    let input = [b"first needle\n", &x(160)[..], b" needle ", &x(60), b"\nlast needle\n"].concat();
    dir.file("long", &input);
    // Only anonymous memory counts here: mapped pages can be reclaimed at any time.
    let line = r#"ulimit -d 150000; exec "$@""#;
    let searches = ["-c needle", "-n needle", "-ob n..dle", "-c -v xyz"];
    for words in cases("searches of a long line", 2, searches) {
        // Windows has no such limit, and no `grep`.
        if cfg!(windows) {
            let ours = dir.run(&format!("grep --memory 16M {words} long")).succeeds();
            let lines = ours.stdout.iter().filter(|&&byte| byte == b'\n').count();
            assert_eq!(lines, if words.starts_with("-c") { 1 } else { 3 });
            continue;
        }
        let mut limited = Command::new("bash");
        limited.args(["-c", line, "bash"]).arg(binary()).args(["grep", "--memory", "16M"]);
        limited.args(words.split(' ')).arg("long").current_dir(dir.path()).env("XDG_CONFIG_HOME", NOWHERE);
        let ours = run(limited.stdin(Stdio::null())).succeeds();
        let theirs = run(&mut of(&dir, &format!("grep {words} long")));
        assert!(ours.stdout == theirs.stdout, "{words:?}");
    }
    let piped =
        |memory: &str| run_with(&mut dir.command(&format!("grep -c needle --memory {memory}")), &input);
    // Bytes in a pipe of Windows cannot be looked at before they are read: it is searched as a whole.
    let limit = if cfg!(windows) { ["limit", "exceeded"] } else { ["longer than", "32 MiB"] };
    piped("16M").fails(2, &[limit[0], limit[1], "--memory"]);
    assert_eq!(piped("2G").succeeds().text(), "3\n");
    let coded = |memory: &str| dir.run(&format!("grep -c -Elatin1 needle --memory {memory} long"));
    coded("16M").fails(2, &["long", "--memory 32M"]);
    assert_eq!(coded("4G").succeeds().text(), "3\n");
}

/// A panic of a library is an error of one file.
#[test]
fn a_panic_of_ripgreps_printer_ends_one_search() {
    let dir = TestDir::new();
    let block = "xxx\nabc\ndefxxxabc\ndefxxx\n";
    dir.file("a", "abc\ndef\n");
    dir.file("b", format!("{block}{block}xxx\n"));
    dir.file("c", "abc\ndef\n");
    let ended = run(dir.command("grep -U --json -m1 --sort path").args(["abc\ndef", "a", "b", "c"]));
    let text = ended.text();
    for name in ["a", "c"] {
        let line = format!("{{\"type\":\"begin\",\"data\":{{\"path\":{{\"text\":\"{name}\"}}}}}}");
        assert!(text.contains(&line), "{text}");
    }
    // Versions of the library without this defect print the third file's result too.
    if ended.code() != 0 {
        ended.fails(2, &["b: "]);
    }
}

/// Lines that are printed once for each match, and short lines after a long path.
#[cfg(unix)]
#[test]
fn output_longer_than_the_memory_is_streamed() {
    let dir = TestDir::new();
    let line = "foo(x);".repeat(6000) + "\n";
    let deep = ["d"; 3].map(|name| name.repeat(200)).join("/");
    dir.directories(["sub", &deep]);
    dir.file("small", &line);
    dir.file("sub/small", &line);
    dir.file("large", "x\n".repeat(600_000) + &line);
    dir.file(&format!("{deep}/small"), "x\n".repeat(500_000));
    dir.file(&format!("{deep}/large"), "x\n".repeat(600_000));
    let searches = [
        ("--vimgrep foo small", 6000),
        ("--vimgrep foo sub", 6000),
        ("--vimgrep foo small nothing small", 12_000),
        ("--vimgrep foo large", 6000),
        ("--vimgrep --no-mmap foo large", 6000),
        ("--vimgrep foo < large", 6000),
        ("--vimgrep foo /dev/stdin", 6000),
        (&format!("-H x {deep}/small"), 500_000),
        (&format!("-H x {deep}/large"), 600_000),
    ];
    dir.file("nothing", "");
    for (words, lines) in searches {
        let grep = format!("ulimit -d 150000; cat large | \"$0\" grep --memory 16M {words} | wc -l");
        assert_eq!(dir.shell(&grep).succeeds().text().trim(), lines.to_string(), "{words}");
    }
}

/// It has no length; a late NUL ends the search in parts.
#[cfg(target_os = "linux")]
#[test]
fn generated_file_is_searched_again_from_its_start() {
    let dir = TestDir::new();
    let mut sleep = Command::new("sleep");
    sleep.arg("100").env_clear().env("A", "x\n".repeat(50_000));
    for number in 0..12 {
        sleep.env(format!("B{number}"), "y".repeat(100_000));
    }
    let mut running = start(&mut sleep);
    let environment = format!("/proc/{}/environ", running.child.id());
    // Until it runs, the environment is that of this process.
    let is_its_own = || fs::read(&environment).is_ok_and(|bytes| bytes.starts_with(b"A=x\n"));
    assert_eventually("the environment of the program", true, is_its_own);
    dir.file("copy", fs::read(&environment).unwrap());
    for words in ["-n ^x*$ -m3", "-n ^x*$", "-n y", "-c x --stats"] {
        let grep = |path: &str| {
            let text = dir.run(&format!("grep --no-mmap {words} {path}")).succeeds().text();
            text.lines().filter(|line| !line.contains(" seconds ")).map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(grep(&environment), grep("copy"), "{words}");
    }
    running.kill();
    running.end();
}

#[test]
fn bytes_of_a_file_are_counted_once() {
    let dir = TestDir::new();
    dir.file("big", "needle x\nhay\n".repeat(100_000));
    dir.file("small", "needle x\nhay\n".repeat(1000));
    let mut searches = vec![
        ("-c needle small", "13.0 kB"),
        ("-c needle big", "1.30 MB"),
        ("--no-mmap -c needle big", "1.30 MB"),
        (r"-U -c needle\s+x big", "1.30 MB"),
        ("-c -E latin1 needle big", "1.30 MB"),
    ];
    if cfg!(unix) {
        searches.push(("--pre cat -c needle big", "1.30 MB"));
    }
    for (words, bytes) in searches {
        let stderr = dir.run(&format!("grep --time {words}")).succeeds().stderr;
        assert!(stderr.contains(&format!("\n{bytes} in all")), "{words}: {stderr}");
    }
}

#[test]
fn grep_explains_why_a_file_is_not_cut() {
    let dir = TestDir::new();
    dir.file("big", "needle x\nhay\n".repeat(100_000));
    let coded = "\u{feff}needle\nhay\nfoo x\n".repeat(50_000);
    dir.file("utf16", coded.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>());
    let explained = |words: &str| dir.run(&format!("grep --explain -c {words}")).succeeds().stderr;
    assert!(explained(r"-U needle\s+x big").contains("may match over several lines"));
    assert!(explained("needle utf16").contains("byte order mark"));
    let cut = explained("needle big");
    assert!(cut.contains("big:") && !cut.contains("as a whole"), "{cut}");
    let len = dir.at("big").metadata().unwrap().len();
    assert!(len > 1 << 20, "the file is searched in parts");
}
