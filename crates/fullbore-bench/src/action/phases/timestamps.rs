//! A closed loop that notes when each request was asked for, when the call that hands it over returned and when its completion
//! was seen: sums of moments by the clock that block tracing uses, too.

use fullbore::Result;
use fullbore::engine::Latencies;
use rustix::time::{ClockId, clock_gettime};

use super::super::target::Target;

/// The monotonic clock, in seconds.
fn now() -> f64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as f64 + now.tv_nsec as f64 * 1e-9
}

/// Sums over requests, in seconds; moments count from the origin.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct RequestTimestamps {
    /// When the first was asked for, by the monotonic clock.
    pub(super) origin: f64,
    /// Moments of asking.
    pub(super) submitted: f64,
    /// Moments of seeing them done.
    pub(super) seen: f64,
    /// Time in the calls that hand over; `None` where the same call waits for the device.
    pub(super) call: Option<f64>,
    pub(super) requests: u64,
    pub(super) bytes: u64,
    /// From the first to the last.
    pub(super) seconds: f64,
    pub(super) latencies: Latencies,
}

/// Keeps `depth` requests in flight until `requests` are done.
pub(super) fn run(target: &Target<'_>, depth: usize, requests: u64) -> Result<RequestTimestamps> {
    let (mut channel, mut pool) = target.open(depth)?;
    let apart = target.capabilities().depth > 1;
    let mut stamps = RequestTimestamps { call: apart.then_some(0.0), ..RequestTimestamps::default() };
    channel.time_requests();
    // By token, which is a slot.
    let mut submitted = vec![0.0; depth];
    let mut vacant: Vec<usize> = (0..depth).rev().collect();
    let mut number = 0;
    stamps.origin = now();
    let since = |origin: f64| now() - origin;
    while stamps.requests < requests {
        let mut fresh = Vec::new();
        while number < requests
            && let Some(slot) = vacant.pop()
            && let Some(buf) = pool.take()
        {
            submitted[slot] = since(stamps.origin);
            target.ask(&mut channel, slot as u64, number, buf)?;
            fresh.push(slot);
            number += 1;
        }
        channel.commit()?;
        if let Some(call) = &mut stamps.call {
            let handed = since(stamps.origin);
            *call += fresh.iter().map(|&slot| handed - submitted[slot]).sum::<f64>();
        }
        let Some(mut done) = channel.next()? else { break };
        let seen = since(stamps.origin);
        // All that came with it are seen at once.
        loop {
            let slot = done.token as usize;
            stamps.submitted += submitted[slot];
            stamps.seen += seen;
            stamps.requests += 1;
            stamps.bytes += done.buf.len() as u64;
            stamps.seconds = seen;
            vacant.push(slot);
            pool.put(done.buf);
            match channel.ready()? {
                Some(more) => done = more,
                None => break,
            }
        }
    }
    stamps.latencies = channel.take_latencies();
    Ok(stamps)
}
