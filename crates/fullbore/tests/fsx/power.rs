//! Random operations, then a power failure: what is left is what was synced, whatever was done in between and
//! through which call. So no call escapes the plan's log.

use std::fs;

use fullbore::fault::{Plan, Worst};

use crate::ground::everywhere;
use crate::run::Run;
use crate::seed;

/// Runs a file system: each has its own files.
const RUNS: u64 = 150;

#[test]
fn a_power_failure_leaves_what_was_synced() {
    let seed = seed();
    println!("FULLBORE_FSX_SEED={seed}");
    everywhere(|directory| {
        let mut survived = 0;
        for round in 0..RUNS {
            let directory = directory.join(round.to_string());
            fs::create_dir(&directory).unwrap();
            let plan = Plan::new(seed).with_power_failure();
            let mut run = Run::new(&directory, seed.wrapping_add(round), Some(plan.clone()));
            for step in 0..30 + round {
                run.step();
                if step == round {
                    run.sync_one();
                }
            }
            assert!(plan.counts().syncs > 0);
            let worst = if round % 2 == 0 { Worst::RenameLost } else { Worst::RenameKept };
            plan.crash(worst).unwrap();
            for (path, durable) in run.paths.iter().zip(&run.durable) {
                let found = fs::read(path).unwrap();
                let differs = || found.iter().zip(durable).position(|(one, other)| one != other);
                assert!(
                    found == *durable,
                    "{}: {} bytes for {}, first at {:?}",
                    path.display(),
                    found.len(),
                    durable.len(),
                    differs()
                );
                survived += durable.len();
            }
            fs::remove_dir_all(&directory).unwrap();
        }
        // Else nothing was shown.
        assert!(survived > 0);
    });
}
