//! Random operations, then a power failure: the files have their synced content, whichever calls changed them. This shows
//! that the plan records every call.

use std::fs;

use fullbore_io::fault::{CrashState, Plan};

use crate::run::Run;
use crate::{random, seed};
use fullbore_testkit::ground::everywhere;

/// Runs per file system, each with its own files. Operations take Wine ten times as long.
const RUNS: u64 = if cfg!(windows) { 40 } else { 150 };

#[test]
fn a_power_failure_leaves_the_synced_content() {
    let seed = seed();
    println!("FULLBORE_FSX_SEED={seed}");
    everywhere(|directory| {
        let mut survived = 0;
        for round in 0..RUNS {
            let directory = directory.join(round.to_string());
            fs::create_dir(&directory).unwrap();
            let plan = Plan::new(seed).with_power_failure();
            let mut run = Run::new(&directory, random(seed.wrapping_add(round)), Some(plan.clone()));
            for step in 0..30 + round {
                run.step();
                if step == round {
                    run.sync_one();
                }
            }
            assert!(plan.counts().syncs > 0);
            // Windows refuses to truncate a mapped file.
            if cfg!(windows) {
                run.unmap();
            }
            let worst = if round % 2 == 0 { CrashState::RenameLost } else { CrashState::RenameKept };
            plan.crash(worst).unwrap();
            for (path, durable) in run.paths.iter().zip(&run.durable) {
                let found = fs::read(path).unwrap();
                let differs = || found.iter().zip(durable).position(|(one, other)| one != other);
                assert!(
                    found == *durable,
                    "{}: {} bytes instead of {}, first difference at {:?}",
                    path.display(),
                    found.len(),
                    durable.len(),
                    differs()
                );
                survived += durable.len();
            }
            drop(run);
            fs::remove_dir_all(&directory).unwrap();
        }
        // Without any synced bytes the test would show nothing.
        assert!(survived > 0);
    });
}
