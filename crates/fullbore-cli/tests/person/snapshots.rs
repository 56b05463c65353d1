//! The state of a large input is determined once before a run and once after it, and passed down in between. The
//! evidence is the trace of the system calls.

use crate::support::*;

/// A length that no other file has, in bytes.
const LEN: usize = 20_000_003;

#[test]
fn a_large_input_is_inspected_once_before_a_run_and_once_after() {
    let dir = TestDir::new();
    dir.files(["one", "other"], bytes(LEN, 1));
    let size = format!("_size={LEN},");
    let options = ["-e", "trace=fstat,newfstatat,statx,open,openat"];
    for strategy in ["method=buffered", "read=mmap,write=buffered,window=4M"] {
        for (line, expected) in [
            ("wc -l one", 2),
            ("sum one", 2),
            ("sum --algorithm sha256 one", 2),
            ("cmp one other", 4),
            // The output is inspected when it is committed.
            ("transform upper one new", 3),
            // Names are resolved before files are opened, and the copy is compared with its source afterwards. No inspection per
            // window or worker.
            ("copy --reflink=never one new", 8),
        ] {
            // An old output of the same length would be counted.
            let _ = fs::remove_file(dir.at("new"));
            let line = format!("{line} --strategy {strategy},workers=2,model=pool,stripe=1M");
            let Some(mut command) = traced(&options, &dir.at("trace"), &dir.command(&line)) else { return };
            run(&mut command).succeeds();
            let calls = fs::read_to_string(dir.at("trace")).unwrap();
            let found: Vec<_> = calls.lines().filter(|call| call.contains(&size)).collect();
            assert_eq!(found.len(), expected, "{line}: {found:#?}");
        }
    }
}
