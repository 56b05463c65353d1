//! The report is whole, self-contained and escaped.

mod synthetic;

use fullbore_bench::document::{Cell, Document, Environment, Labels, Run};
use fullbore_bench::report;

/// Elements that have no end tag.
const VOID: [&str; 5] = ["meta", "link", "br", "wbr", "hr"];

/// Walks the tags of a page: every element is closed in order, every attribute is quoted, no id is used twice.
fn check_structure(html: &str) -> Vec<String> {
    let mut open: Vec<String> = Vec::new();
    let mut seen = Vec::new();
    let mut ids = std::collections::BTreeSet::new();
    let mut rest = html.strip_prefix("<!DOCTYPE html>").expect("document type");
    while let Some(start) = rest.find('<') {
        assert!(!rest[..start].contains('>'), "stray > before {}", &rest[start..rest.len().min(start + 60)]);
        rest = &rest[start + 1..];
        let end = tag_end(rest);
        let tag = &rest[..end];
        rest = &rest[end + 1..];
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop().as_deref(), Some(name), "at </{name}>");
            continue;
        }
        let closed = tag.ends_with('/');
        let tag = tag.trim_end_matches('/');
        let name = tag.split_whitespace().next().unwrap().to_owned();
        if let Some(id) = tag.split(" id=\"").nth(1) {
            let id = id.split('"').next().unwrap();
            assert!(ids.insert(id.to_owned()), "id {id} twice");
        }
        let quotes = tag.matches('"').count();
        assert!(
            quotes.is_multiple_of(2) && quotes / 2 >= tag.matches("=\"").count(),
            "attributes of <{tag}>"
        );
        seen.push(tag.to_owned());
        if closed || VOID.contains(&name.as_str()) {
            continue;
        }
        if name == "script" || name == "style" {
            let end = format!("</{name}>");
            let at = rest.find(&end).expect("script and style end");
            rest = &rest[at + end.len()..];
            continue;
        }
        open.push(name);
    }
    assert!(open.is_empty(), "left open: {open:?}");
    seen
}

fn tag_end(text: &str) -> usize {
    let mut quoted = false;
    for (at, character) in text.char_indices() {
        match character {
            '"' => quoted = !quoted,
            '>' if !quoted => return at,
            _ => {}
        }
    }
    panic!("tag without end: {}", &text[..text.len().min(80)]);
}

#[test]
fn the_page_is_well_formed_and_asks_for_nothing() {
    let document = synthetic::document();
    let html = report::html(&document);
    let tags = check_structure(&html);
    for needle in ["http:", "https:", "src=", "@import", "url("] {
        assert!(!html.contains(needle), "{needle} in the page");
    }
    let charts = tags.iter().filter(|t| t.starts_with("svg class=\"chart\""));
    let unlabelled = charts.clone().filter(|t| !t.contains("role=\"img\"") || !t.contains("aria-label=\""));
    assert!(charts.clone().count() >= 10 && unlabelled.count() == 0);
    let folded = tags.iter().filter(|t| *t == "details").count();
    assert!(folded >= charts.count(), "a table under each chart");
    for link in tags.iter().filter(|t| t.starts_with("a href")) {
        let target = link.split("#").nth(1).unwrap().trim_end_matches('"');
        assert!(tags.iter().any(|t| t.contains(&format!("id=\"{target}\""))), "{link} leads nowhere");
    }
    // For looking at; in the build directory, not in the tree.
    let directory = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
    std::fs::write(directory.join("synthetic-report.html"), &html).unwrap();
    document.write(std::fs::File::create(directory.join("synthetic-results.json")).unwrap()).unwrap();
}

#[test]
fn every_cell_appears() {
    let document = synthetic::document();
    let html = report::html(&document);
    let visible = html.split("<script").next().unwrap();
    let names = document.cell_names();
    for cell in &document.cells {
        match (&cell.summary, &cell.skipped) {
            (Some(summary), _) => {
                let path = names[&cell.id].split(": ").nth(1).unwrap().to_owned();
                // A name ends in its position, which charts and tables show apart from the path.
                let path = path.rsplit_once(", ").map_or(path.clone(), |(path, _)| path.to_owned());
                assert!(visible.contains(&path), "{path}");
                assert!(!summary.rate.value.is_nan());
            }
            (None, Some(_)) => {
                assert!(visible.contains("the file system refuses RWF_DONTCACHE"), "{}", cell.id)
            }
            (None, None) => panic!("{} has neither", cell.id),
        }
    }
    let samples: usize = document.cells.iter().filter_map(|c| c.summary.as_ref()).map(|s| s.n).sum();
    assert!(
        visible.matches("class=\"point").count()
            >= document.cells.iter().filter(|c| c.summary.is_some()).count()
    );
    assert_eq!(samples, document.cells.iter().map(|c| c.samples.len()).sum::<usize>() - 1);
    for word in
        ["two-humped", "contradicted", "drifting", "half-power", "roof", "Self-audit", "EOPNOTSUPP", "Seed"]
    {
        assert!(visible.to_lowercase().contains(&word.to_lowercase()), "{word}");
    }
    assert!(!visible.contains("NaN") && !visible.contains("inf "));
}

#[test]
fn the_embedded_document_is_the_document() {
    let document = synthetic::document();
    let html = report::html(&document);
    let embedded = |id: &str| {
        let start = format!("<script type=\"application/json\" id=\"{id}\">");
        html.split(&start).nth(1).unwrap().split("</script>").next().unwrap().to_owned()
    };
    assert_eq!(Document::parse(&embedded("results")).unwrap(), document);
    let mut csv = Vec::new();
    fullbore_bench::csv::write(&document, &mut csv).unwrap();
    let samples: String = serde_json::from_str(&embedded("samples")).unwrap();
    assert_eq!(samples.as_bytes(), csv);
}

#[test]
fn hostile_text_stays_text() {
    let attack = "</script><img onerror='x' title=\"y\">&";
    let labels = Labels {
        job: attack.into(),
        operation: attack.into(),
        method: attack.into(),
        strategy: Some(attack.into()),
        ..Labels::default()
    };
    let mut document = synthetic::document();
    document.run.directory = attack.into();
    document.run.notes.push(attack.into());
    document.audit.findings.push(attack.into());
    document.environment.kernel = attack.into();
    document.environment.facts = serde_json::json!({ attack: attack });
    document.cells.push(Cell::skipped("x", attack, labels.clone(), attack));
    let mut measured = document.cells[0].clone();
    (measured.id, measured.experiment, measured.labels) = ("y".into(), attack.into(), labels);
    document.cells.push(measured);
    document.findings = fullbore_bench::document::findings(&document.cells, &[], &Default::default());
    let html = report::html(&document);
    check_structure(&html);
    assert!(!html.contains("<img"), "markup from the document");
    assert_eq!(html.matches("</script>").count(), 3, "results, samples, script");
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
}
