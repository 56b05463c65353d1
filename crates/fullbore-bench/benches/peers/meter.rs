//! The meter's loop, called in the library, against fio on the same file, in interleaved pairs.

use std::path::Path;
use std::time::{Duration, Instant};

use fullbore::engine::{CachePolicy, method};
use fullbore::file::File;
use fullbore::pattern::{Order, Progress, Scope, visit};
use fullbore::probe::ProcessUsage;
use fullbore::strategy::Strategy;

use super::harness::Attempt;
use super::harness::command::CommandLine;
use super::harness::commands::{Bench, Case};
use super::harness::data::Data;
use super::harness::directory::peer;
use super::harness::finding::{Bound, Finding, time};
use super::harness::rounds::{Series, interleave};

pub(super) const CASES: &[Case] = &[("meter", "the meter's loop against fio", compare)];

const TURN: Duration = Duration::from_secs(3);
/// Fewest pairs, at any `--rounds`.
const PAIRS: usize = 8;

/// Random requests between two readings of the clock; the ring runs empty there, so they are many.
const PASS: u64 = 1 << 16;

struct Load {
    name: &'static str,
    method: &'static str,
    fio_engine: &'static str,
    random: bool,
    request: usize,
    depth: usize,
    /// Bound of requests per second, fullbore ÷ fio.
    rate: Bound,
    /// Bound of CPU time per request, fullbore ÷ fio.
    processor: Bound,
}

const LOADS: &[Load] = &[
    Load {
        name: "direct random 4 KiB reads, depth 32",
        method: "uring",
        fio_engine: "io_uring",
        random: true,
        request: 4 << 10,
        depth: 32,
        rate: Bound::AtLeast(0.97),
        processor: Bound::AtMost(1.10),
    },
    Load {
        name: "direct sequential 1 MiB reads, depth 8",
        method: "uring",
        fio_engine: "io_uring",
        random: false,
        request: 1 << 20,
        depth: 8,
        rate: Bound::AtLeast(0.95),
        processor: Bound::None,
    },
    Load {
        name: "null engine, 4 KiB",
        method: "null",
        fio_engine: "null",
        random: true,
        request: 4 << 10,
        depth: 1,
        rate: Bound::None,
        processor: Bound::None,
    },
];

#[derive(Debug, Clone, Copy)]
struct Measurement {
    rate: f64,
    processor: f64,
}

fn compare(bench: &mut Bench) -> Attempt<()> {
    let Some(fio) = peer(&bench.options.peers, "fio") else {
        bench.findings.skip("meter", "fio is not installed (Debian: apt install fio)");
        return Ok(());
    };
    bench.place.need(Data::Input)?;
    let (input, size) = (bench.place.of(Data::Input), bench.place.size);
    for load in LOADS {
        let strategy = load.strategy()?;
        let mut passes = 0;
        // Random requests of another sequence each time.
        let mut measure = |is_fio: bool, time| match is_fio {
            true => theirs(&fio, &input, size, load, time).map_err(|error| format!("fio: {error}").into()),
            false => {
                passes += 1000;
                ours(&input, load, &strategy, passes, time)
            }
        };
        // One of each unmeasured, which also shows that both can run here.
        let first =
            measure(false, Duration::from_millis(300)).and_then(|_| measure(true, Duration::from_secs(1)));
        if let Err(error) = first {
            bench.findings.skip(load.name, &error.to_string());
            continue;
        }
        let mut sides = [("fullbore".to_owned(), false), ("fio".to_owned(), true)];
        let rounds = bench.options.common.rounds.max(PAIRS);
        let series = interleave(&mut sides, rounds, &mut bench.random, |is_fio| measure(*is_fio, TURN))?;
        report(bench, load, &series);
    }
    Ok(())
}

impl Load {
    fn strategy(&self) -> Attempt<Strategy> {
        Ok(Strategy {
            read: method(self.method).ok_or("unregistered method")?,
            request: self.request,
            depth: self.depth,
            workers: 1,
            read_cache: if self.method == "null" { CachePolicy::Keep } else { CachePolicy::Direct },
            ..Strategy::plain()
        })
    }
}

fn ours(path: &Path, load: &Load, strategy: &Strategy, seed: u64, time: Duration) -> Attempt<Measurement> {
    let file = File::open(path)?;
    let progress = Progress::default();
    let before = ProcessUsage::now()?;
    let start = Instant::now();
    let len = file.stamp()?.len;
    let (mut requests, mut seconds) = (0, 0.0);
    for pass in 0.. {
        let order = match load.random {
            true => Order::Random { seed: seed + pass, count: PASS },
            false => Order::Sequential,
        };
        let look = |sum: &mut u64, _: u64, data: &[u8]| *sum = sum.wrapping_add(data.len() as u64);
        let (stats, _) = visit(&file, &Scope { range: 0..len, order }, strategy, &progress, || 0u64, look)?;
        requests += stats.reads.requests;
        // As fio does: without opening and closing.
        seconds += stats.seconds;
        if start.elapsed() >= time {
            break;
        }
    }
    let usage = ProcessUsage::now()?.since(&before);
    Ok(Measurement { rate: requests as f64 / seconds, processor: usage.processor() / requests as f64 })
}

fn theirs(fio: &Path, path: &Path, size: u64, load: &Load, time: Duration) -> Attempt<Measurement> {
    let options = [
        "--name=peer".to_owned(),
        format!("--filename={}", path.display()),
        format!("--ioengine={}", load.fio_engine),
        "--direct=1".to_owned(),
        "--readonly".to_owned(),
        format!("--rw={}", if load.random { "randread" } else { "read" }),
        format!("--bs={}", load.request),
        format!("--iodepth={}", load.depth),
        format!("--size={size}"),
        format!("--runtime={}ms", time.as_millis()),
        "--time_based".to_owned(),
        // A thread, so that an interruption ends it with fio itself.
        "--thread".to_owned(),
        "--output-format=json".to_owned(),
    ];
    turn_of(&CommandLine::new(fio, options).output()?)
}

fn turn_of(account: &str) -> Attempt<Measurement> {
    // Warnings may precede the document.
    let start = account.find('{').ok_or("fio printed no result")?;
    let account: serde_json::Value = serde_json::from_str(&account[start..])?;
    let job = &account["jobs"][0];
    let figure = |value: &serde_json::Value, name: &str| {
        value[name].as_f64().ok_or_else(|| format!("no {name} in fio's result"))
    };
    let requests = figure(&job["read"], "total_ios")?;
    let busy = (figure(job, "usr_cpu")? + figure(job, "sys_cpu")?) / 100.0;
    let seconds = figure(job, "job_runtime")? / 1e3;
    if requests == 0.0 || seconds == 0.0 {
        return Err("fio made no requests".into());
    }
    Ok(Measurement { rate: figure(&job["read"], "iops")?, processor: busy * seconds / requests })
}

fn report(bench: &mut Bench, load: &Load, series: &[Series<Measurement>]) {
    let [mine, fio] = series else { return };
    let what = |figure: &str| format!("{}: fullbore ÷ fio, {figure}", load.name);
    let per_second = |rate| format!("{rate:.0}/s");
    bench.findings.add(Finding::ratio(
        what("requests per second"),
        mine,
        fio,
        |one| one.rate,
        per_second,
        load.rate,
    ));
    bench.findings.add(Finding::ratio(
        what("CPU time per request"),
        mine,
        fio,
        |one| one.processor,
        time,
        load.processor,
    ));
}
