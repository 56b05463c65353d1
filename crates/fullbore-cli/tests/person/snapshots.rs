//! The state of a large input is determined once before a run and once after it, and passed down in between. The
//! evidence is the trace of the system calls.

use crate::support::*;
/// A length that no other file has, in bytes.
const LEN: usize = 20_000_003;

/// The lines of the trace of one command.
fn traced(directory: &TestDir, arguments: &[&Path]) -> Option<Vec<String>> {
    let trace = directory.at("trace");
    let plain = fullbore(arguments);
    let mut command = Command::new("strace");
    command.args(["-f", "-e", "trace=fstat,newfstatat,statx,open,openat", "-o"]).arg(&trace);
    command.arg(plain.get_program()).args(plain.get_args());
    for (name, value) in plain.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    match command.current_dir(directory.path()).output() {
        Ok(output) if output.status.success() => {
            let text = std::fs::read_to_string(&trace).unwrap();
            Some(text.lines().map(str::to_owned).collect())
        }
        other => {
            // Without tracing the command itself must work.
            run(fullbore(arguments).current_dir(directory.path())).succeeds();
            println!("skipped: strace cannot trace here: {other:?}");
            None
        }
    }
}

#[test]
fn a_large_input_is_inspected_once_before_a_run_and_once_after() {
    let directory = TestDir::new();
    let content = bytes(LEN, 1);
    let (one, other) = (directory.file("one", &content), directory.file("other", &content));
    let new = directory.at("new");
    let size = format!("_size={LEN},");
    let words = |line: &str| line.split(' ').map(|word| Path::new(word).to_owned()).collect::<Vec<_>>();
    for strategy in ["method=buffered", "read=mmap,write=buffered,window=4M"] {
        let strategy = format!("--strategy {strategy},workers=2,model=pool,stripe=1M");
        for (line, files, expected) in [
            ("wc -l", vec![&one], 2),
            ("sum", vec![&one], 2),
            ("sum --algorithm sha256", vec![&one], 2),
            ("cmp", vec![&one, &other], 4),
            // The output is inspected when it is committed.
            ("transform upper", vec![&one, &new], 3),
        ] {
            // An old output of the same length would be counted.
            let _ = std::fs::remove_file(&new);
            let mut arguments = words(&format!("{line} {strategy}"));
            arguments.extend(files.into_iter().cloned());
            let arguments: Vec<_> = arguments.iter().map(|argument| argument.as_path()).collect();
            let Some(calls) = traced(&directory, &arguments) else { return };
            let found: Vec<_> = calls.iter().filter(|call| call.contains(&size)).collect();
            assert_eq!(found.len(), expected, "{line} {strategy}: {found:#?}");
        }
    }
}
