//! Every form of a comparison is parsed by an independent reader and contains the same data.

use crate::markup::check_structure;
use crate::pair::{Law, Spread, document};
use fullbore_bench::comparison::{
    self, Aspect, COLUMNS, Options, RunComparison, Source, compare, csv, html, json, markdown, render,
};
use fullbore_bench::table::TableOptions;
use serde_json::Value;

/// Text that does harm if it is not escaped.
const HOSTILE: &str = "</script><b onload=\"x\"> | `a` *b* \u{1b}[31mred \"quoted\", & more";

/// One slower, one unclear, one unchanged, one faster, one missing, one added; names that need escaping.
fn made() -> RunComparison {
    let law = Law { p99: 1e-3, ..Law::default() };
    let mut laws = vec![law.clone(); 6];
    laws[1].spread = Spread::LogNormal(0.6);
    let mut before = document(&laws, 1);
    laws[0].rate *= 0.7;
    laws[3].rate *= 1.6;
    laws[3].cost *= 0.5;
    let mut now = document(&laws, 2);
    now.cells[0].labels.allocation = Some(HOSTILE.into());
    now.cells[0].labels.operation = HOSTILE.into();
    now.cells[4].samples.clear();
    now.cells[4].skipped = Some(HOSTILE.into());
    before.cells[5].samples.clear();
    now.run.directory = HOSTILE.into();
    now.environment.kernel = HOSTILE.into();
    let options = Options {
        across: vec![Aspect::Kernel],
        conditions: ["slower:5%", "unclear", "faster:500%"].map(|text| text.parse().unwrap()).to_vec(),
        ..Options::default()
    };
    let sources = [("a.json", &before), (HOSTILE, &now), ("c.json", &before)]
        .map(|(name, document)| Source { name, document });
    // The baseline as a third document: a comparison without differences is shown, too.
    compare(sources[0], &sources[1..], &options).unwrap()
}

#[test]
fn json_has_every_field() {
    let comparison = made();
    let text = json(&comparison);
    let value: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((&value["schema"], &value["version"]), (&"fullbore.comparison".into(), &1.into()));
    assert_eq!((&value["failed"], &value["margin"]), (&true.into(), &0.1.into()));
    let other = &value["others"][0];
    assert_eq!(other["document"]["name"], HOSTILE.replace('\u{1b}', "\u{FFFD}"));
    assert_eq!(other["differences"][0]["aspect"], "kernel");
    let cells = other["cells"].as_array().unwrap();
    let verdicts: Vec<&str> = cells.iter().map(|cell| cell["rate"]["verdict"].as_str().unwrap()).collect();
    assert_eq!(verdicts, ["slower", "unclear", "no-difference-that-matters", "faster"]);
    for (cell, found) in cells.iter().zip(&comparison.others[0].cells) {
        assert_eq!(cell["id"], found.id);
        assert_eq!(cell["rate"]["ratio"]["low"].as_f64().unwrap(), found.rate.ratio.low);
        assert_eq!(cell["rate"]["p_among_all"].as_f64(), found.rate.p_among_all);
        assert_eq!(cell["cost"]["verdict"].as_str(), found.cost.as_ref().map(|cost| cost.verdict));
        assert_eq!(cell["latency"]["measure"], "latency-p99");
    }
    assert_eq!((&cells[0]["rate"]["stands"], &cells[1]["rate"]["stands"]), (&true.into(), &false.into()));
    assert_eq!(other["missing"][0]["id"], "read/4");
    assert_eq!(other["added"][0]["id"], "read/5");
    assert_eq!(other["summary"]["compared"], 4);
    let conditions = value["conditions"].as_array().unwrap();
    let met: Vec<bool> = conditions.iter().map(|condition| condition["met"].as_bool().unwrap()).collect();
    assert_eq!(met, [true, true, false]);
    assert_eq!(conditions[0]["condition"], "slower:5%");
    assert_eq!(conditions[0]["cells"][0]["id"], "read/0");
    assert_eq!(value["others"][1]["summary"]["no_difference_that_matters"], 4);
}

#[test]
fn csv_has_a_row_per_cell() {
    let comparison = made();
    let mut text = Vec::new();
    csv(&comparison, &mut text).unwrap();
    let mut reader = csv::Reader::from_reader(text.as_slice());
    assert_eq!(reader.headers().unwrap().iter().collect::<Vec<_>>(), COLUMNS.map(|column| column.0));
    let rows: Vec<csv::StringRecord> = reader.records().collect::<Result<_, _>>().unwrap();
    let field = |row: &csv::StringRecord, name: &str| {
        row[COLUMNS.iter().position(|column| column.0 == name).unwrap()].to_owned()
    };
    let first: Vec<_> = rows.iter().filter(|row| row[0] != *"c.json").collect();
    let verdicts: Vec<String> = first.iter().map(|row| field(row, "verdict")).collect();
    assert_eq!(verdicts, ["slower", "unclear", "no-difference-that-matters", "faster", "missing", "added"]);
    let slower = &comparison.others[0].cells[0];
    assert_eq!(field(first[0], "ratio").parse::<f64>().unwrap(), slower.rate.ratio.value);
    assert_eq!(
        field(first[0], "latency_p99_s").parse::<f64>().unwrap(),
        slower.latency.as_ref().unwrap().this
    );
    assert_eq!(field(first[3], "cost_verdict"), "cpu-lower");
    assert_eq!(field(first[3], "cost_measure"), "cost-per-mb");
    assert_eq!(
        (field(first[4], "baseline_cell"), field(first[5], "cell")),
        ("read/4".into(), "read/5".into())
    );
    assert!(field(first[4], "notes").contains("onload"));
    assert_eq!(rows.len() - first.len(), 5);
    let ends = |row| {
        ["ratio", "cost_ratio", "latency_ratio"]
            .map(|ratio| ["low", "high"].map(|end| field(row, &format!("{ratio}_{end}")).is_empty()))
    };
    assert_eq!(ends(first[0]), [[false; 2]; 3]);
    // The ratio of two samples has no interval.
    let single = |seed| {
        let mut document = document(&[Law { p99: 1e-3, ..Law::default() }], seed);
        document.cells[0].samples.truncate(1);
        document
    };
    let [before, now] = [1, 2].map(single);
    let [before, now] = [("a", &before), ("b", &now)].map(|(name, document)| Source { name, document });
    let comparison = compare(before, &[now], &Options::default()).unwrap();
    let mut text = Vec::new();
    csv(&comparison, &mut text).unwrap();
    let row = csv::Reader::from_reader(text.as_slice()).records().next().unwrap().unwrap();
    assert_eq!((ends(&row), field(&row, "ratio").is_empty()), ([[true; 2]; 3], false));
}

#[test]
fn table_lines_fit_the_width_and_contain_no_control_characters() {
    let comparison = made();
    for width in [0, 60, 80, 97, 200] {
        let text = render(&comparison, TableOptions { width, colour: false });
        for line in text.lines() {
            assert!(line.chars().count() <= width.max(60), "{} of {width}: {line}", line.chars().count());
            assert!(!line.contains('\u{1b}') && line.trim_end() == line, "{line:?}");
        }
        assert!(text.ends_with('\n'));
        let at = |part: &str| text.find(part).unwrap_or_else(|| panic!("no {part} in {text}"));
        assert!(at("Slower (1)") < at("Unclear (1)") && at("Unclear (1)") < at("Same within 10% (1)"));
        assert!(at("Same within 10% (1)") < at("Faster (1)") && at("Faster (1)") < at("Missing"));
    }
    let wide = render(&comparison, TableOptions { width: 200, colour: false });
    assert!(
        wide.lines().last().unwrap().starts_with("c.json: 0 slower, 1 unclear, 4 same, 0 faster of 5 cells")
    );
    assert!(wide.contains("--fail-on faster:500%: not met by any of 9 cells"), "{wide}");
    assert!(wide.contains("1 slower, 1 unclear, 1 same, 1 faster of 4 cells; 1 missing; 1 added"), "{wide}");
    // Colour adds escape sequences only.
    let coloured = render(&comparison, TableOptions { width: 80, colour: true });
    assert!(coloured.contains("\u{1b}[1;31m"));
    let mut plain = String::new();
    let mut rest = coloured.as_str();
    while let Some(at) = rest.find('\u{1b}') {
        plain += &rest[..at];
        rest = &rest[at + rest[at..].find('m').unwrap() + 1..];
    }
    assert_eq!(plain + rest, render(&comparison, TableOptions { width: 80, colour: false }));
}

#[test]
fn markdown_keeps_its_tables_whole() {
    let text = markdown(&made());
    let cells = |line: &str| line.replace("\\|", "").matches('|').count();
    let rows: Vec<&str> = text.lines().filter(|line| line.starts_with('|')).collect();
    // Head and rule of six tables, nine cells.
    assert_eq!(rows.len(), 2 * 6 + 9, "{text}");
    assert!(rows.iter().all(|row| cells(row) == 10), "{text}");
    assert!(!text.contains("</script>") && !text.contains("<b onload"), "{text}");
    assert_eq!(text.matches("<details>").count(), text.matches("</details>").count());
    assert!(text.contains("&lt;/script&gt;") && text.contains("\\*b\\*"), "{text}");
}

#[test]
fn page_is_complete_and_loads_nothing() {
    let page = html(&made());
    for outside in ["http:", "https:", "src=", "@import", "url("] {
        assert!(!page.contains(outside), "{outside}");
    }
    assert!(!page.contains("<b onload"));
    let tags = check_structure(&page);
    let count = |name: &str| tags.iter().filter(|tag| tag.split_whitespace().next() == Some(name)).count();
    assert_eq!(count("svg"), 2, "a chart per document");
    assert_eq!(count("circle"), 9, "a point per cell");
    let data = page.split("id=\"comparison\">").nth(1).unwrap().split("</script>").next().unwrap();
    let value: Value = serde_json::from_str(data).unwrap();
    assert_eq!(value["schema"], comparison::SCHEMA);
}
