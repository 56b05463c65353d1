//! Whether the machine was quiet: processor time that went to others while a comparison ran.
//!
//! A peer with one worker does not mind a busy second processor, and two workers do, so a machine that works for
//! others as well turns a comparison round.

use fullbore::probe::{ProcessUsage, SystemUsage, processors};

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;

use super::Attempt;

/// More than this share of all processors is worth a word. Writing back what was written takes some.
const TOLERATED: f64 = 0.05;

/// The counters when a comparison began.
pub(crate) struct Watch {
    machine: SystemUsage,
    itself: ProcessUsage,
    commands: f64,
    begin: std::time::Instant,
}

impl Watch {
    /// From now on.
    pub(crate) fn start() -> Attempt<Self> {
        Ok(Self {
            machine: SystemUsage::now()?,
            itself: ProcessUsage::now()?,
            commands: commands()?,
            begin: std::time::Instant::now(),
        })
    }

    /// What speaks against the figures measured since, if anything.
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

/// Processor time of all commands that ended, in seconds.
fn commands() -> Attempt<f64> {
    charged().map(|(user, system)| user + system)
}

/// User and system time of all children that ended, in seconds.
pub(crate) fn charged() -> Attempt<(f64, f64)> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    Ok((
        usage.user_time().num_microseconds() as f64 / 1e6,
        usage.system_time().num_microseconds() as f64 / 1e6,
    ))
}
