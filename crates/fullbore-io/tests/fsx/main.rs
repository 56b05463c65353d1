//! Random operations on files, compared with vectors in memory, after `fsx` (the file system exerciser of Apple and Avadis
//! Tevanian, now in xfstests): after every operation, the file has the bytes of the model.
//!
//! `FULLBORE_FSX_SEED` repeats a run. `FULLBORE_FSX_SECONDS` is the time per file system (default 5; 60 is thorough).
//! `FULLBORE_TEST_DIRS` adds file systems.

mod absurd;
mod counts;
mod operation;
mod power;
mod run;

use std::time::{Duration, Instant};

use fullbore_io::fault::{Fault, Plan};
use fullbore_testkit::ground::everywhere;
use operation::Numbers;
use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use run::Run;

/// Returns a number from the environment, or the default.
fn setting(name: &str, other: impl FnOnce() -> u64) -> u64 {
    match std::env::var(name) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{name}={text} is not a number")),
        Err(_) => other(),
    }
}

/// Returns the seed from the environment, or one from the clock.
fn seed() -> u64 {
    setting("FULLBORE_FSX_SEED", || {
        std::time::UNIX_EPOCH.elapsed().map_or(1, |time| time.as_nanos() as u64 % 1_000_000_000)
    })
}

fn random(seed: u64) -> Numbers {
    let mut random = SplitMix64::seed_from_u64(seed);
    Box::new(move |bound| (random.next_u64() % bound as u64) as usize)
}

/// Runs random operations for this long on every file system.
fn run(time: Duration, plan: impl Fn(u64) -> Option<Plan> + Sync) {
    let seed = seed();
    println!("FULLBORE_FSX_SEED={seed}");
    everywhere(|directory| {
        let start = Instant::now();
        let mut run = Run::new(directory, random(seed), plan(seed));
        // A slow machine gets more time to cover all kinds of operations.
        while start.elapsed() < time || (!run.counts.whole() && start.elapsed() < 20 * time) {
            for _ in 0..100 {
                run.step();
            }
        }
        run.compare_all();
        assert_eq!(
            run.plan.as_ref().map_or(0, |plan| plan.counts().refused),
            0,
            "misaligned direct transfers"
        );
        run.counts.print(directory, start.elapsed());
        run.counts.judge(directory);
    });
}

#[test]
fn files_equal_the_model() {
    run(Duration::from_secs(setting("FULLBORE_FSX_SECONDS", || 5)), |_| None);
}

/// The same with transfers that are shortened, interrupted and limited to a few buffers.
#[test]
fn files_equal_the_model_with_short_transfers() {
    run(Duration::from_secs(setting("FULLBORE_FSX_SECONDS", || 5)) / 2, |seed| {
        let plan = Plan::new(seed).with(Fault::Short { one_in: 3 }).with(Fault::Interrupted { one_in: 5 });
        Some(plan.with(Fault::Buffers { most: 7 }))
    });
}

/// The same on a device with large sectors.
#[test]
fn files_equal_the_model_with_large_sectors() {
    run(Duration::from_secs(setting("FULLBORE_FSX_SECONDS", || 5)) / 2, |seed| {
        Some(Plan::new(seed).with(Fault::Sectors { size: 4096 }).with(Fault::Short { one_in: 5 }))
    });
}
