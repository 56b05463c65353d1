//! Flags common to the tools, the job built from them, and the summary of a run.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use clap::Args;
use fullbore::engine::CachePolicy;
use fullbore::lock::Mutex;
use fullbore::pattern::{Executor, Progress};
use fullbore::probe::ProcessUsage;
use fullbore::quote::Shown;
use fullbore::strategy::{BUDGET, Contender, Learned, NAMED, Plan, Profile};
use fullbore::sys::Code;
use fullbore::{Job, size};
use serde_json::json;

use crate::exit::{Exit, program};
use crate::output::Output;
use crate::progress::{ProgressLine, When};
use crate::values::{choices, is_stdio, names};

/// The flags of every tool that moves bytes.
#[derive(Debug, Args)]
#[command(next_help_heading = "I/O strategy")]
pub struct CommonArgs {
    #[arg(long, value_name = "STRATEGY", default_value = "auto", help = strategies())]
    strategy: String,

    /// Page-cache policy: keep, drop after use, or bypass (O_DIRECT) [default: keep]
    #[arg(long, value_parser = choices(&CACHE_POLICIES), value_name = "POLICY")]
    cache: Option<CachePolicy>,

    /// Number of worker threads [default: number of processors, at most 8 for one file and for copy (a long run may try
    /// more); up to 32 for many files that wait for the device]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=256))]
    workers: Option<u64>,

    /// Memory limit for buffers [default: 64M]; results that wait for others take at most as much again
    #[arg(long, value_name = "SIZE", value_parser = memory)]
    memory: Option<u64>,

    /// Do not use figures learned in earlier runs, and save none
    #[arg(long)]
    no_learn: bool,

    /// Print the strategy that runs, the reasons and the rejected alternatives to standard error
    #[arg(long)]
    explain: bool,

    /// Print real, user and system time and the throughput to standard error
    #[arg(long)]
    time: bool,

    /// Progress line: auto, always or never
    #[arg(long, value_parser = names::<When>(), value_name = "WHEN", default_value = "auto")]
    pub progress: When,
}

const CACHE_POLICIES: [(&str, &str, CachePolicy); 3] = [
    ("keep", "", CachePolicy::Keep),
    ("drop", "", CachePolicy::DontCache),
    ("direct", "", CachePolicy::Direct),
];

fn memory(text: &str) -> Result<u64, String> {
    let bytes = size::parse(text).map_err(|error| error.to_string())?;
    if bytes < 1 << 20 { Err("the minimum is 1M".into()) } else { Ok(bytes) }
}

/// The plans of a run, for the summary.
type Plans = Mutex<Vec<(PathBuf, Plan)>>;

/// A run of a tool: its job and its visible effects (progress, plans, output).
#[derive(Debug)]
pub struct CliRun<'w> {
    common: &'w CommonArgs,
    /// The job of the common flags.
    pub job: Job,
    /// The progress shared with the job.
    pub progress: Arc<Progress>,
    start: Instant,
    before: ProcessUsage,
    plans: Arc<Plans>,
    /// Standard output of the run, and its progress line.
    pub output: Arc<Output>,
    learned: Option<Learned>,
}

impl CommonArgs {
    /// Sets the number of workers from a tool's own flag, unless a common flag sets it.
    pub fn prefer_workers(&mut self, workers: Option<u64>) {
        self.workers = self.workers.or(workers.map(|workers| workers.min(256)));
    }

    /// Takes one worker if standard input is named more than once: its readers take turns, in order.
    pub fn share_standard_input(&mut self, operands: &[PathBuf]) {
        if operands.iter().filter(|path| is_stdio(path)).count() > 1 {
            self.workers = Some(1);
        }
    }

    /// Returns true if a flag sets the access method or its cache policy.
    pub fn sets_method(&self) -> bool {
        self.strategy != "auto" || self.cache.is_some()
    }

    /// Returns the memory limit of a run in bytes.
    pub fn budget(&self) -> u64 {
        self.job().ok().and_then(|job| job.spec().budget).unwrap_or(BUDGET)
    }

    /// As [`prefer_workers`](Self::prefer_workers), for the strategy.
    pub fn prefer_strategy(&mut self, strategy: &str) {
        if self.strategy == "auto" {
            strategy.clone_into(&mut self.strategy);
        }
    }

    fn job(&self) -> Result<Job, Exit> {
        let mut job = Job::new()
            .strategy(&self.strategy)
            .map_err(|error| Exit::failure(format!("--strategy: {error}")))?;
        if let Some(policy) = self.cache {
            job = job.cache(policy);
            job.spec().check().map_err(|error| Exit::failure(format!("--cache: {error}")))?;
        }
        if let Some(workers) = self.workers {
            job = job.workers(workers as usize);
        }
        if let Some(memory) = self.memory {
            job = job.memory_limit(memory);
        }
        Ok(job)
    }

    /// Begins a run.
    ///
    /// # Errors
    /// If the strategy spec is invalid.
    pub fn begin(&self) -> Result<CliRun<'_>, Exit> {
        let progress = Arc::new(Progress::default());
        let mut job = self.job()?.progress(progress.clone());
        let (output, plans) = (Output::new(), Arc::default());
        let mut learned = None;
        if let Some(path) = Profile::default_path() {
            learned = (!self.no_learn && learning_allowed()).then(|| Learned::load(&Learned::path(&path)));
            let (figures, output) = (learned.clone(), output.clone());
            job = job.profile_from(move || Profile { learned: figures, ..load_profile(&path, &output) });
        }
        if self.explain {
            job = job.on_plan(plan_recorder(&output, &plans));
        }
        Ok(CliRun {
            common: self,
            job,
            progress,
            start: Instant::now(),
            before: ProcessUsage::now().unwrap_or_default(),
            plans,
            output,
            learned,
        })
    }
}

/// Returns a function that prints the plan for a path, and records it for the summary.
fn plan_recorder(output: &Arc<Output>, plans: &Arc<Plans>) -> impl Fn(&Path, &Plan) + Send + Sync + use<> {
    let (output, plans) = (output.clone(), plans.clone());
    move |path, plan| {
        let mut text = format!("{}:\n", Shown(path));
        for line in plan.to_string().lines() {
            let _ = writeln!(text, "  {line}");
        }
        output.without_progress_line(|| Exit::eprint(&text));
        plans.lock().push((path.to_owned(), plan.clone()));
    }
}

/// Returns the lines of `--explain` for the contenders that a run tried, each indented.
pub fn trials(plan: &Plan) -> String {
    plan.selections().iter().fold(String::new(), |mut text, selection| {
        let _ = writeln!(text, "  {selection}");
        text
    })
}

/// Returns the fields of a plan for `--json`, as [`Plan`] prints them.
pub fn plan_fields(plan: &Plan) -> Vec<(&'static str, serde_json::Value)> {
    let texts = |list: &[Contender]| -> serde_json::Value {
        list.iter().map(|contender| contender.strategy.to_string()).collect()
    };
    let mut fields = vec![("notes", json!(plan.notes)), ("trials", json!(plan.selections()))];
    if plan.is_by_parts() {
        let [cached, other] = plan.of_parts().map(texts);
        fields.extend([("cached_parts", cached), ("other_parts", other)]);
        return fields;
    }
    fields.extend([
        ("strategy", plan.strategy.to_string().into()),
        ("evidence", json!(plan.decision.evidence)),
        ("alternatives", json!(plan.decision.alternatives)),
    ]);
    if plan.contenders.differ() {
        fields.push(("contenders", texts(plan.contenders.of_one_kind())));
    }
    fields
}

impl CliRun<'_> {
    /// Runs `work` with the executor of the job. A progress line headed `what` counts to `len` bytes if that is
    /// known; [`print`](Output::print) clears it while it prints.
    pub fn with_executor<T>(&self, what: &str, len: Option<u64>, work: impl FnOnce(&Executor<'_>) -> T) -> T {
        self.follow(what, len);
        let result = work(&self.job.executor());
        self.clear_progress();
        result
    }

    /// Returns the job of a command with one plan, and the plan as soon as it is made. `--explain` prints it without a path; then
    /// a progress line headed `what` starts, unless it would appear on the terminal to which the output goes.
    pub fn job_with_one_plan(&self, what: &str, to_terminal: bool) -> (Job, Arc<OnceLock<Plan>>) {
        let (what, explains) = (what.to_owned(), self.common.explain);
        let when = match self.common.progress {
            When::Auto if to_terminal => When::Never,
            when => when,
        };
        let made = Arc::new(OnceLock::new());
        let (slot, output, progress) = (made.clone(), self.output.clone(), self.progress.clone());
        let job = self.job.clone().on_plan(move |_, plan| {
            if explains {
                Exit::eprint(&plan.to_string());
            }
            let _ = slot.set(plan.clone());
            *output.line() = Some(ProgressLine::follow(when, &what, plan.plan_input.len, &progress));
        });
        (job, made)
    }

    /// Shows progress until the end of the run, headed `what`, to `len` bytes if that is known.
    pub fn follow(&self, what: &str, len: Option<u64>) {
        *self.output.line() = Some(ProgressLine::follow(self.common.progress, what, len, &self.progress));
    }

    /// Removes the progress line.
    pub fn clear_progress(&self) {
        *self.output.line() = None;
    }

    /// Prints a line of `--explain` where there is no plan.
    pub fn remark(&self, text: &str) {
        if self.common.explain && !text.is_empty() {
            Exit::eprint(&format!("{text}\n"));
        }
    }

    /// Prints a one-line summary of the run if `--time` or `--explain` was given.
    pub fn summarize(&self, text: &str) {
        if self.common.explain || self.common.time {
            Exit::eprint(&format!("{text}\n"));
        }
    }

    /// Ends the run, and prints its times if `--time` was given.
    pub fn end(&self, bytes: u64) -> RunSummary {
        if let Some(learned) = &self.learned {
            learned.save();
        }
        let real = self.start.elapsed().as_secs_f64();
        let usage = ProcessUsage::now().unwrap_or_default().since(&self.before);
        let summary = RunSummary { bytes, real, usage, plans: self.plans.clone() };
        for (path, plan) in &*self.plans.lock() {
            let trials = trials(plan);
            if !trials.is_empty() {
                Exit::eprint(&format!("{}:\n{trials}", Shown(path)));
            }
        }
        if self.common.time {
            Exit::eprint(&format!(
                "real {real:9.3} s\nuser {:9.3} s\nsys  {:9.3} s\n{} in all, {}\n",
                summary.usage.user,
                summary.usage.system,
                size::human(bytes),
                size::rate(summary.rate())
            ));
        }
        summary
    }
}

/// The figures of a run that has ended.
#[derive(Debug)]
pub struct RunSummary {
    bytes: u64,
    real: f64,
    usage: ProcessUsage,
    plans: Arc<Plans>,
}

impl RunSummary {
    fn rate(&self) -> f64 {
        self.bytes as f64 / self.real
    }

    /// Returns the common part of the `--json` summary.
    pub fn json(&self) -> serde_json::Value {
        let mut statistics = json!({
            "bytes": self.bytes,
            "real_seconds": self.real,
            "user_seconds": self.usage.user,
            "system_seconds": self.usage.system,
            "peak_memory_bytes": fullbore::probe::peak_memory(),
            "bytes_per_second": self.rate(),
        });
        let plans = std::mem::take(&mut *self.plans.lock());
        let plans: Vec<_> = (plans.iter())
            .map(|(path, plan)| {
                let mut value = serde_json::Value::from_iter(plan_fields(plan));
                value["path"] = path.to_string_lossy().into();
                value
            })
            .collect();
        if !plans.is_empty() {
            statistics["plans"] = plans.into();
        }
        statistics
    }
}

fn strategies() -> String {
    let names: Vec<_> = NAMED.iter().map(|named| named.name).collect();
    format!(
        "I/O strategy: auto, a name ({}), a method, fields, or these joined by commas: method=mmap (or read= \
         and write=), request=256K, depth=8, workers=2, model=serial|striped|pool, stripe=4M, window=16M|whole, \
         alloc=extend|size|fallocate, cache=keep|drop|direct (or read-cache= and write-cache=), \
         completion=any|ordered, budget=64M",
        names.join(", ")
    )
}

/// True unless the environment forbids learning: `FULLBORE_LEARN=0`.
fn learning_allowed() -> bool {
    std::env::var_os("FULLBORE_LEARN").is_none_or(|value| value != "0")
}

/// Loads the profile. A broken one is reported and ignored; one that cannot be reached is ignored silently, because a service
/// may have the home of another user. The command still runs.
fn load_profile(path: &Path, output: &Output) -> Profile {
    Profile::load(path).unwrap_or_else(|error| {
        let unreachable = matches!(error.code(), Some(Code::ACCESS_DENIED | Code::NOT_DIRECTORY));
        if !unreachable {
            let text = format!("{}: {error}; continuing without it\n", program(""));
            output.without_progress_line(|| Exit::eprint(&text));
        }
        Profile::default()
    })
}
