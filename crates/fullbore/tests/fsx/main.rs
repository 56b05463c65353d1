//! Random operations on files against vectors in memory, after `fsx` (Apple and Avadis Tevanian's file system exerciser,
//! in xfstests today): whatever a file is asked to do, its bytes are the model's.
//!
//! `FULLBORE_FSX_SEED` repeats a run, `FULLBORE_FSX_SECONDS` says how long one takes a file system (5 unless told; 60
//! is a thorough one), `FULLBORE_TEST_DIRS` names more file systems.

#[path = "../ground/mod.rs"]
mod ground;

mod counts;
mod operation;
mod power;
mod run;

use std::time::{Duration, Instant};

use fullbore::fault::{Fault, Plan};
use ground::everywhere;
use run::Run;

/// A number of the environment, or `other`.
fn setting(name: &str, other: impl FnOnce() -> u64) -> u64 {
    match std::env::var(name) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{name}={text} is no number")),
        Err(_) => other(),
    }
}

/// The seed told, or one of this moment.
fn seed() -> u64 {
    setting("FULLBORE_FSX_SEED", || {
        std::time::UNIX_EPOCH.elapsed().map_or(1, |time| time.as_nanos() as u64 % 1_000_000_000)
    })
}

/// Runs for this long on every file system.
fn run(time: Duration, plan: impl Fn(u64) -> Option<Plan> + Sync) {
    let seed = seed();
    println!("FULLBORE_FSX_SEED={seed}");
    everywhere(|directory| {
        let start = Instant::now();
        let mut run = Run::new(directory, seed, plan(seed));
        // A slow machine gets more time.
        while start.elapsed() < time || (!run.counts.whole() && start.elapsed() < 20 * time) {
            for _ in 0..100 {
                run.step();
            }
        }
        run.compare_all();
        run.counts.print(directory, start.elapsed());
        run.counts.judge(directory);
    });
}

#[test]
fn files_are_what_a_vector_would_be() {
    run(Duration::from_secs(setting("FULLBORE_FSX_SECONDS", || 5)), |_| None);
}

/// The same when every transfer may be cut short or interrupted, and takes a few buffers only.
#[test]
fn files_are_what_a_vector_would_be_however_short_the_transfers() {
    run(Duration::from_secs(setting("FULLBORE_FSX_SECONDS", || 5)) / 2, |seed| {
        let plan = Plan::new(seed).with(Fault::Short { one_in: 3 }).with(Fault::Interrupted { one_in: 5 });
        Some(plan.with(Fault::Buffers { most: 7 }))
    });
}
