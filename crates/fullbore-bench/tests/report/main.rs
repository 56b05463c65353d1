//! The report is complete, self-contained, small and escaped.

mod embedded;
#[path = "../markup/mod.rs"]
mod markup;
#[path = "../synthetic/mod.rs"]
mod synthetic;

use fullbore_bench::analysis::{findings, peers};
use fullbore_bench::document::{
    Cell, Document, Environment, Experiment, Figure, Findings, Labels, Regret, Run, SummaryOptions,
};
use fullbore_bench::report;
use fullbore_bench::stats::Estimate;
use markup::check_structure;
use serde_json::Value;
use synthetic::whole;

/// A file for inspection; in the build directory, not in the tree.
fn kept(name: &str) -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

fn keep(name: &str, text: impl AsRef<str>) {
    std::fs::write(kept(name), text.as_ref()).unwrap();
}

#[test]
fn the_page_is_well_formed_and_requests_nothing() {
    let document = synthetic::document();
    let html = report::html(&document);
    let tags = check_structure(&html);
    for needle in ["http:", "https:", "src=", "@import", "url("] {
        assert!(!html.contains(needle), "{needle} in the page");
    }
    let charts = tags.iter().filter(|t| t.starts_with("svg class=\"chart\""));
    let unlabelled = charts.clone().filter(|t| !t.contains("role=\"img\"") || !t.contains("aria-label=\""));
    assert!(charts.clone().count() >= 10 && unlabelled.count() == 0);
    let chapters = tags.iter().filter(|t| t.starts_with("section id=\"experiment-")).count();
    let tables = tags.iter().filter(|t| *t == "table").count();
    assert!(chapters >= 6 && tables >= chapters, "a table in each chapter: {tables} in {chapters}");
    for link in tags.iter().filter(|t| t.starts_with("a href")) {
        let target = link.split("#").nth(1).unwrap().trim_end_matches('"');
        assert!(tags.iter().any(|t| t.contains(&format!("id=\"{target}\""))), "{link} leads nowhere");
    }
    keep("synthetic-report.html", html);
    document.write(&mut std::fs::File::create(kept("synthetic-results.json")).unwrap()).unwrap();
}

#[test]
fn every_cell_appears() {
    let document = synthetic::document();
    let html = report::html(&document);
    let visible = html.split("<script").next().unwrap();
    let names = document.cell_names();
    for cell in &document.cells {
        match (&cell.summary, &cell.skipped) {
            (Some(_), _) => {
                let path = names[&cell.id].split(": ").nth(1).unwrap().to_owned();
                // A name ends in its position, which charts and tables show separately.
                let path = path.rsplit_once(", ").map_or(path.clone(), |(path, _)| path.to_owned());
                assert!(visible.contains(&path), "{path}");
            }
            (None, Some(_)) => {
                assert!(visible.contains("the file system refuses RWF_DONTCACHE"), "{}", cell.id)
            }
            (None, None) => panic!("{} has neither", cell.id),
        }
    }
    let samples: usize = document
        .cells
        .iter()
        .filter_map(|c| c.summary.as_ref())
        .map(|s| s.n + s.warm_up.map_or(0, |warm| warm.left_out()))
        .sum();
    assert!(
        visible.matches("class=\"point").count()
            >= document.cells.iter().filter(|c| c.summary.is_some()).count()
    );
    assert_eq!(samples, document.cells.iter().map(|c| c.samples.len()).sum::<usize>() - 1);
    for word in
        ["bimodal", "contradicted", "drifting", "half-power", "roof", "Self-audit", "EOPNOTSUPP", "Seed"]
    {
        assert!(visible.to_lowercase().contains(&word.to_lowercase()), "{word}");
    }
    assert!(!visible.contains("NaN") && !visible.contains("inf "));
}

#[test]
fn the_full_set_fits_into_three_megabytes() {
    let document = whole();
    let cells = document.cells.len();
    let samples: usize = document.cells.iter().map(|c| c.samples.len()).sum();
    assert!(cells >= 600 && samples >= 8 * cells, "{cells} cells, {samples} samples");
    let html = report::html(document);
    check_structure(&html);
    // Leaves room for longer names and more samples.
    assert!(html.len() < 2_500_000, "{} bytes for {cells} cells, {samples} samples", html.len());
    println!("{cells} cells, {samples} samples: {} bytes", html.len());
    keep("full-report.html", html);
    keep("full-report.md", report::markdown(document));
    document.write(&mut std::fs::File::create(kept("full-results.json")).unwrap()).unwrap();
}

#[test]
fn every_experiment_has_a_chapter_with_question_and_earlier_finding() {
    let document = whole();
    let html = report::html(document);
    for experiment in &document.experiments {
        let section = html.split(&format!("<section id=\"experiment-{}\">", experiment.name)).nth(1);
        let section = section.unwrap_or_else(|| panic!("no chapter {}", experiment.name));
        let section = section.split("</section>").next().unwrap();
        for part in ["class=\"question\"", "class=\"then\"", "class=\"here\"", "1997", "<figure"] {
            assert!(section.contains(part), "{part} in {}", experiment.name);
        }
        assert!(!section.contains("without a verdict"), "{}", experiment.name);
    }
    for word in [
        "Phases of a request",
        "Rate of each stream",
        "Rate of each disk",
        "narrowest stage",
        "no longer true",
        "medium confidence",
        "beyond 3 disks",
        "Jain’s fairness index",
        "merged",
        "p99.9",
    ] {
        assert!(html.contains(word), "{word}");
    }
    let order =
        ["Use requests of 256", "Preallocate files", "Keep 8 requests"].map(|t| html.find(t).unwrap());
    assert!(order.is_sorted(), "advice keeps its order");
}

#[test]
fn charts_are_files_of_their_own() {
    let document = whole();
    let charts = report::charts(document);
    let html = report::html(document);
    assert_eq!(charts.len(), html.matches("<figure").count());
    let mut names = std::collections::BTreeSet::new();
    std::fs::create_dir_all(kept("charts")).unwrap();
    for (name, svg) in &charts {
        assert!(names.insert(name), "{name} twice");
        assert!(name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-'), "{name}");
        let body = svg.strip_prefix("<svg xmlns=\"http://www.w3.org/2000/svg\" ").expect("its name space");
        check_structure(&format!("<!DOCTYPE html><svg {body}"));
        for absent in ["http", "var(", "<script", "@import", "url("] {
            assert!(!body.contains(absent), "{absent} in {name}");
        }
        keep(&format!("charts/{name}.svg"), svg);
    }
}

#[test]
fn markdown_holds_the_same_chapters() {
    let document = whole();
    let text = report::markdown(document);
    for experiment in &document.experiments {
        assert!(text.contains(&format!("\n## {}\n", experiment.title)), "{}", experiment.title);
    }
    assert!(!text.contains("](") && !text.contains("://") && !text.contains('\u{1b}'));
    let mut columns = None;
    for line in text.lines() {
        let cells = line.starts_with('|').then(|| line.replace("\\|", "").matches('|').count());
        if let (Some(before), Some(now)) = (columns, cells) {
            assert_eq!(before, now, "{line}");
        }
        columns = cells;
    }
    assert!(text.contains("| --- | ---: |"), "figures are at the right");
}

/// A document in which every text is an attack, but those of a fixed set of words.
fn hostile(attack: &str) -> Document {
    const WORDS: &str = "schema axis figures cache state stop regime law limit verdict confidence job \
                         unit operation order";
    fn put(value: &mut Value, attack: &str) {
        match value {
            Value::String(text) => *text = attack.to_owned(),
            Value::Array(list) => list.iter_mut().for_each(|value| put(value, attack)),
            Value::Object(map) => {
                let fields =
                    map.iter_mut().filter(|(name, _)| WORDS.split(' ').all(|word| word != name.as_str()));
                fields.for_each(|(_, value)| put(value, attack));
            }
            _ => {}
        }
    }
    let mut document = whole().clone();
    document.cells.truncate(40);
    document.cells.push(Cell::skipped("x", attack, Labels::default(), attack));
    document.experiments.truncate(1);
    document.experiments[0].figures = vec![Figure::Rate, Figure::Latency, Figure::Pipeline];
    document.run.directories = vec![attack.into(), attack.into()];
    let mut value = serde_json::to_value(&document).unwrap();
    put(&mut value, attack);
    let mut document: Document = serde_json::from_value(value).unwrap();
    document.environment.facts = serde_json::json!({ attack: attack });
    for (i, cell) in document.cells.iter_mut().enumerate() {
        cell.id = format!("{attack}{i}");
        (cell.labels.job, cell.labels.operation) = (attack.into(), attack.into());
    }
    let Findings { pipeline, mut advice, mut use_this, rules, .. } = document.findings;
    (advice[0].setting, advice[0].worth) = (Some(attack.into()), f64::NAN);
    use_this[0].rate = Estimate { value: f64::NAN, low: 0.0, high: f64::INFINITY };
    let found = findings(&document.cells, &document.experiments);
    Document { findings: Findings { pipeline, advice, use_this, rules, ..found }, ..document }
}

#[test]
fn hostile_text_is_escaped() {
    let document = hostile("</script><img onerror='x' title=\"y\">& | [a](b) `c` \n# d");
    let html = report::html(&document);
    check_structure(&html);
    assert!(!html.contains("<img"), "markup from the document");
    assert_eq!(html.matches("</script>").count(), 2, "results, script");
    for (name, svg) in report::charts(&document) {
        check_structure(&format!("<!DOCTYPE html>{svg}"));
        assert!(!svg.contains("<img"), "{name}");
    }
    let text = report::markdown(&document);
    assert!(!text.contains("<img") && !text.contains("[a](b)") && !text.contains("\n# d"));
}

#[test]
fn experiments_with_similar_names_have_charts_of_their_own() {
    let document = whole();
    let has_charts = |one: &&Experiment| one.figures.contains(&Figure::Rate);
    let experiment = document.experiments.iter().find(has_charts).unwrap();
    let cells = &document.cells;
    let names = ["x", "experiment-x", "X", "x-N2", &"long".repeat(100), &format!("{}!", "long".repeat(100))];
    let mut similar = Document { experiments: Vec::new(), cells: Vec::new(), ..document.clone() };
    for name in names {
        let own = cells.iter().filter(|cell| cell.experiment == experiment.name).cloned();
        similar.cells.extend(own.map(|cell| Cell {
            experiment: name.into(),
            id: format!("{name}{}", cell.id),
            ..cell
        }));
        similar.experiments.push(Experiment { name: name.into(), ..experiment.clone() });
    }
    let charts = report::charts(&similar);
    let stems: std::collections::BTreeSet<_> = charts.iter().map(|(stem, _)| stem).collect();
    assert!(charts.len() >= names.len());
    assert!(stems.len() == charts.len() && stems.iter().all(|stem| stem.len() < 200));
}

#[test]
fn an_empty_run_still_gives_a_page() {
    let run = Run { started: "2026-01-01T00:00:00Z".into(), interrupted: true, ..Run::default() };
    let document = Document::new(run, Environment::default());
    let html = report::html(&document);
    check_structure(&html);
    assert!(html.contains("interrupted"));
    let table = fullbore_bench::table::render(&document, Default::default());
    assert!(table.contains("interrupted"));
    assert!(report::markdown(&document).contains("interrupted") && report::charts(&document).is_empty());
}

#[test]
fn the_terminal_shows_the_full_set_in_eighty_columns() {
    let document = whole();
    let table = fullbore_bench::table::render(document, Default::default());
    let widest = table.lines().max_by_key(|l| l.chars().count()).unwrap();
    assert!(widest.chars().count() <= 80, "{widest}");
    for experiment in &document.experiments {
        let title: String = experiment.title.chars().take(24).collect();
        assert!(table.contains(&title), "{title}");
    }
    assert!(document.findings.advice.iter().all(|advice| {
        let words = advice.text.replace('`', "");
        let joined = table.split_whitespace().collect::<Vec<_>>().join(" ");
        joined.contains(&words.split_whitespace().collect::<Vec<_>>().join(" "))
    }));
    assert!(!table.contains('`'));
    keep("full-table.txt", table);
    keep("quick-table.txt", fullbore_bench::table::render(&synthetic::document(), Default::default()));
}

#[test]
fn the_summary_is_one_page() {
    let full = whole();
    let quick = synthetic::document();
    let mut crowded = full.clone();
    crowded.run.notes =
        (0..40).map(|i| format!("note {i} with `code` {}", "and more words ".repeat(9))).collect();
    crowded.findings.advice.iter_mut().for_each(|advice| advice.lead = true);
    for document in [full, &quick, &crowded] {
        let text = fullbore_bench::table::summary(document, Default::default());
        assert!(text.lines().count() <= 55, "{}\n{text}", text.lines().count());
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        for found in &document.findings.use_this {
            let command = found.command.as_ref().or(found.plain.as_ref());
            let whole = text.replace(" \\\n       ", "").replace("\\\n", "");
            assert!(command.is_none_or(|command| whole.contains(&format!("\n    {command}\n"))), "{text}");
        }
        assert!(!text.contains('`'), "{text}");
        assert_eq!(text.contains("Use this"), !document.findings.use_this.is_empty());
        for found in &document.findings.use_this {
            assert!(text.to_lowercase().contains(found.job.words()), "{found:?}\n{text}");
        }
        // The headline figures of the long run are precise.
        let missed = text.contains("headline figures missed the target precision");
        assert_eq!(missed, std::ptr::eq(document, &raw const quick), "{text}");
        assert!(text.contains("\nAdvice\n") && text.contains("more with --full"), "{text}");
        assert_eq!(text.contains("\nAuto  "), !document.findings.regrets.is_empty(), "{text}");
    }
    let empty = Document { cells: Vec::new(), findings: Default::default(), ..quick };
    assert!(fullbore_bench::table::summary(&empty, Default::default()).contains("0 cells"));
}

#[test]
fn a_summary_has_as_many_warnings_as_fit() {
    let summary = |count: usize| {
        let notes = (0..count).map(|number| format!("note {number}")).collect();
        let run = Run { started: "2026-01-01T00:00:00Z".into(), notes, ..Run::default() };
        fullbore_bench::table::summary(&Document::new(run, Environment::default()), Default::default())
    };
    let (six, seven) = (summary(6), summary(7));
    assert!(six.contains("note 5") && !six.contains("more with --full"), "{six}");
    assert!(seven.contains("note 4") && !seven.contains("note 5"), "{seven}");
    assert!(seven.contains("more with --full"), "{seven}");
}

#[test]
fn a_summary_has_a_line_about_auto() {
    let regret = |job: &str, value: f64, low: f64| Regret {
        job: job.into(),
        cell: "auto".into(),
        best: "other".into(),
        strategy: "method=mmap".into(),
        strategies: 4,
        regret: Estimate { value, low, high: value + 0.02 },
    };
    let summary = |regrets: Vec<Regret>| {
        let run = Run { started: "2026-01-01T00:00:00Z".into(), ..Run::default() };
        let mut document = Document::new(run, Environment::default());
        document.findings.regrets = regrets;
        fullbore_bench::table::summary(&document, Default::default())
    };
    // It comes before the parts that may have no room for all of their entries. None is significant: the most precise.
    let text = summary(vec![regret("copy, warm", 0.03, -0.01), regret("scan, warm", 0.01, -0.01)]);
    assert!(text.contains("scan, warm") && !text.contains("copy, warm"), "{text}");
    let text = summary(vec![regret("copy, warm", 0.05, -0.01), regret("scan, warm", 0.04, 0.01)]);
    assert!(text.contains("scan, warm") && !text.contains("copy, warm"), "{text}");
    assert!(!summary(Vec::new()).contains("\nAuto "));
}

#[test]
fn no_backquote_is_visible() {
    let mut document = synthetic::document();
    document.run.notes.push("an odd ` and a pair `of them`, ` three".into());
    document.findings.advice[0].setting = Some("echo `date`".into());
    let html = report::html(&document);
    let visible = html.split("<script").next().unwrap();
    assert!(!visible.contains('`') && visible.contains("<code>echo date</code>"));
    assert!(!report::markdown(&document).contains('`'));
}

#[test]
fn the_strategies_to_use_come_first_and_details_of_advice_are_folded() {
    let document = whole();
    let html = report::html(document);
    let place = |text: &str| html.find(text).unwrap_or_else(|| panic!("{text}"));
    assert!(place("<section id=\"use-this\">") < place("<section id=\"summary\">"));
    let advice = &html[place("<section id=\"advice\">")..];
    let (shown, folded) = advice[..advice.find("</section>").unwrap()].split_once("<details>").unwrap();
    let lead = document.findings.advice.iter().filter(|advice| advice.lead).count();
    assert_eq!(shown.matches("<li ").count(), lead);
    assert_eq!(folded.matches("<li ").count(), document.findings.advice.len() - lead);
    assert!((1..=7).contains(&lead), "{lead}");
}

/// The rows of a table of the Markdown report: of the first with this title below the chapter.
fn rows<'t>(text: &'t str, chapter: &str, title: &str) -> Vec<Vec<&'t str>> {
    let after = |text: &'t str, mark: &str| text.split_once(mark).unwrap_or_else(|| panic!("{mark}")).1;
    let table = after(after(text, &format!("\n## {chapter}")), &format!("\n### {title}\n\n"));
    let lines = table.lines().take_while(|line| line.starts_with('|')).skip(2);
    lines.map(|line| line.trim_matches('|').split(" | ").map(str::trim).collect()).collect()
}

#[test]
fn a_continuous_transfer_has_its_course_and_parameters() {
    let text = report::markdown(whole());
    let found = rows(&text, "Burst and sustained throughput", "Burst, credit, sustained rate and refill");
    let [bytes, requests] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!((bytes[0], requests[0]), ("write, bytes", "write, requests"));
    let value = |text: &str| text.split_once(' ').unwrap().0.parse::<f64>().unwrap();
    for row in [bytes, requests] {
        // Three times the sustained rate for four seconds; half of the credit regained in two.
        let [burst, credit, sustained, refill] = [1, 2, 4, 5].map(|column| value(row[column]));
        let [unit_credit, unit_rate] = [row[2], row[4]].map(|text| text.contains('k') || text.contains('G'));
        let credit = if unit_credit == unit_rate { credit } else { credit * 1e3 };
        assert!((burst / sustained - 3.0).abs() < 0.05 && (credit / sustained - 8.0).abs() < 0.1, "{row:?}");
        assert!((refill / sustained - 2.0).abs() < 0.05 && row[3] == "yes", "{row:?}");
    }
    let charts = report::charts(whole());
    let courses: Vec<_> = charts.iter().filter(|(name, _)| name.ends_with("course")).collect();
    assert_eq!(courses.len(), 2);
    // Three stretches: of two fitted steps each, and of a measured line each.
    for (name, svg) in courses {
        assert_eq!(svg.matches("class=\"point\"").count(), 6, "{name}");
        let line = svg.split_once("class=\"l course\" d=\"").unwrap().1.split_once('"').unwrap().0;
        assert_eq!(line.matches('M').count(), 3, "{name}");
    }
    let mut hostile = whole().clone();
    let samples = hostile.cells.iter_mut().flat_map(|cell| &mut cell.samples);
    for stretch in
        samples.filter_map(|sample| sample.course.as_mut()).flat_map(|course| &mut course.stretches)
    {
        stretch.bytes = vec![u64::MAX; 1000];
    }
    assert_eq!(report::charts(&hostile).len(), charts.len());
}

#[test]
fn limits_behind_the_rates_are_reported() {
    let text = report::markdown(whole());
    // Three disks reach the shared limit; a fourth adds less than a hundredth.
    let disks = rows(&text, "Disks added one by one", "Rate by number of disks");
    let described: Vec<_> = disks.iter().map(|row| (row[0], row[4])).collect();
    assert_eq!(described, [("1", ""), ("2", ""), ("3", "no gain"), ("4", "")]);
    let share = |row: &[&str]| row[3].trim_end_matches('%').parse::<f64>().unwrap();
    assert!((share(&disks[2]) - 96.7).abs() < 3.0 && (share(&disks[3]) - 73.0).abs() < 3.0, "{disks:?}");
    // 140 µs per request and 2.3 GB/s, with noise of 2%.
    let requests = rows(&text, "Where a request’s time goes", "Request time by size");
    let [row] = requests.as_slice() else { panic!("{requests:?}") };
    assert_eq!(row[1], "a + b · bytes");
    let near = |text: &str, unit: &str, truth: f64| {
        let (value, rest) = text.split_once(' ').unwrap();
        assert!(rest.starts_with(unit), "{text}");
        assert!((value.parse::<f64>().unwrap() / truth - 1.0).abs() < 0.03, "{text}");
    };
    near(row[2], "µs", 140.0);
    near(row[3], "k/s", 1e3 / 140.0);
    near(row[4], "GB/s", 2.3);
    near(row[5], "KiB", 140e-6 * 2.3e9 / 1024.0);
}

#[test]
fn chapter_compares_with_another_program() {
    let mut document = synthetic::document();
    let ours = document.cells.iter().find(|cell| cell.summary.is_some()).unwrap().clone();
    let mut theirs = Cell { id: format!("{}/peer=fio", ours.id), ..ours.clone() };
    theirs.labels.peer = Some("fio".into());
    for sample in &mut theirs.samples {
        sample.bytes /= 2;
    }
    theirs.summarise(&SummaryOptions::default());
    document.cells.push(theirs);
    document.findings.peers = peers(&document.cells);
    let text = report::markdown(&document);
    let title = "Ratios: fullbore ÷ other programs";
    let table = &text[text.find(title).expect(title)..];
    let row = table.lines().find(|line| line.starts_with("| ") && line.contains("| fio |")).unwrap();
    assert!(row.contains("| fio | 2.00 | no interval | faster |"), "{row}");
    assert!(text.contains("fio: 2.00 times its rate (2.00–2.00)."));
    assert!(report::html(&document).contains(title));
}
