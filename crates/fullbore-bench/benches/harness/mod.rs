//! The common part of the benchmarks that compare fullbore with its peers: options, interleaved rounds, bounds, the noise of
//! the machine, a directory removed at the end.

pub(crate) mod directory;
pub(crate) mod finding;
pub(crate) mod options;
pub(crate) mod rounds;

use std::path::Path;
use std::process::ExitCode;

use finding::Findings;
use options::CommonOptions;

/// An error of a benchmark: reported, it ends the comparison.
pub(crate) type BenchError = Box<dyn std::error::Error>;
pub(crate) type Attempt<T> = Result<T, BenchError>;

/// A case: its name for `--only`, its title, and its function.
pub(crate) type Case<'c, F> = (&'c str, &'c str, F);

/// Runs the selected cases on the context that `make` creates, and returns the exit status of the benchmark. `findings`
/// selects the findings of the context.
pub(crate) fn run<B, F: Fn(&mut B) -> Attempt<()>>(
    program: &str,
    options: &CommonOptions,
    cases: &[Case<'_, F>],
    make: impl FnOnce() -> Attempt<B>,
    findings: impl Fn(&mut B) -> &mut Findings,
) -> ExitCode {
    if options.list {
        cases.iter().for_each(|(name, ..)| println!("{name}"));
        return ExitCode::SUCCESS;
    }
    if !options.bench {
        // `cargo test --all-targets` starts benchmarks too, without --bench.
        println!("{program} measures only under cargo bench (or with --bench); try --help");
        return ExitCode::SUCCESS;
    }
    let names = cases.iter().map(|(name, ..)| *name);
    let chosen: Vec<_> = cases.iter().filter(|(name, ..)| options.selects(names.clone(), name)).collect();
    if chosen.is_empty() {
        return exit(program, Err("--only matches no case; --list prints them".into()));
    }
    let outcome = make().and_then(|mut bench| {
        findings(&mut bench).introduce();
        for (name, title, compare) in chosen {
            findings(&mut bench).begin(name, title);
            let quiet = rounds::Watch::start();
            if let Err(error) = compare(&mut bench) {
                findings(&mut bench).record_error(name, &*error);
            }
            if let Some(objection) = quiet.ok().and_then(|watch| watch.measurement_problem()) {
                findings(&mut bench).note(format!("NOISE {objection}"));
            }
        }
        findings(&mut bench).conclude(options.markdown.as_deref())
    });
    exit(program, outcome)
}

/// The exit status of a benchmark: 0 if every bound was kept, 1 if one was not, 2 on an error, which is reported.
pub(crate) fn exit(program: &str, outcome: Attempt<bool>) -> ExitCode {
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("{program}: {error}");
            ExitCode::from(2)
        }
    }
}

/// The storage of the file at `path`, and the machine.
pub(crate) fn place(path: &Path) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(found) = fullbore::probe::facts(path).ok().and_then(|facts| facts.file_system) {
        lines.push(format!("file system: {} ({})", found.kind, found.mount_options.join(",")));
    }
    lines.push(fullbore::probe::human_machine(&fullbore::probe::machine()).trim_end().to_owned());
    lines
}
