//! Peak memory of each tool: for a large file, for very many files, and for a large pipe.

use super::*;

use crate::commands::CommandOrReason;
use crate::harness::finding::Findings;

pub(super) const CASES: &[Case] = &[
    ("memory-file", "peak memory for a large file", large_file),
    ("memory-pipe", "peak memory for a large pipe", large_pipe),
    ("memory-files", "peak memory for very many files", many_files),
];

const FILE: &str = "large/one";

fn large_file(bench: &mut Bench) -> Attempt<()> {
    let size = need_large(bench)?;
    let literal = bench.options.literal.clone();
    let runs = [
        ("wc", bench.ours("wc", &[FILE])),
        ("grep", bench.ours("grep", &["-c", &literal, FILE])),
        ("cmp", bench.ours("cmp", &[FILE, "large/two"])),
        ("copy", bench.ours("copy", &[FILE, "mine"])),
        ("sum", bench.ours("sum", &["-a", "blake3", FILE])),
        ("sum of three hashes", bench.ours("sum", &["-a", "sha256,sha512,md5", FILE])),
        ("dedupe", bench.ours("dedupe", &["large"])),
    ];
    judge(bench, &format!("a file of {size}"), runs)
}

fn large_pipe(bench: &mut Bench) -> Attempt<()> {
    let size = need_large(bench)?;
    let literal = bench.options.literal.clone();
    let source = bench.place.path(FILE);
    let runs = [
        ("wc", bench.ours("wc", &[])),
        ("grep", bench.ours("grep", &["-c", &literal, "-"])),
        ("cmp", bench.ours("cmp", &["-", "large/two"])),
        ("copy", bench.ours("copy", &["/dev/stdin", "mine"])),
        ("sum", bench.ours("sum", &["-a", "blake3", "-"])),
        ("sum of three hashes", bench.ours("sum", &["-a", "sha256,sha512,md5", "-"])),
    ];
    let runs = runs.map(|(name, entrant)| {
        (name, entrant.map(|line| CommandLine { piped: Some(source.clone()), ..line }))
    });
    judge(bench, &format!("a pipe of {size}"), runs)?;
    bench.place.forget(Data::Large);
    Ok(())
}

fn many_files(bench: &mut Bench) -> Attempt<()> {
    if !bench.tools.is_empty() {
        bench.place.need(Data::Crowd)?;
    }
    let (files, crowd) = (bench.options.files, bench.place.of(Data::Crowd));
    let named =
        |line: CommandLine| CommandLine { directory: Some(crowd.clone()), ..line.with(tree::names(files)) };
    let no_match = |line| CommandLine { code: 1, ..line };
    let runs = [
        ("wc", bench.ours("wc", &[]).map(named)),
        // Random bytes do not match so many letters: the exit code is "no match".
        ("grep", bench.ours("grep", &["-a", "-c", "Ferdinand Magellan", "crowd"]).map(no_match)),
        ("grep --sort path", bench.ours("grep", &["--sort", "path", "-a", "-c", "", "crowd"])),
        ("copy", bench.ours("copy", &["-r", "crowd", "mine"])),
        ("sum", bench.ours("sum", &["-a", "blake3"]).map(named)),
        ("dedupe", bench.ours("dedupe", &["crowd"])),
    ];
    judge(bench, &format!("{files} files"), runs)
}

/// Makes the large text, if a contender reads it, notes a smaller size than planned, and returns its size as text.
fn need_large(bench: &mut Bench) -> Attempt<String> {
    let wanted = fullbore::size::human(bench.options.size.saturating_mul(10));
    if bench.tools.is_empty() {
        return Ok(wanted);
    }
    bench.place.need(Data::Large)?;
    let large = fullbore::size::human(bench.place.large);
    if large != wanted {
        bench.findings.note(format!("{large} instead of {wanted}: not enough free space"));
    }
    Ok(large)
}

fn judge<const N: usize>(bench: &mut Bench, of: &str, runs: [(&str, CommandOrReason); N]) -> Attempt<()> {
    let output = bench.place.path("mine");
    for (name, entrant) in runs {
        let what = format!("memory, {name}, {of}");
        bench.peak_memory(&what, entrant, &output, MEMORY, Findings::record_error);
    }
    Ok(())
}
