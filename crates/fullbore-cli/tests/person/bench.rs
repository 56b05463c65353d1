//! `fullbore bench`: the quick run, its results, and clean-up.

use crate::report::results;
use crate::support::*;
use fullbore_bench::document::{Cell, Choice, Document, Proof, Regime};

pub(crate) fn document(path: &Path) -> Document {
    Document::read(fs::File::open(path).unwrap()).unwrap()
}

/// Runs `command` with each of the times in seconds until its results in the folder `results` suffice; returns what it
/// printed, and the results. A busy machine needs longer than an idle one.
pub(crate) fn measure_until(
    dir: &TestDir,
    results: &str,
    times: &[u32],
    command: impl Fn(u32) -> String,
    enough: impl Fn(&Document) -> bool,
) -> (String, Document) {
    for &seconds in times {
        let text = dir.run(&command(seconds)).succeeds().text();
        let document = document(&dir.at(results).join("results.json"));
        if enough(&document) {
            return (text, document);
        }
        fs::remove_dir_all(dir.at(results)).unwrap();
    }
    panic!("too few cells have sound samples, even of the longest of {times:?} seconds");
}

#[test]
fn quick_run_measures_reports_and_saves_a_usable_profile() {
    let dir = TestDir::new();
    let results = dir.at("results");
    // In a short run on a busy machine, many cells have no sample.
    let measured = |document: &Document| {
        let measurable = || document.cells.iter().filter(|cell| cell.skipped.is_none());
        let measured = measurable().filter(|cell| cell.summary.is_some()).count();
        (measured, measurable().count() - measured)
    };
    let (text, document) = measure_until(
        &dir,
        "results",
        &[12, 24, 60, 120],
        |seconds| format!("bench --dir . --size 32M --time {seconds} --output results"),
        |document| {
            // The last assertion is about this job.
            let used = |choice: &Choice| choice.job == "transform to a new file, warm";
            measured(document).0 > 2 * measured(document).1 && document.findings.choices.iter().any(used)
        },
    );
    assert_contains(&text, &["Use this", "Bulk read", "Warnings", "profile:"]);
    assert!(text.lines().all(|line| line.chars().count() <= 120), "{text}");
    assert_eq!(names(&results), ["report.html", "results.csv", "results.json"]);
    assert_eq!(dir.names(), ["config", "results"], "the test files are removed");

    assert_eq!(document.run.file_bytes, 32 << 20);
    assert_eq!(document.run.complete, measured(&document).1 == 0);
    let warm = document.cells.iter().flat_map(|cell| {
        let wanted = cell.labels.cache.is_some_and(|cache| cache.word() == "warm");
        cell.samples.iter().filter(move |_| wanted)
    });
    let confirmed: Vec<_> = warm.filter(|sample| sample.proof == Proof::Confirmed).collect();
    assert!(!confirmed.is_empty(), "no warm state is proved");
    for sample in confirmed {
        // The system may evict a few pages before a sample: 99% are enough.
        let (cached, total) = (sample.cached_before_bytes.unwrap(), sample.cache_total_bytes.unwrap());
        assert!(cached as f64 >= 0.99 * total as f64, "the warm state is proved: {cached} of {total} bytes");
    }
    let html = fs::read_to_string(results.join("report.html")).unwrap();
    assert!(html.contains("Strategy chosen for each job") && !html.contains("https://"));
    let rows = fs::read_to_string(results.join("results.csv")).unwrap().lines().count();
    assert_eq!(rows, 1 + document.cells.iter().map(|cell| cell.samples.len()).sum::<usize>());

    dir.file("in", vec![7; 3 << 20]);
    let explained = dir.run("transform shift:1 --explain in out").succeeds().stderr;
    assert!(explained.contains(" here on 20"), "{explained}");
    assert_eq!(dir.read("out"), vec![8; 3 << 20]);
}

// A file system in memory.
#[cfg(target_os = "linux")]
#[test]
fn memory_file_system_reports_unmeasurable_cells() {
    let Ok(dir) = tempfile::tempdir_in("/dev/shm") else { return println!("skipped: no /dev/shm") };
    let results = TestDir::new();
    let words = "bench --time 10 --size 16M --no-save --json --output results --dir";
    let ended = run(results.command(words).arg(dir.path()));
    let document = Document::parse(&ended.succeeds().text()).unwrap();
    let is_cold = |cell: &&Cell| cell.labels.cache.is_some_and(|cache| cache.word() == "cold");
    let cold: Vec<_> = document.cells.iter().filter(is_cold).collect();
    assert!(!cold.is_empty());
    for cell in cold {
        let told = cell.skipped.as_ref().is_some_and(|reason| reason.contains("memory"));
        assert!(told, "{}: {:?}", cell.id, cell.skipped);
    }
    assert!(!results.at("config").exists(), "--no-save saves nothing");
    assert!(names(dir.path()).is_empty());
}

// Signals.
#[cfg(unix)]
#[test]
fn interrupted_run_leaves_no_files() {
    let interrupted = |signal: Signal, wanted: i32, after: u64| {
        let dir = TestDir::new();
        let running = start(&mut dir.command("bench --dir . --time 24 --size 32M"));
        sleep(Duration::from_millis(after));
        running.signal(signal);
        assert_eq!(running.end().code(), wanted, "after {after} ms");
        // Partial results are kept.
        let left: Vec<_> =
            dir.names().into_iter().filter(|name| !name.starts_with("fullbore-results")).collect();
        assert_eq!(left, Vec::<String>::new(), "after {after} ms");
    };
    // At once, as they mostly wait.
    thread::scope(|scope| {
        for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
            for after in [30, 150, 700, 2500, 7000] {
                scope.spawn(move || interrupted(signal, code, after));
            }
        }
    });
}

#[test]
fn unmeasurable_directories_are_rejected_first() {
    let dir = TestDir::new();
    dir.file("file", "x");
    dir.directories(["taken"]);
    for (words, told) in [
        ("bench --dir . --size 1K", ["too small", "--size"]),
        ("bench --dir . --size 1000T", ["would leave less than", "--size"]),
        ("bench --dir . --time 1", ["--time"; 2]),
        ("bench --dir missing", ["missing", "--dir"]),
        ("bench run devices --dir . --dir taken/..", ["taken/..", "twice"]),
        ("bench --dir file", ["file", "irectory"]),
        ("bench --dir . --output taken", ["taken", "--output"]),
        // Without results there is advice.
        ("bench export --fio --job read", ["--from"; 2]),
        ("predict read request=64K", ["--results", "fullbore bench"]),
    ] {
        let ended = dir.run(words).fails(2, &told);
        assert!(!ended.stderr.contains(".fullbore-bench-"), "{ended}");
    }
    assert_eq!(dir.names(), ["file", "taken"]);
}

/// A set of two cells that never reach the target precision.
pub(crate) const TWO_CELLS: &str = "
    [[experiment]]
    name = 'own'
    title = 'An experiment of my own'
    question = 'Which of two?'
    axis = 'request'
    [[experiment.grid]]
    action = 'read'
    strategy = ['method=buffered,workers=1']
    request = ['4K', '64K']
    order = 'random'
    cache = 'warm'
";

#[test]
fn experiments_are_listed_shown_and_run_by_name_or_from_a_file() {
    let dir = TestDir::new();
    let listed = dir.run("bench list").succeeds().text();
    assert!(listed.lines().all(|line| line.chars().count() <= 80), "{listed}");
    assert_contains(&format!("\n{listed}"), &["\nout-of-box", "\nunbuffered", "\nfile-size"]);
    let json = dir.run("bench list --json").succeeds().json();
    assert_eq!(json.as_array().unwrap().len(), listed.lines().count());

    // The output of `show` is valid input of `run`.
    let shown = dir.run("bench show roof").succeeds().text();
    dir.file("shown.toml", &shown);
    dir.file("own.toml", TWO_CELLS);
    let words = "bench run shown.toml own.toml --size 16M --output results";
    let (text, document) = measure_until(
        &dir,
        "results",
        &[15, 45, 90],
        |seconds| format!("{words} --precision 50 --time {seconds}"),
        |document| document.cells.iter().all(|cell| cell.summary.is_some()),
    );
    assert!(text.contains("own") && text.contains("Roof: memory"), "{text}");
    assert!(text.lines().count() <= 60, "{text}");
    let all = dir.run("report --full results").succeeds().text();
    assert!(all.contains("Peak of each path") && all.len() > text.len(), "{all}");
    let ids: Vec<&str> = document.cells.iter().map(|cell| cell.id.as_str()).collect();
    // Reads and copies of memory by 1, 2, 4 … workers, and two cells of its own.
    let processors = fullbore::probe::processors();
    let counts = 1 + (0..).map(|power| 1 << power).take_while(|&count| count < processors).count();
    assert_eq!(document.cells.len(), 2 * counts + 2, "{ids:?}");
    assert!(!document.run.interrupted);
    assert!(!dir.at("config").exists(), "no job was measured, so no profile is saved");
}

#[test]
fn bad_experiments_are_rejected_with_place_and_advice() {
    let dir = TestDir::new();
    dir.file("wrong.toml", TWO_CELLS.replace("'read'", "'juggle'"));
    dir.file("text.toml", "not toml");
    dir.run("bench run nothing-of-that-name").fails(2, &["nothing-of-that-name", "bench list"]);
    dir.run("bench run missing.toml").fails(2, &["missing.toml"]);
    dir.run("bench run wrong.toml").fails(2, &["wrong.toml", "own", "juggle"]);
    dir.run("bench run text.toml").fails(2, &["text.toml"]);
    dir.run("bench run").fails(2, &["NAME|FILE.toml"]);
    dir.run("bench run roof --precision 0").fails(2, &["--precision"]);
    dir.run("bench run --resume nowhere").fails(2, &["nowhere", "results folder"]);
    let ended = dir.run("bench show nope").fails(2, &["nope", "bench list"]);
    assert!(!ended.stderr.contains(".toml"), "show takes no file: {ended}");
    // A document without its experiments keeps its measurements.
    dir.directories(["old"]);
    let measured = serde_json::to_string(&results(&[1e9], 1)).unwrap();
    dir.file("old/results.json", &measured);
    dir.run("bench run --resume old --time 10").fails(2, &["old", "does not contain its experiments"]);
    assert_eq!(dir.read("old/results.json"), measured.as_bytes());
    assert_eq!(dir.names(), ["old", "text.toml", "wrong.toml"]);
}

#[test]
fn killed_run_keeps_samples_and_resumes() {
    // At once, as they mostly wait.
    thread::scope(|scope| {
        scope.spawn(|| stopped_run_resumes(true));
        scope.spawn(|| stopped_run_resumes(false));
    });
}

fn stopped_run_resumes(gently: bool) {
    let dir = TestDir::new();
    dir.file("own.toml", TWO_CELLS);
    let words = "bench run own.toml --time 60 --size 16M --precision 0.001 --regime burst --output results";
    let mut running = start(&mut dir.command(words));
    let place = dir.at("results/results.json");
    assert_eventually("results", true, || place.exists());
    running.stop(gently);
    running.end();
    // After SIGKILL another process cleans up, with a short delay.
    assert_eventually(
        ("the test files are removed", gently),
        vec!["own.toml".to_owned(), "results".into()],
        || dir.names(),
    );
    let before = document(&place);
    assert!(before.run.interrupted && !before.run.complete);
    let samples =
        |document: &Document| document.cells.iter().map(|cell| cell.samples.clone()).collect::<Vec<_>>();
    assert!(samples(&before).iter().any(|samples| !samples.is_empty()));

    // The files of an earlier end show no longer what is measured.
    dir.files(["results/report.html", "results/results.csv"], "old");
    let mut running = start(&mut dir.command("bench run --resume results --time 60"));
    assert_eventually("new measurements", vec!["results.json".to_owned()], || {
        let named = |name: &String| !name.starts_with('.');
        names(&dir.at("results")).into_iter().filter(named).collect()
    });
    running.stop(gently);
    running.end();

    // A busy machine needs longer than an idle one.
    let resumed = |seconds: &u32| {
        dir.run(&format!("bench run --resume results --time {seconds} --precision 50")).succeeds();
        Some(document(&place)).filter(|document| document.run.complete)
    };
    let after = [10, 30, 90].iter().find_map(resumed).expect("a complete run");
    assert!(!after.run.interrupted);
    // A flag of the second command counts, or else that of the first.
    assert_eq!((before.run.precision, after.run.precision), (Some(1e-5), Some(0.5)));
    assert_eq!((before.run.regime, after.run.regime), (Regime::Burst, Regime::Burst));
    assert_eq!([before.run.transform_bytes, after.run.transform_bytes], [Some(16 << 20); 2]);
    dir.run("bench run --resume results").fails(2, &["results", "complete", "--time"]);
    for (old, new) in samples(&before).iter().zip(&samples(&after)) {
        assert!(new.starts_with(old), "the earlier samples are kept");
    }
    assert!(dir.at("results/report.html").exists());
}

/// A cell that fio can measure, and one that it cannot.
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
    let has_fio = or_skip("fio", installed("fio")).is_some();
    let with = if has_fio { "--with fio" } else { "" };
    let (_, document) = measure_until(
        &dir,
        "fullbore-results-1",
        &[10, 30, 90],
        |seconds| {
            let options = "--size 16M --precision 50 --no-save --output fullbore-results-1";
            format!("bench run own.toml {with} {options} --time {seconds}")
        },
        |document| document.findings.choices.iter().any(|choice| choice.job == "read, warm"),
    );
    assert_eq!(document.run.with_fio, has_fio);
    let by_fio = document.cells.iter().filter(|cell| cell.labels.peer.as_deref() == Some("fio")).count();
    assert_eq!(by_fio, usize::from(has_fio));

    let export = |words: &str| dir.run(&format!("bench export --fio {words}"));
    let id = "own/read/method=buffered,request=64K,workers=1,model=serial/cache=warm";
    let job = export(id).succeeds().text();
    assert_contains(&job, &["ioengine=psync\n", "bs=65536\n", "pre_read=1\n"]);
    // The system's name of the current directory; fio separates files by colons.
    let place = if cfg!(windows) { dir.path().to_owned() } else { dir.path().canonicalize().unwrap() };
    let file = place.join("fullbore-fio-test").display().to_string().replace(':', "\\:");
    assert!(job.contains(&format!("filename={file}\n")), "{job}");
    let chosen = export("--job read --from fullbore-results-1").succeeds().text();
    let document = dir.read("fullbore-results-1/results.json");
    let piped = run_with(&mut dir.command("bench export --fio --job read --from -"), &document);
    assert_eq!(piped.succeeds().text(), chosen);
    assert!(chosen.contains("[read, warm]\n") && chosen.contains("ioengine=psync\n"), "{chosen}");

    if has_fio {
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

    dir.run("bench run --resume fullbore-results-1 --time 10").succeeds();
    assert!(!dir.at("config").exists(), "a run that is resumed saves no profile either");
}
