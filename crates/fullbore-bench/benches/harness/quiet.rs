//! Detection of a busy machine: CPU time of other processes during a comparison.
//!
//! A peer with one worker is not affected by a busy second processor, but two workers are, so a machine with other work
//! reverses a comparison.

use fullbore::probe::{ProcessUsage, SystemUsage, processors};

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;

use super::Attempt;

/// A larger share of all processors is reported. Write-back of written data takes some.
const TOLERATED: f64 = 0.05;

/// The counters at the start of a comparison.
pub(crate) struct Watch {
    machine: SystemUsage,
    itself: ProcessUsage,
    commands: f64,
    begin: std::time::Instant,
}

impl Watch {
    /// Starts the watch.
    pub(crate) fn start() -> Attempt<Self> {
        Ok(Self {
            machine: SystemUsage::now()?,
            itself: ProcessUsage::now()?,
            commands: commands()?,
            begin: std::time::Instant::now(),
        })
    }

    /// The objection to the figures measured since, if any.
    pub(crate) fn objection(&self) -> Option<String> {
        let machine = SystemUsage::now().ok()?.since(&self.machine);
        let itself = ProcessUsage::now().ok()?.since(&self.itself).processor();
        let commands = commands().ok()? - self.commands;
        let all = self.begin.elapsed().as_secs_f64() * processors() as f64;
        let others = (machine.busy() - itself - commands).max(0.0) / all;
        let stolen = machine.steal / all;
        (others + stolen > TOLERATED).then(|| {
            format!(
                "the kernel's own threads and other programs took {:.0}% of the processors meanwhile, the hypervisor \
                 {:.0}%: with several workers the figures are worse than this machine can do",
                others * 100.0,
                stolen * 100.0
            )
        })
    }
}

/// CPU time of all ended commands, in seconds.
fn commands() -> Attempt<f64> {
    charged().map(|(user, system)| user + system)
}

/// User and system CPU time of all ended children, in seconds.
pub(crate) fn charged() -> Attempt<(f64, f64)> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    Ok((
        usage.user_time().num_microseconds() as f64 / 1e6,
        usage.system_time().num_microseconds() as f64 / 1e6,
    ))
}
