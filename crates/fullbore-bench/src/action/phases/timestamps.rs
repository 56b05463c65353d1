//! A closed loop that records for each request the time of submission, of the return of the submitting call, and of
//! completion, as sums of times of the clock that block tracing uses, too.

use fullbore::Result;
use fullbore::engine::Latencies;

use super::super::target::Target;

/// Returns the monotonic time in seconds.
fn now() -> f64 {
    fullbore::sys::monotonic_nanoseconds() as f64 * 1e-9
}

/// Sums over requests, in seconds; times count from the origin.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct RequestTimestamps {
    /// Monotonic time of the first submission.
    pub(super) origin: f64,
    /// Sum of the times of submission.
    pub(super) submitted: f64,
    /// Sum of the times of completion.
    pub(super) seen: f64,
    /// Time in submitting calls; `None` if the same call waits for the device.
    pub(super) call: Option<f64>,
    pub(super) requests: u64,
    pub(super) bytes: u64,
    /// Duration from the first submission to the last completion.
    pub(super) seconds: f64,
    pub(super) latencies: Latencies,
}

/// Keeps `depth` requests in flight until `requests` have completed.
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
        // Completions that arrived together have the same time.
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
