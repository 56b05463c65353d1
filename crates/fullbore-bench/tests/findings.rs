//! Findings recover the laws from which a synthetic document was made.

mod synthetic;

use fullbore_bench::document::{
    CacheState, Document, Labels, SeriesRef, StopReason, Warning, experiments, series,
};
use fullbore_bench::stats::Verdict;
use fullbore_bench::table::{TableOptions, render};

fn is(series: &SeriesRef, experiment: &str, method: &str, cache: Option<CacheState>) -> bool {
    series.experiment == experiment && series.labels.method == method && series.labels.cache == cache
}

#[test]
fn costs_are_those_of_the_law() {
    let document = synthetic::document();
    for (method, cache, request_s, byte_s) in
        [("direct", CacheState::Cold, 9e-6, 0.02e-9), ("buffered", CacheState::Warm, 0.9e-6, 0.085e-9)]
    {
        let found =
            document.findings.costs.iter().find(|c| is(&c.series, "read", method, Some(cache))).unwrap();
        assert!((found.line.per_request.value / request_s - 1.0).abs() < 0.03, "{found:?}");
        assert!((found.line.per_byte.value / byte_s - 1.0).abs() < 0.05, "{found:?}");
        assert_eq!(found.series.cells.len(), 6);
    }
}

#[test]
fn half_power_points_are_those_of_the_law() {
    let document = synthetic::document();
    let warm = |series: &SeriesRef| is(series, "read", "buffered", Some(CacheState::Warm));
    let found = document.findings.half_power_request.iter().find(|h| warm(&h.series));
    // Half of the peak is where the fixed time equals the transfer time: 0.9 µs · 11.5 GB/s = 10.4 kB.
    assert_eq!(found.unwrap().half_power.at, 16384);
    let deep = |series: &SeriesRef| is(series, "depth", "uring", Some(CacheState::Cold));
    let depth = document.findings.half_power_depth.iter().find(|h| deep(&h.series)).unwrap().half_power;
    assert!(depth.at == 8 && depth.peak_at == 32, "{depth:?}");
}

#[test]
fn roof_peaks_and_choices() {
    let document = synthetic::document();
    let roof = document.findings.roof.as_ref().unwrap();
    assert!((roof.rate.value / 14.2e9 - 1.0).abs() < 0.02);
    let warm = |series: &SeriesRef| is(series, "read", "buffered", Some(CacheState::Warm));
    let peak = document.findings.peaks.iter().find(|p| warm(&p.series)).unwrap();
    assert!((peak.share_of_roof.unwrap() - 11.5 / 14.2).abs() < 0.03, "{peak:?}");
    let choice = |job: &str| document.findings.choices.iter().find(|c| c.job == job).unwrap();
    let warm = choice("sequential read, warm");
    assert!(warm.strategy.starts_with("method=buffered,request="), "{warm:?}");
    let next = warm.runner_up.as_ref().unwrap();
    assert!(next.strategy.starts_with("method=mmap") && next.comparison.verdict == Verdict::Faster);
    assert!((next.comparison.ratio.value - 11.5 / 6.2).abs() < 0.1);
    assert!(choice("random read of 4 KiB, cold").strategy.contains("depth=32"));
    assert!(choice("transform, warm").evidence.contains("GB/s"));
}

#[test]
fn faults_are_seen_and_named() {
    let document = synthetic::document();
    let summaries = document.cells.iter().filter_map(|c| c.summary.as_ref());
    let flags: Vec<Warning> = summaries.flat_map(|s| s.flags.clone()).collect();
    let count = |wanted: fn(&Warning) -> bool| flags.iter().filter(|flag| wanted(flag)).count();
    assert_eq!(count(|flag| matches!(flag, Warning::Bimodal(_))), 1, "{flags:?}");
    let reason = "61 % of the file was in the page cache, asked cold".to_owned();
    let left_out = Warning::Contradicted { samples: 1, reason: Some(reason) };
    assert!(flags.contains(&left_out), "{flags:?}");
    assert_eq!(count(|flag| matches!(flag, Warning::Contradicted { .. })), 1, "{flags:?}");
    assert!(count(|flag| matches!(flag, Warning::Drifting(drift) if drift.relative_change < 0.0)) > 0);
    assert!(count(|flag| flag.stop() == Some(StopReason::TimeUp)) > 0);
    let contradicted = document.cells.iter().find(|c| c.samples.iter().any(|s| !s.usable())).unwrap();
    let summary = contradicted.summary.as_ref().unwrap();
    assert_eq!((contradicted.samples.len(), summary.n, summary.contradicted), (10, 9, 1));
    // The contradicted sample is four times too fast; if it counted, the interval would include it.
    assert!(summary.rate.high < 1.5e9, "{summary:?}");
}

#[test]
fn the_document_survives_writing_and_reading() {
    let document = synthetic::document();
    let mut bytes = Vec::new();
    document.write(&mut bytes).unwrap();
    assert_eq!(Document::read(bytes.as_slice()).unwrap(), document);
}

#[test]
fn csv_has_a_row_for_each_sample() {
    let document = synthetic::document();
    let mut bytes = Vec::new();
    fullbore_bench::csv::write(&document, &mut bytes).unwrap();
    let mut reader = csv::Reader::from_reader(bytes.as_slice());
    let headers = reader.headers().unwrap().clone();
    assert_eq!(headers.iter().collect::<Vec<_>>().join(" "), fullbore_bench::csv::COLUMNS);
    let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    assert_eq!(rows.len(), document.cells.iter().map(|c| c.samples.len()).sum::<usize>());
    let column = |name: &str| headers.iter().position(|h| h == name).unwrap();
    let first = &document.cells[0];
    assert_eq!(&rows[0][column("cell")], first.id);
    assert_eq!(&rows[0][column("cache")], "warm");
    assert_eq!(rows[0][column("bytes_per_s")].parse::<f64>().unwrap(), first.samples[0].rate());
    assert_eq!(rows.iter().filter(|r| &r[column("usable")] == "false").count(), 1);
}

#[test]
fn the_table_fits_its_width() {
    let document = synthetic::document();
    for width in [60, 80, 100, 132] {
        let table = render(&document, TableOptions { width, colour: false });
        for line in table.lines() {
            // Commands are on one line.
            let is_command =
                ["    fullbore ", "    dd ", "    AsyncFile::"].iter().any(|start| line.starts_with(start));
            assert!(is_command || line.chars().count() <= width, "{width}: {line}");
            assert!(!line.contains('\x1b'));
        }
        if width == 80 {
            println!("{table}");
        }
        let joined = table.split_whitespace().collect::<Vec<_>>().join(" ");
        for expected in
            ["Roof: memory", "half-power", "bimodal", "RWF_DONTCACHE", "contradicted", "self-audit:"]
        {
            assert!(joined.contains(expected), "{width}: {expected} missing in\n{table}");
        }
    }
    let coloured = render(&document, TableOptions { width: 80, colour: true });
    assert!(coloured.contains("\x1b[1m"));
}

#[test]
fn other_parts_of_a_strategy_separate_lines_of_sizes() {
    let mut document = synthetic::document();
    document.cells.truncate(6);
    for (cell, (stripe, request)) in
        document.cells.iter_mut().zip(["1M", "16M"].iter().flat_map(|stripe| [4, 8, 16].map(|k| (stripe, k))))
    {
        cell.experiment = "stripes".into();
        let strategy = Some(format!("method=buffered,stripe={stripe},request={request}K"));
        cell.labels =
            Labels { strategy, request_bytes: Some(request << 10), ..Labels::of("read", "buffered") };
    }
    let described = experiments(&[], &document.cells).remove(0);
    let lines: Vec<(String, usize)> =
        series(&document.cells, &described).into_iter().map(|one| (one.name, one.cells.len())).collect();
    assert_eq!(lines, [("buffered, stripe=1M".to_owned(), 3), ("buffered, stripe=16M".to_owned(), 3)]);
}

#[test]
fn equal_strategies_of_two_jobs_are_named_by_job() {
    let mut document = synthetic::document();
    document.cells.truncate(2);
    for (cell, job) in document.cells.iter_mut().zip(["scan", "hash"]) {
        cell.experiment = "jobs".into();
        cell.labels =
            Labels { job: job.into(), strategy: Some("auto".into()), ..Labels::of(job, "buffered") };
    }
    let described = experiments(&[], &document.cells).remove(0);
    let names: Vec<String> = series(&document.cells, &described).into_iter().map(|one| one.name).collect();
    assert_eq!(names, ["scan, auto", "hash, auto"]);
}
