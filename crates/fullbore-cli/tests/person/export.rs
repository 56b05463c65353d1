//! `fullbore bench export`: a measured cell as a fio job.

use crate::support::*;

const CELLS: &str = "
    [[experiment]]
    name = 'own'
    title = 'Own'
    question = 'How fast?'
    axis = 'none'
    [[experiment.grid]]
    action = 'read'
    job = 'read'
    strategy = ['method=buffered,request=64K,workers=1,model=serial']
    cache = 'warm'
    [[experiment.grid]]
    action = 'read'
    strategy = ['method=stdio,request=64K,workers=1,model=serial']
    cache = 'warm'
";

#[test]
fn cell_and_choice_become_valid_fio_jobs() {
    let dir = TestDir::new();
    dir.file("own.toml", CELLS);
    let options = "--time 10 --size 16M --precision 50 --no-save --output fullbore-results-1";
    dir.run(&format!("bench run own.toml {options}")).succeeds();

    let export = |words: &str| dir.run(&format!("bench export --fio {words}"));
    let id = "own/read/method=buffered,request=64K,workers=1,model=serial/cache=warm";
    let job = export(id).succeeds().text();
    assert_contains(&job, &["ioengine=psync\n", "bs=65536\n", "pre_read=1\n"]);
    // The system's name of the current directory; fio separates files by colons.
    let place = if cfg!(windows) { dir.path().to_owned() } else { dir.path().canonicalize().unwrap() };
    let file = place.join("fullbore-fio-test").display().to_string().replace(':', "\\:");
    assert!(job.contains(&format!("filename={file}\n")), "{job}");
    let chosen = export("--job read --from fullbore-results-1").succeeds().text();
    assert!(chosen.contains("[read, warm]\n") && chosen.contains("ioengine=psync\n"), "{chosen}");

    if let Some(()) = or_skip("check by fio", installed("fio")) {
        dir.file("job.fio", &job);
        run(Command::new("fio").args(["--parse-only", "job.fio"]).current_dir(dir.path())).succeeds();
    }

    let other = "own/read/method=stdio,request=64K,workers=1,model=serial/cache=warm";
    export(other).fails(2, &["no counterpart", "FILE*"]);
    export("own/write").fails(2, &["no cell"]);
    export("--job dance").fails(2, &["read, warm"]);
    export("--job read --from missing.json").fails(2, &["missing.json"]);
    export("").fails(2, &["CELL"]);
    assert_eq!(dir.names().iter().filter(|name| name.contains("fio-test")).count(), 0, "no file is created");
}
