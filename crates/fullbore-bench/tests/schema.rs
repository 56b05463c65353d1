//! Results documents stay readable: the fixture was written once by version 1 and is never regenerated.

use fullbore_bench::document::{CacheState, Document, Error, Proof, StopReason, SummaryOptions, Warning};

const VERSION_1: &str = include_str!("fixtures/results-v1.json");

#[test]
fn version_1_is_read() {
    let document = Document::read(VERSION_1.as_bytes()).unwrap();
    assert_eq!(
        (document.run.seed, document.run.file_bytes, document.run.interrupted),
        (42, 268_435_456, true)
    );
    let environment = &document.environment;
    assert_eq!(environment.cpu_quota, Some(1.5));
    assert_eq!(environment.file_system.kind, "xfs");
    assert_eq!(environment.devices[0].queue["scheduler"], "none");
    assert_eq!(environment.engines[1].reason.as_deref(), Some("io_uring_setup: EPERM"));
    assert_eq!(environment.facts["direct_alignment"], 512);
    assert_eq!(document.audit.null_request_s.unwrap().high, 5.3e-8);
    let cell = document.cell("read/direct/cold/64K").unwrap();
    assert_eq!(cell.labels.cache, Some(CacheState::Cold));
    assert_eq!(cell.samples[0].rate(), 671_088_640.0);
    assert_eq!(cell.samples[1].uncharged_s, None);
    assert!(
        matches!(&cell.samples[1].proof, Proof::Contradicted { reason } if reason.contains("asked cold"))
    );
    assert!(!cell.samples[1].usable() && cell.samples[2].usable());
    let summary = cell.summary.as_ref().unwrap();
    assert_eq!((summary.stop, summary.n, summary.contradicted), (StopReason::Interrupted, 2, 1));
    assert_eq!(summary.rate.value, 603_979_776.0);
    assert_eq!(document.cells[1].skipped.as_deref(), Some("io_uring_setup: EPERM"));
    assert_eq!(document.findings.choices[0].strategy, "method=direct,request=64K");
}

#[test]
fn the_summary_follows_from_the_samples() {
    let mut document = Document::parse(VERSION_1).unwrap();
    let written = document.cells[0].summary.take().unwrap();
    let options = SummaryOptions {
        stop: StopReason::Interrupted,
        null_request_s: Some(5e-8),
        ..SummaryOptions::default()
    };
    document.cells[0].summarise(&options);
    let computed = document.cells[0].summary.as_ref().unwrap();
    assert_eq!((computed.rate, computed.n, computed.unproved), (written.rate, written.n, written.unproved));
    assert_eq!(computed.relative_half_width, written.relative_half_width);
    assert_eq!(computed.requests_per_s, written.requests_per_s);
    let (request, expected) = (computed.cpu_per_request.unwrap(), written.cpu_per_request.unwrap());
    assert!((request.charged.high / expected.charged.high - 1.0).abs() < 1e-12);
    assert_eq!((request.user_s, request.uncharged_s), (expected.user_s, expected.uncharged_s));
    assert!((computed.cpu_per_mb.charged.value / written.cpu_per_mb.charged.value - 1.0).abs() < 1e-5);
    assert_eq!(computed.latency, written.latency);
    // (0.001 + 0.009) / 0.1 and (0.0015 + 0.0095) / 0.125 processors.
    assert!((computed.processors.unwrap().value - (0.1 + 0.088) / 2.0).abs() < 1e-9);
    assert!((computed.tool_share.unwrap() - 0.00046).abs() < 1e-5);
    // One contradicted sample, and interrupted while the interval was wide.
    assert_eq!(computed.flags[0], written.flags[0]);
    assert_eq!(computed.flags[1].to_string(), "interrupted at ±11% after 2 samples");
    // A document has the text, from which the reason is read again.
    let text = serde_json::to_string(&computed.flags).unwrap();
    let read: Vec<Warning> = serde_json::from_str(&text).unwrap();
    assert_eq!([read[0].stop(), read[1].stop()], [None, Some(StopReason::Interrupted)]);
    assert_eq!(serde_json::to_string(&read).unwrap(), text);
}

#[test]
fn later_minor_additions_are_ignored() {
    let later = VERSION_1
        .replacen("\"minor\": 0", "\"minor\": 8, \"weather\": {\"rain\": true}", 1)
        .replacen("\"round\": 0,", "\"round\": 0, \"instructions\": 12345,", 1);
    let document = Document::parse(&later).unwrap();
    assert_eq!((document.minor, document.cells.len()), (8, 2));
}

#[test]
fn only_the_required_fields_are_required() {
    let least = r#"{"schema": "fullbore.results", "version": 1, "cells": [], "run": {"started": "2026-01-01T00:00:00Z",
        "duration_s": 1, "fullbore_version": "0.1.0", "seed": 1, "directory": ".", "file_bytes": 0, "complete": true}}"#;
    assert!(Document::parse(least).unwrap().findings.choices.is_empty());
}

#[test]
fn unreadable_documents_are_rejected_with_a_reason() {
    let refused = |text: &str| Document::parse(text).unwrap_err();
    assert!(matches!(refused(&VERSION_1.replacen("\"version\": 1", "\"version\": 0", 1)), Error::NoVersion));
    assert!(matches!(
        refused(&VERSION_1.replacen("\"version\": 1", "\"version\": \"1\"", 1)),
        Error::NoVersion
    ));
    // Compressed, it takes kilobytes; as samples, gigabytes.
    let many = format!("{{\"schema\": \"fullbore.results\", \"cells\": [{}{{}}]}}", "{},".repeat(1_000_000));
    assert!(matches!(refused(&many), Error::TooManyValues));
    let missing = refused(&VERSION_1.replacen("\"seed\": 42,", "", 1));
    assert!(matches!(missing, Error::Json(_)) && std::error::Error::source(&missing).is_some());
    assert!(missing.to_string().contains("seed"), "{missing}");
}

#[test]
fn the_earlier_name_of_fallocate_is_read() {
    let old = r#"{"schema": "fullbore.results", "version": 1, "cells": [{"id": "1", "experiment": "fresh", "labels":
        {"allocation": "preallocate", "strategy": "method=buffered,alloc=preallocate,cache=keep"}, "samples": []}],
        "run": {"started": "2026-01-01T00:00:00Z", "duration_s": 1, "fullbore_version": "0.1.0", "seed": 1,
        "directory": ".", "file_bytes": 0, "complete": true}}"#;
    let labels = &Document::parse(old).unwrap().cells[0].labels;
    assert_eq!(labels.allocation.as_deref(), Some("fallocate"));
    assert_eq!(labels.strategy.as_deref(), Some("method=buffered,alloc=fallocate,cache=keep"));
}
