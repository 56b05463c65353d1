//! `fullbore report`: results shown again, compared and rejected, and exit codes for build servers.

use crate::support::*;
use fullbore_bench::document::{Cell, Document, Environment, Labels, Run, Sample, SummaryOptions};
use fullbore_bench::stats::Xoshiro256;

/// Results with a cell for each rate, with 1% of noise.
pub(crate) fn results(rates: &[f64], seed: u64) -> Document {
    let mut rng = Xoshiro256::seeded(seed);
    let run = Run {
        started: format!("2026-11-0{seed}T10:00:00Z"),
        fullbore_version: "0.1.0".into(),
        directory: "/data".into(),
        file_bytes: 1 << 30,
        complete: true,
        ..Run::default()
    };
    let environment = Environment { kernel: "Linux 6.18".into(), logical_cpus: 4, ..Environment::default() };
    let mut document = Document::new(run, environment);
    for (number, rate) in rates.iter().enumerate() {
        let labels = Labels {
            operation: "read".into(),
            method: "buffered".into(),
            request_bytes: Some(4096 << number),
            ..Labels::default()
        };
        let mut cell = Cell::new(format!("read/{number}"), "read", labels);
        for round in 0..8 {
            let seconds = 1e8 / rate * (1.0 + 0.01 * (rng.unit() - 0.5));
            let sample =
                Sample { round, bytes: 100_000_000, seconds, user_s: 0.1 * seconds, ..Sample::default() };
            cell.samples.push(sample);
        }
        cell.summarise(&SummaryOptions::default());
        document.cells.push(cell);
    }
    document
}

fn text(document: &Document) -> Vec<u8> {
    let mut text = Vec::new();
    document.write(&mut text).unwrap();
    text
}

/// A directory with `a.json`, and `b.json` whose second cell is 20% slower and whose third is 50% faster.
fn dir() -> TestDir {
    let dir = TestDir::new();
    dir.file("a.json", text(&results(&[1e9, 2e9, 3e9], 1)));
    dir.file("b.json", text(&results(&[1e9, 1.6e9, 4.5e9], 2)));
    dir
}

#[test]
fn one_document_is_shown_in_every_form() {
    let dir = dir();
    let table = dir.run("report a.json").succeeds().text();
    assert!(table.contains("/data") && table.contains("3 cells, 24 samples"), "{table}");
    assert!(table.lines().all(|line| line.chars().count() <= 80) && !table.contains('\u{1b}'), "{table}");
    let again = dir.run("report a.json --json").succeeds().text();
    assert_eq!(Document::parse(&again).unwrap(), results(&[1e9, 2e9, 3e9], 1));
    // A line of Windows in a text that is parsed again.
    let mut windows = results(&[1e9], 1);
    windows.run.sets = vec![("own.toml".into(), "a = 1\r\n".into())];
    let input = text(&windows);
    assert_eq!(run_with(&mut dir.command("report --json -"), &input).succeeds().text().as_bytes(), input);
    let page = dir.run("report a.json --html -").succeeds().text();
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains("Environment"), "{page}");
    let both = dir.run("report a.json --csv s.csv --html r.html").succeeds().text();
    assert_eq!(both, table);
    assert_eq!(fs::read_to_string(dir.at("r.html")).unwrap(), page);
    assert_eq!(fs::read_to_string(dir.at("s.csv")).unwrap().lines().count(), 1 + 24);
    let quiet = dir.run("report a.json --quiet --csv s.csv").succeeds();
    assert!(quiet.stdout.is_empty());
    assert_eq!(dir.names(), ["a.json", "b.json", "r.html", "s.csv"]);
    // The folder that bench creates, and standard input.
    dir.directories(["results"]);
    fs::rename(dir.at("a.json"), dir.at("results/results.json")).unwrap();
    assert_eq!(dir.run("report results").succeeds().text(), table);
    // Compressed with gzip, as published results are; Windows has no such program.
    if cfg!(unix) {
        run(Command::new("gzip").arg(dir.at("results/results.json"))).succeeds();
        assert_eq!(names(&dir.at("results")), ["results.json.gz"]);
        assert_eq!(dir.run("report results").succeeds().text(), table);
        assert_eq!(dir.run("report results/results.json.gz").succeeds().text(), table);
        let whole = dir.read("results/results.json.gz");
        assert_eq!(run_with(&mut dir.command("report -"), &whole).succeeds().text(), table);
        dir.file("cut.json.gz", &whole[..whole.len() / 2]);
        dir.run("report cut.json.gz").fails(2, &["cut.json.gz"]);
        run(Command::new("gunzip").arg(dir.at("results/results.json.gz"))).succeeds();
    }
    let input = text(&results(&[1e9, 2e9, 3e9], 1));
    assert_eq!(run_with(&mut dir.command("report -"), &input).succeeds().text(), table);
}

#[test]
fn a_comparison_shows_the_worst_first_and_the_count_last() {
    let dir = dir();
    let ended = dir.run("report a.json b.json").succeeds();
    let table = ended.text();
    assert!(table.lines().all(|line| line.chars().count() <= 80) && !table.contains('\u{1b}'), "{table}");
    let last = table.lines().last().unwrap();
    assert_eq!(last, "b.json: 1 slower, 0 unclear, 1 same, 1 faster of 3 cells");
    assert!(table.find("Slower (1)").unwrap() < table.find("Faster (1)").unwrap(), "{table}");
    assert!(ended.stderr.is_empty());
    // Several documents, standard input among them.
    let input = text(&results(&[1e9, 2e9, 3e9], 3));
    let table = run_with(&mut dir.command("report a.json b.json -"), &input).succeeds().text();
    let last = table.lines().last().unwrap();
    assert_eq!(last, "standard input: 0 slower, 0 unclear, 3 same, 0 faster of 3 cells");
    // With a wider margin the slower cell is insignificant.
    let json = dir.run("report a.json b.json --json --margin 30%").succeeds().text();
    let value: Value = serde_json::from_str(&json).unwrap();
    let verdicts: Vec<&str> = value["others"][0]["cells"]
        .as_array()
        .unwrap()
        .iter()
        .map(|cell| cell["rate"]["verdict"].as_str().unwrap())
        .collect();
    let same = "no-difference-that-matters";
    assert_eq!(verdicts, [same, same, "faster"]);
    let only = dir.run("report a.json b.json --only */[01] --only */0");
    only.fails(2, &["--only */[01]", "read/0"]);
    let only = dir.run("report a.json b.json --only */0").succeeds().text();
    assert!(only.contains("of 1 cell"), "{only}");
}

// A terminal, by `script`.
#[cfg(unix)]
#[test]
fn terminal_output_has_its_width_and_colours_unless_disabled() {
    let dir = dir();
    let line = |environment: &str| {
        format!(
            "{environment} script -qec \"stty cols 100; '$0' report a.json b.json\" /dev/null < /dev/null"
        )
    };
    let Some(()) = or_skip("output on a terminal", installed("script")) else { return };
    let coloured = dir.shell(&line("TERM=xterm")).succeeds().text();
    assert!(coloured.contains("\u{1b}[1;31mSlower (1)"), "{coloured}");
    for environment in ["TERM=xterm NO_COLOR=1", "TERM=dumb", "TERM=", "env -u TERM"] {
        let plain = dir.shell(&line(environment)).succeeds().text();
        assert!(!plain.contains('\u{1b}') && plain.contains("Slower (1)"), "{environment}: {plain}");
        let widest = plain.lines().map(|line| line.trim_end().chars().count()).max().unwrap();
        assert!((81..=100).contains(&widest), "{environment}: {widest}: {plain}");
    }
}

#[test]
fn fail_on_sets_the_exit_code() {
    let dir = dir();
    for (condition, code) in [("slower", 1), ("slower:30%", 0), ("faster:5%", 1), ("cpu-higher:5%", 1)] {
        let ended = dir.run(&format!("report a.json b.json --quiet --fail-on {condition}"));
        assert_eq!(ended.code(), code, "{condition}: {ended}");
        assert!(ended.stdout.is_empty());
        assert_eq!(ended.stderr.contains(&format!("--fail-on {condition}: met by 1 of 3 cells")), code == 1);
    }
    let mut shorter = results(&[1e9, 2e9, 3e9], 3);
    shorter.cells.pop();
    dir.file("c.json", text(&shorter));
    dir.run("report a.json b.json c.json --fail-on missing --fail-on slower:30%")
        .fails(1, &["missing: met by 1 of 6 cells"]);
    dir.run("report a.json c.json --fail-on slower:5%").succeeds();
    // Requested files are written even if the result is "no".
    dir.run("report a.json b.json --fail-on slower:5% --markdown c.md --csv c.csv --html c.html")
        .fails(1, &["slower:5%"]);
    for (name, part) in [("c.md", "### Slower (1)"), ("c.csv", ",slower,true,"), ("c.html", "<svg")] {
        assert!(fs::read_to_string(dir.at(name)).unwrap().contains(part), "{name}");
    }
}

#[test]
fn different_environments_need_across() {
    let dir = dir();
    let mut other = results(&[1e9, 2e9, 3e9], 3);
    other.environment.kernel = "Linux 6.19".into();
    other.environment.logical_cpus = 8;
    dir.file("c.json", text(&other));
    let compare = |words: &str| dir.run(&format!("report a.json c.json --html c.html {words}"));
    let ended =
        compare("").fails(2, &["Linux 6.18 | Linux 6.19", "processors: 4 | 8", "--across machine,kernel "]);
    assert!(ended.stdout.is_empty());
    compare("--across kernel").fails(2, &["processors", "--across machine "]);
    assert_eq!(dir.names(), ["a.json", "b.json", "c.json"], "a rejected comparison writes nothing");
    let table = compare("--across machine,kernel").succeeds().text();
    assert!(table.contains("across kernel: Linux 6.18 | Linux 6.19"), "{table}");
    assert_eq!(compare("--across machine --across kernel").succeeds().text(), table);
    assert_eq!(compare("--anyway").succeeds().text(), table);
}

#[test]
fn invalid_document_is_named_with_advice() {
    let dir = dir();
    let newer =
        String::from_utf8(text(&results(&[1e9], 1))).unwrap().replacen("\"version\": 1", "\"version\": 9", 1);
    let mut empty = results(&[1e9], 1);
    empty.cells.clear();
    dir.directories(["folder"]);
    let cases: [(&str, Vec<u8>, &str); 10] = [
        ("nothing.json", Vec::new(), "empty"),
        ("blank.json", b" \n".to_vec(), "empty"),
        ("words.json", b"hello".to_vec(), "not a results document"),
        ("list.json", b"[1]".to_vec(), "not a results document"),
        ("page.html", b"<!DOCTYPE html>".to_vec(), "results.json in its folder"),
        ("bytes.json", vec![0xff, 0xfe, 0], "not UTF-8 text"),
        ("cut.json", text(&results(&[1e9], 1))[..500].to_vec(), "damaged or incomplete"),
        ("other.json", br#"{"schema": "fullbore.comparison"}"#.to_vec(), "fullbore.comparison"),
        ("newer.json", newer.into_bytes(), "newer fullbore"),
        ("empty.json", text(&empty), "no cells"),
    ];
    for (name, content, word) in cases {
        dir.file(name, content);
        for words in [name, &format!("a.json {name}"), &format!("{name} a.json")] {
            dir.run(&format!("report {words}")).fails(2, &[name, word]);
        }
    }
    dir.run("report gone.json").fails(2, &["gone.json", &not_found()]);
    dir.run("report folder").fails(2, &["folder", "results.json", &not_found()]);
    dir.run("report").fails(2, &["RESULTS"]);
    fs::hard_link(dir.at("a.json"), dir.at("link.json")).unwrap();
    for words in [["a.json", "a.json"], ["a.json", "link.json"], ["./a.json", "a.json"]] {
        dir.run(&format!("report {}", words.join(" "))).fails(2, &["same file", words[0], words[1]]);
    }
    dir.run("report - -").fails(2, &["standard input", "twice"]);
}

#[test]
fn wrong_arguments_are_named_and_nothing_is_written() {
    let dir = dir();
    let cases: [(&str, &[&str]); 16] = [
        ("a.json b.json --fail-on slower:x", &["slower:x", "percentage"]),
        ("a.json b.json --fail-on worse:5%", &["worse", "slower"]),
        ("a.json b.json --margin three", &["--margin", "percentage"]),
        ("a.json b.json --margin 100%", &["--margin", "less"]),
        ("a.json b.json --across weather", &["weather", "kernel"]),
        ("a.json --fail-on slower:5%", &["--fail-on", "second"]),
        ("a.json --margin 5%", &["--margin", "second"]),
        ("a.json --anyway", &["--anyway", "second"]),
        ("a.json --only *", &["--only", "second"]),
        ("a.json b.json --html - --csv -", &["two outputs"]),
        ("a.json b.json --html - --json", &["two outputs"]),
        ("a.json b.json --json --quiet", &["--quiet"]),
        ("a.json b.json --html c --csv c", &["--csv", "c is named for another output"]),
        ("a.json b.json --csv b.json", &["--csv", "b.json", "input"]),
        ("a.json --svg c --html c", &["--svg", "c is named for another output"]),
        ("a.json --svg -", &["--svg", "directory"]),
    ];
    for (words, told) in cases {
        dir.run(&format!("report {words}")).fails(2, told);
    }
    dir.run("report a.json --html r.html --csv missing/s.csv").fails(2, &["missing"]);
    dir.run("report a.json --csv . --html r.html").fails(2, &["directory"]);
    dir.run("report a.json --quiet --svg svgs --html missing/r.html").fails(2, &["missing"]);
    assert_eq!(dir.names(), ["a.json", "b.json"], "all outputs or none");
}

#[test]
fn output_is_replaced_when_complete_and_keeps_its_mode() {
    let dir = dir();
    let old = dir.file("c.csv", "old");
    #[cfg(unix)]
    dir.set_mode("c.csv", 0o640);
    dir.run(&format!("report a.json b.json --csv c.csv --markdown {NULL}")).succeeds();
    assert!(fs::read_to_string(&old).unwrap().starts_with("document,cell,"));
    assert_eq!(dir.names(), ["a.json", "b.json", "c.csv"]);
    #[cfg(unix)]
    {
        assert_eq!(dir.mode("c.csv"), 0o640);
        assert!(fs::metadata(NULL).unwrap().len() == 0);
        let ended = dir.shell("set -o pipefail; \"$0\" report a.json --json | head -c 10");
        // The document may fit into the pipe before its reader closes it.
        assert!([0, 141].contains(&ended.code()) && ended.stderr.is_empty(), "{ended}");
    }
}

/// Descriptors and devices as outputs.
#[cfg(target_os = "linux")]
#[test]
fn failed_write_names_its_output_once() {
    let dir = dir();
    for flag in ["--html", "--csv", "--markdown"] {
        let ended = dir.run(&format!("report a.json --quiet {flag} /dev/full"));
        let ended = ended.fails(2, &[&system_words(28)]);
        assert_eq!(ended.stderr.matches("/dev/full").count(), 1, "{flag}: {ended}");
    }
    // The reader has closed the pipe before the first write.
    for output in ["-", "/dev/stdout"] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let ended = start(dir.command(&format!("report a.json --html {output}")).stdout(writer)).end();
        assert!(ended.code() == 141 && ended.stderr.is_empty(), "{output}: {ended}");
    }
}

#[test]
fn one_document_renders_as_text_and_charts() {
    let dir = dir();
    dir.run("report a.json --quiet --markdown a.md --svg charts").succeeds();
    assert!(fs::read_to_string(dir.at("a.md")).unwrap().starts_with("# "));
    let pictures = names(&dir.at("charts"));
    assert!(!pictures.is_empty());
    for name in pictures {
        let picture = fs::read_to_string(dir.at("charts").join(&name)).unwrap();
        assert!(name.ends_with(".svg") && picture.starts_with("<svg") && !picture.contains("var("), "{name}");
    }
    dir.run("report a.json --svg charts").fails(2, &["charts", "--svg"]);
    dir.run("report a.json b.json --svg more").fails(2, &["--svg", "one results document"]);
}
