//! The law of a path: time of a request in the pipeline by its size, the requests in flight and the disks.
//!
//! A request passes stages in series. Its own time, `a + b · bytes`, elapses for all requests in flight at once. At
//! the device a request waits for the others: `n` in flight need `n · c` at a device of 1 ÷ `c` requests per second
//! and `n · d · bytes` at one of 1 ÷ `d` bytes per second; on a bus, it waits for those of all disks, too. Little's
//! law turns the time into throughput: `in flight · bytes ÷ time`. docs/model.md derives it. Memory is a stage of
//! its own, shared by processors.

use std::collections::BTreeMap;

use crate::stats::{Estimate, mean, squares};

/// The setting of a point, given for one disk; all disks have the same.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Load {
    pub(super) bytes: f64,
    pub(super) in_flight: f64,
    pub(super) disks: f64,
}

impl Load {
    /// Returns bytes per second of all disks if a request takes `time` seconds (Little's law).
    pub(super) fn rate(&self, time: f64) -> f64 {
        self.disks * self.in_flight * self.bytes / time
    }
}

/// The mechanism that keeps several requests in flight: the queue of a method, or workers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flights {
    One,
    Queue(&'static str),
    Workers,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Term {
    /// Own time that is independent of its bytes.
    Request,
    /// Own time of its bytes.
    Bytes,
    /// Wait for the requests of others at the disk.
    DiskRequests,
    /// Wait for the bytes of others at the disk.
    DiskBytes,
    /// Wait for the bytes of others on the bus.
    BusBytes,
    /// Slowdown of a processor by each of the others, as a share of its own time.
    Sharing,
}

pub(super) const TERMS: usize = 6;

/// The terms in the order of the parameters.
pub(super) const ALL: [Term; TERMS] =
    [Term::Request, Term::Bytes, Term::DiskRequests, Term::DiskBytes, Term::BusBytes, Term::Sharing];

/// Overlap of the stages: the exponent `p` of the norm that joins their times.
///
/// With 1 the times add up: a request waits for all others before its own time passes (balanced job bounds). With
/// infinity the longest decides: stages of constant times that overlap fully.
pub(super) const OVERLAPS: [f64; 4] = [f64::INFINITY, 4.0, 2.0, 1.0];

/// Parameters in seconds per request or per byte, and the share of [`Term::Sharing`]; 0: the term is absent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct PathLaw {
    pub(super) overlap: f64,
    /// Largest request that the device serves whole, in bytes: larger ones are split, and the pieces are in flight
    /// together (section 3 of the paper). Infinite if none is split.
    pub(super) piece: f64,
    /// Largest number of processors whose sharing was measured; further ones add no slowdown.
    pub(super) processors: f64,
    pub(super) parameters: [f64; TERMS],
}

impl PathLaw {
    pub(super) fn terms(&self, load: &Load) -> [f64; TERMS] {
        let pieces = (load.bytes / self.piece).max(1.0);
        let (bytes, in_flight, disks) = (load.bytes / pieces, load.in_flight * pieces, load.disks);
        let own = self.parameters[0] + self.parameters[1] * bytes;
        let others = in_flight.min(self.processors) - 1.0;
        let units = [1.0, bytes, in_flight, in_flight * bytes, disks * in_flight * bytes, own * others];
        std::array::from_fn(|i| self.parameters[i] * units[i])
    }

    /// Returns the time of a request in the pipeline, in seconds.
    pub(super) fn time(&self, load: &Load) -> f64 {
        let [request, bytes, shared @ .., others] = self.terms(load);
        let own = request + bytes + others;
        let longest = shared.iter().copied().fold(own, f64::max);
        if self.overlap.is_infinite() || longest <= 0.0 {
            return longest;
        }
        let power = |time: f64| match self.overlap {
            1.0 => time / longest,
            overlap => (time / longest).powf(overlap),
        };
        let sum = power(own) + shared.iter().map(|&time| power(time)).sum::<f64>();
        longest * if self.overlap == 1.0 { sum } else { sum.powf(1.0 / self.overlap) }
    }

    /// Returns the change of the logarithm of the time with the logarithm of each parameter.
    pub(super) fn gradient(&self, load: &Load) -> [f64; TERMS] {
        let terms = self.terms(load);
        let (calls, others) = (terms[0] + terms[1], terms[Term::Sharing as usize]);
        let own = calls + others;
        let time = self.time(load);
        let sharing = |time_of: f64| match self.overlap {
            overlap if overlap.is_infinite() => f64::from(u8::from(time_of >= time)),
            overlap => (time_of / time).powf(overlap),
        };
        std::array::from_fn(|i| match i {
            0 | 1 if own > 0.0 => sharing(own) * terms[i] / calls,
            0 | 1 => 0.0,
            _ if i == Term::Sharing as usize && own > 0.0 => sharing(own) * others / own,
            _ => sharing(terms[i]),
        })
    }

    pub(super) fn longest(&self, load: &Load) -> Term {
        let terms = self.terms(load);
        let own = terms[0] + terms[1] + terms[Term::Sharing as usize];
        let shared = (2..Term::Sharing as usize).max_by(|&a, &b| terms[a].total_cmp(&terms[b])).unwrap_or(2);
        match shared {
            _ if own >= terms[shared] && terms[0] >= terms[1] => Term::Request,
            _ if own >= terms[shared] => Term::Bytes,
            _ => ALL[shared],
        }
    }
}

/// Returns the shares of the time of a request that depend on the number of requests, and on their bytes, from the gradient of
/// a law without [`Term::Sharing`].
pub(super) fn request_and_byte_shares(gradient: &[f64; TERMS]) -> [f64; 2] {
    let [request, bytes, disk_requests, disk_bytes, bus_bytes, _] = *gradient;
    [request + disk_requests, bytes + disk_bytes + bus_bytes]
}

/// Seconds in which each of `n` processors moves a byte: `own + n · shared`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Memory {
    own: f64,
    shared: f64,
    /// Numbers of processors, and the half-widths of the seconds measured with them.
    measured: Vec<(f64, f64)>,
}

/// Smallest share by which one processor is taken to slow another: the prior is on the logarithm of the share.
const LEAST_SHARE: f64 = 0.01;

impl Memory {
    /// Fits the highest rate, in bytes per second, at each number of processors; `None` without any. With one number of
    /// processors, they share nothing.
    pub(super) fn fit(rates: impl IntoIterator<Item = (u32, Estimate)>) -> Option<Self> {
        let mut fastest: BTreeMap<u32, Estimate> = BTreeMap::new();
        for (processors, rate) in rates.into_iter().filter(|(_, rate)| rate.value > 0.0) {
            let known = fastest.entry(processors).or_insert(rate);
            if rate.value > known.value {
                *known = rate;
            }
        }
        let points: Vec<(f64, f64)> = fastest
            .iter()
            .map(|(&processors, rate)| (f64::from(processors), f64::from(processors) / rate.value))
            .collect();
        let (numbers, times): (Vec<f64>, Vec<f64>) = points.iter().copied().unzip();
        let (number, time, spread) = (mean(&numbers), mean(&times), squares(&numbers));
        let slope = points.iter().map(|point| (point.0 - number) * (point.1 - time)).sum::<f64>() / spread;
        let shared = if spread > 0.0 { slope.clamp(0.0, time / number) } else { 0.0 };
        let errors = fastest.values().map(Estimate::relative_half_width);
        let measured = points.iter().zip(errors).map(|(point, error)| (point.0, point.1 * error)).collect();
        (!points.is_empty()).then_some(Self { own: time - number * shared, shared, measured })
    }

    /// Returns the share of its time by which one processor slows another; `None` if one number of processors was measured.
    pub(super) fn sharing(&self) -> Option<f64> {
        (self.measured.len() > 1).then(|| (self.shared / (self.own + self.shared)).max(LEAST_SHARE))
    }

    /// Returns the bytes per second of `processors` together, and the half-width of their logarithm: the errors of the
    /// measurements grow with the distance from the measured numbers.
    pub(super) fn bandwidth(&self, processors: f64) -> (f64, f64) {
        let seconds = self.own + processors * self.shared;
        let numbers: Vec<f64> = self.measured.iter().map(|measured| measured.0).collect();
        let (number, spread) = (mean(&numbers), squares(&numbers));
        let weight = |at: f64| {
            let slope = if spread > 0.0 { (processors - number) * (at - number) / spread } else { 0.0 };
            1.0 / self.measured.len() as f64 + slope
        };
        let variance: f64 = self.measured.iter().map(|&(at, error)| (weight(at) * error).powi(2)).sum();
        (processors / seconds, variance.sqrt() / seconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn law(overlap: f64) -> PathLaw {
        PathLaw {
            overlap,
            piece: f64::INFINITY,
            processors: 4.0,
            parameters: [1e-4, 1e-9, 2e-5, 4e-10, 1e-10, 0.1],
        }
    }

    /// Rates with half-widths of 2%.
    fn rates<const N: usize>(rates: [(u32, f64); N]) -> [(u32, Estimate); N] {
        rates.map(|(n, value)| (n, Estimate { value, low: 0.98 * value, high: 1.02 * value }))
    }

    #[test]
    fn throughput_grows_with_depth_up_to_the_narrowest_stage() {
        let law = PathLaw {
            overlap: f64::INFINITY,
            piece: f64::INFINITY,
            processors: 2.0,
            parameters: [1e-3, 0.0, 1e-4, 1e-8, 0.0, 0.0],
        };
        let rate = |bytes, in_flight| {
            let load = Load { bytes, in_flight, disks: 1.0 };
            load.rate(law.time(&load))
        };
        // One at a time a millisecond each; ten fill the device, and more do not help.
        assert!((rate(4096.0, 1.0) - 4096e3).abs() < 1.0 && (rate(4096.0, 5.0) - 5.0 * 4096e3).abs() < 1.0);
        for in_flight in [10.0, 30.0] {
            assert!((rate(4096.0, in_flight) - 4096e4).abs() < 1.0);
            assert!((rate(1e6, in_flight) - 1e8).abs() < 1.0, "bandwidth");
        }
    }

    #[test]
    fn gradient_is_that_of_differences() {
        let load = Load { bytes: 65_536.0, in_flight: 8.0, disks: 3.0 };
        for overlap in OVERLAPS {
            let law = law(overlap);
            let gradient = law.gradient(&load);
            for i in 0..TERMS {
                let mut more = law;
                more.parameters[i] *= 1.0 + 1e-6;
                let difference = (more.time(&load) / law.time(&load)).ln() / 1e-6;
                assert!((difference - gradient[i]).abs() < 1e-4, "{overlap} {i}: {difference} {gradient:?}");
            }
        }
    }

    #[test]
    fn processors_slow_each_other_up_to_their_known_number() {
        let parameters = [1e-6, 1e-10, 0.0, 0.0, 0.0, 0.25];
        let law = PathLaw { overlap: f64::INFINITY, piece: f64::INFINITY, processors: 2.0, parameters };
        let time = |in_flight| law.time(&Load { bytes: 4096.0, in_flight, disks: 1.0 });
        assert!((time(2.0) / time(1.0) - 1.25).abs() < 1e-9 && (time(8.0) - time(2.0)).abs() < 1e-15);
        let memory = Memory::fit(rates([(1, 10e9), (2, 16e9)])).unwrap();
        assert!((memory.sharing().unwrap() - 0.25).abs() < 1e-9, "{memory:?}");
    }

    #[test]
    fn more_processors_approach_the_bandwidth_of_memory() {
        // 10 GB/s a processor, 40 GB/s in all: 1 ÷ (1/10 + n/40 − 1/40) each.
        let each = |n: f64| 1.0 / (0.1 + (n - 1.0) / 40.0);
        let memory = Memory::fit(rates([(1, 10e9), (2, 2e9 * each(2.0)), (2, 9e9)])).unwrap();
        for n in [1.0, 2.0, 8.0] {
            assert!((memory.bandwidth(n).0 / (n * 1e9 * each(n)) - 1.0).abs() < 1e-9, "{n}: {memory:?}");
        }
        assert!(memory.bandwidth(1e6).0 < 40e9);
    }

    #[test]
    fn processors_that_share_nothing_are_known_to() {
        let share = |known: &[(u32, Estimate)]| Memory::fit(known.iter().copied()).unwrap().sharing();
        assert_eq!(share(&rates([(1, 10e9), (2, 20.5e9)])), Some(LEAST_SHARE));
        assert_eq!(share(&rates([(1, 10e9)])), None);
    }

    #[test]
    fn unknown_sharing_is_none() {
        assert_eq!(Memory::fit(rates([(1, 10e9)])).unwrap().bandwidth(8.0).0, 80e9);
        // The second processor cannot speed up the first.
        assert!(
            (Memory::fit(rates([(1, 10e9), (2, 22e9)])).unwrap().bandwidth(8.0).0 / 84e9 - 1.0).abs() < 0.01
        );
        // The second processor adds nothing.
        assert!(
            (Memory::fit(rates([(1, 10e9), (2, 10e9)])).unwrap().bandwidth(8.0).0 / 10e9 - 1.0).abs() < 1e-9
        );
        assert_eq!(Memory::fit(rates([])), None);
    }

    /// With two measured numbers of processors, the error grows with the distance from them. At many processors the time is that
    /// of the shared part, 2/16 − 1/10, with the errors of both.
    #[test]
    fn errors_grow_with_the_distance_from_the_measured_numbers() {
        let memory = Memory::fit(rates([(1, 10e9), (2, 16e9)])).unwrap();
        let half = |n: f64| memory.bandwidth(n).1;
        assert!((half(1.0) - 0.02).abs() < 1e-9 && (half(2.0) - 0.02).abs() < 1e-9);
        assert!(half(2.0) < half(4.0) && half(4.0) < half(16.0));
        let far = 0.02 * (2.0f64 / 16.0).hypot(1.0 / 10.0) / (2.0 / 16.0 - 1.0 / 10.0);
        assert!((half(1e9) / far - 1.0).abs() < 1e-3, "{} {far}", half(1e9));
    }
}
