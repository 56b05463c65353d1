//! The credit of a device: a burst rate until a credit is spent, a sustained rate after, and the rate at which idle time
//! refills the credit.
//!
//! Cloud volumes (token buckets), caches of single-level cells in solid-state disks, write caches, and throttles that
//! accumulate unused time all fit this model. The credit is the amount that a continuous transfer moves beyond the line
//! of the sustained rate. A full bucket of that size, spent at the burst rate, lasts credit ÷ (burst − sustained)
//! seconds. For a token bucket the refill rate equals the sustained rate; for other devices it is independent of it.

mod course;
mod falls;

use serde::{Deserialize, Serialize};

pub(crate) use self::course::Slicer;
pub use self::course::{Course, Stretch, steady_state};
use self::falls::{RESOLUTION_S, best_fall, falls, variance};
use super::distribution::student_t_quantile;
use super::interval::Estimate;
use super::quantile::mean;

/// Credits within this share of the largest are full.
const FULL: f64 = 0.95;
/// Credits below this share of the largest show the refill.
const PARTLY: f64 = 0.85;
/// Largest deviation of the second half of a stretch from the sustained rate, as a share of it.
const SPENT: f64 = 0.1;
/// A regained credit counts from this many standard errors.
const ERRORS: f64 = 4.0;

/// The behaviour of a device under continuous transfer. All rates are per second in the unit of the course (bytes),
/// all times in seconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CreditFit {
    /// The sustained rate: that after the last fall; without a burst, that of the whole first stretch.
    pub sustained: Estimate,
    /// The burst; `None` if there is none up to `moved` and `idle_s`, or if the rate varies too much to tell.
    pub burst: Option<Burst>,
    /// Quantity transferred continuously in the first stretch.
    pub moved: f64,
    /// Longest idle period before a later stretch.
    pub idle_s: f64,
    /// True if the last five rounds of the first stretch are steady: range at most 20%, slope at most 10%.
    pub steady: bool,
    /// The fitted rate over time, piece by piece.
    pub steps: Vec<Step>,
}

/// A burst and the credit that it spends.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Burst {
    /// Rate while there is credit.
    pub rate: Estimate,
    /// The largest credit seen: what was transferred beyond the sustained rate.
    pub credit: Estimate,
    /// True if two stretches or more spent the same credit: it is full. Otherwise the device may hold more.
    pub full: bool,
    /// The refill; `None` if no idle period was followed by a stretch that spent what it regained.
    pub refill: Option<Refill>,
}

impl Burst {
    /// Returns the quantity transferred at the burst rate when the credit is full.
    pub fn lasts(&self, sustained: f64) -> f64 {
        self.rate.value * self.credit.value / (self.rate.value - sustained)
    }
}

/// Rate at which idle time refills the credit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Refill {
    /// Credit regained per idle second.
    pub rate: Estimate,
    /// True if every idle period refilled the whole credit: the rate is a lower bound.
    pub at_least: bool,
}

/// A time at one fitted rate.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// Start in seconds from the first request.
    pub from_s: f64,
    /// End in seconds from the first request.
    pub to_s: f64,
    /// The rate.
    pub rate: f64,
}

impl CreditFit {
    /// Returns the fit in another unit: of bytes, in requests.
    pub fn scaled(mut self, factor: f64) -> Self {
        self.sustained = self.sustained.scaled(factor);
        self.moved *= factor;
        for step in &mut self.steps {
            step.rate *= factor;
        }
        if let Some(burst) = &mut self.burst {
            burst.rate = burst.rate.scaled(factor);
            burst.credit = burst.credit.scaled(factor);
            if let Some(refill) = &mut burst.refill {
                refill.rate = refill.rate.scaled(factor);
            }
        }
        self
    }
}

/// Fits the credit model to a course; `None` if its first stretch is shorter than 20 slices or moved nothing.
///
/// Falls of the first stretch are found by least squares; a fall counts if its credit is worth a quarter of a second of
/// the lower rate (accounting periods of limiters are shorter), the rate changes by 10% and five standard errors, and the
/// rate does not return. The sustained rate is the slope of the cumulative curve after the last fall, the credit its
/// intercept: both use the whole curve and do not depend on the exact place of the fall. The credit that an idle period
/// regained is the intercept of the stretch after it, with the same slope. The refill is the least-squares line through
/// the origin over the credits that are not full.
///
/// A burst is only reported if the first stretch ends steady and the interval of the credit excludes 0. Otherwise the rate
/// varies, and is fitted as one.
pub fn fit_credit(course: &Course, confidence: f64) -> Option<CreditFit> {
    let h = course.slice_s;
    if course.is_short() {
        return None;
    }
    let first = Curve::of(&course.stretches[0], h);
    let later: Vec<Curve> = course.stretches[1..].iter().map(|stretch| Curve::of(stretch, h)).collect();
    let rounds = ((course.round_s / h).round() as usize).max(1);
    let rounds: Vec<f64> = first.slices.chunks_exact(rounds).map(mean).collect();
    let steady = steady_state(&rounds);
    let fit = |cuts: &[usize]| {
        let end = first.slices.len();
        // The slice of the fall has both rates.
        let settled = cuts.last().map_or(0, |cut| (cut + 1).min(end - 2));
        let sustained = first.rate(settled..end);
        if sustained.value <= 0.0 {
            return None;
        }
        let mut credits = Vec::new();
        if let Some(&cut) = cuts.first() {
            let excess = first.excess(settled, cut, &sustained);
            credits.push(Credit { curve: &first, idle_s: 0.0, cut, excess, counts: true });
        }
        for (curve, stretch) in later.iter().zip(&course.stretches[1..]) {
            credits.extend(curve.regained(stretch.idle_s, &sustained));
        }
        let burst = burst(&credits, &sustained, confidence);
        let mut fit = CreditFit {
            sustained: sustained.interval(confidence),
            burst: burst.filter(|burst| steady && burst.credit.low > 0.0),
            moved: first.slices.iter().sum(),
            idle_s: course.stretches[1..].iter().map(|stretch| stretch.idle_s).fold(0.0, f64::max),
            steady,
            steps: Vec::new(),
        };
        fit.steps = steps(course, &first, cuts, &credits, &fit);
        Some(fit)
    };
    let cuts = falls(&first.slices, h);
    let found = fit(&cuts)?;
    if found.burst.is_none() && !cuts.is_empty() { fit(&[]) } else { Some(found) }
}

#[derive(Debug, Clone, Copy)]
struct Fitted {
    value: f64,
    error: f64,
    freedom: f64,
    /// Variance of a slice, as if slices were independent.
    variance: f64,
}

impl Fitted {
    /// Returns the variance of a slice at another rate with the same relative noise.
    fn variance_at(&self, rate: f64) -> f64 {
        self.variance * (rate / self.value).powi(2)
    }

    fn interval(&self, confidence: f64) -> Estimate {
        let t = student_t_quantile(0.5 + confidence / 2.0, self.freedom.max(1.0)).unwrap_or(2.0);
        Estimate { value: self.value, low: self.value - t * self.error, high: self.value + t * self.error }
    }
}

/// A stretch with its cumulative curve.
#[derive(Debug)]
struct Curve {
    slices: Vec<f64>,
    /// Sum of the slices up to and including each.
    sums: Vec<f64>,
    slice_s: f64,
}

#[derive(Debug)]
struct Credit<'a> {
    curve: &'a Curve,
    /// Idle period before the stretch; 0 for the first.
    idle_s: f64,
    cut: usize,
    excess: Fitted,
    /// True if the credit exceeds the resolution and its error.
    counts: bool,
}

impl Curve {
    fn of(stretch: &Stretch, slice_s: f64) -> Self {
        let slices: Vec<f64> = stretch.bytes.iter().map(|&bytes| bytes as f64).collect();
        let sums = slices.iter().scan(0.0, |sum, slice| {
            *sum += slice;
            Some(*sum)
        });
        Self { sums: sums.collect(), slices, slice_s }
    }

    fn time(&self, slice: usize) -> f64 {
        (slice + 1) as f64 * self.slice_s
    }

    /// Returns the slope of the cumulative curve over a range of slices: of two slices or more.
    fn rate(&self, range: std::ops::Range<usize>) -> Fitted {
        let n = range.len() as f64;
        let variance = variance(&self.slices[range.clone()]).unwrap_or(0.0);
        let time = range.clone().map(|i| self.time(i)).sum::<f64>() / n;
        let sum = mean(&self.sums[range.clone()]);
        let (product, square) = range.fold((0.0, 0.0), |(product, square), i| {
            let at = self.time(i) - time;
            (product + at * (self.sums[i] - sum), square + at * at)
        });
        let error = (variance / n).sqrt() / self.slice_s;
        Fitted { value: product / square, error, freedom: (n / 2.0).clamp(1.0, 15.0), variance }
    }

    /// Returns the intercept of the cumulative curve from a slice on, along a line of the sustained rate; the first `cut`
    /// slices have the burst rate.
    fn excess(&self, from: usize, cut: usize, sustained: &Fitted) -> Fitted {
        let end = self.slices.len();
        let over: f64 = (from..end).map(|i| self.sums[i] - sustained.value * self.time(i)).sum();
        let middle = (self.time(from) + self.time(end - 1)) / 2.0;
        let head = sustained.variance_at(mean(&self.slices[..cut]) / self.slice_s) * cut as f64;
        let noise = head + sustained.variance * (middle / self.slice_s - cut as f64).max(0.0);
        let error = (noise + (sustained.error * middle).powi(2)).sqrt();
        Fitted { value: over / (end - from) as f64, error, ..*sustained }
    }

    /// Returns the credit that an idle period regained; `None` if the stretch does not settle at the sustained rate.
    fn regained(&self, idle_s: f64, sustained: &Fitted) -> Option<Credit<'_>> {
        let half = self.slices.len() / 2;
        if half < 4 {
            return None;
        }
        let rate = mean(&self.slices[half..]) / self.slice_s;
        if (rate / sustained.value - 1.0).abs() > SPENT {
            return None;
        }
        let cut = best_fall(&self.slices, half).unwrap_or(0);
        let excess = self.excess(half, cut, sustained);
        let counts = excess.value >= (RESOLUTION_S * sustained.value).max(ERRORS * excess.error);
        Some(Credit { curve: self, idle_s, cut, excess, counts })
    }
}

fn burst(credits: &[Credit<'_>], sustained: &Fitted, confidence: f64) -> Option<Burst> {
    let counting = || credits.iter().filter(|credit| credit.counts && credit.cut > 0);
    // The longest burst has the most precise rate.
    let longest = counting().max_by_key(|credit| credit.cut)?;
    // The first slice has the start, the last one the fall.
    let whole = if longest.cut >= 6 { 1..longest.cut - 1 } else { 0..longest.cut };
    let mut rate = longest.curve.rate(whole.clone());
    if rate.variance == 0.0 {
        // Too short for a variance of its own.
        let variance = sustained.variance_at(rate.value);
        let error = (variance / whole.len() as f64).sqrt() / longest.curve.slice_s;
        rate = Fitted { value: rate.value, error, variance, ..*sustained };
    }
    let largest = counting().map(|credit| credit.excess.value).fold(0.0, f64::max);
    let full: Vec<&Credit<'_>> = counting().filter(|credit| credit.excess.value >= FULL * largest).collect();
    let count = full.len() as f64;
    let credit = Fitted {
        value: full.iter().map(|credit| credit.excess.value).sum::<f64>() / count,
        // The sustained rate's error is common to all.
        error: full.iter().map(|credit| credit.excess.error).fold(0.0, f64::max),
        ..*sustained
    };
    // The time of a fall is known to a slice.
    let instant = (rate.value - sustained.value) * longest.curve.slice_s / 12f64.sqrt();
    let credit = Fitted { error: credit.error.hypot(instant), ..credit };
    let later: Vec<&Credit<'_>> = credits.iter().filter(|credit| credit.idle_s > 0.0).collect();
    Some(Burst {
        rate: rate.interval(confidence),
        credit: credit.interval(confidence),
        full: full.len() > 1,
        refill: refill(&later, &credit, confidence),
    })
}

fn refill(later: &[&Credit<'_>], full: &Fitted, confidence: f64) -> Option<Refill> {
    let partly: Vec<&&Credit<'_>> =
        later.iter().filter(|credit| credit.excess.value < PARTLY * full.value).collect();
    if partly.is_empty() {
        let shortest = later.iter().map(|credit| credit.idle_s).reduce(f64::min)?;
        let rate = full.interval(confidence).scaled(1.0 / shortest);
        return Some(Refill { rate, at_least: true });
    }
    let squares: f64 = partly.iter().map(|credit| credit.idle_s.powi(2)).sum();
    let value = partly.iter().map(|credit| credit.idle_s * credit.excess.value).sum::<f64>() / squares;
    let own: f64 = partly.iter().map(|credit| (credit.idle_s * credit.excess.error).powi(2)).sum();
    let scatter: f64 =
        partly.iter().map(|credit| (credit.excess.value - value * credit.idle_s).powi(2)).sum();
    let freedom = (partly.len() as f64 - 1.0).max(1.0);
    let error = (own.sqrt() / squares).max((scatter / freedom / squares).sqrt());
    let rate = Fitted { value, error, ..*full }.interval(confidence);
    let positive = Estimate { value: rate.value.max(0.0), low: rate.low.max(0.0), high: rate.high.max(0.0) };
    Some(Refill { rate: positive, at_least: false })
}

fn steps(
    course: &Course,
    first: &Curve,
    cuts: &[usize],
    credits: &[Credit<'_>],
    fit: &CreditFit,
) -> Vec<Step> {
    let h = course.slice_s;
    let edges: Vec<usize> = [0].into_iter().chain(cuts.iter().copied()).chain([first.slices.len()]).collect();
    let last = edges.len() - 2;
    let mut steps: Vec<Step> = edges
        .windows(2)
        .enumerate()
        .map(|(number, edge)| Step {
            from_s: edge[0] as f64 * h,
            to_s: edge[1] as f64 * h,
            rate: if number == last {
                fit.sustained.value
            } else {
                mean(&first.slices[edge[0]..edge[1]]) / h
            },
        })
        .collect();
    for (number, stretch) in course.stretches.iter().enumerate().skip(1) {
        let from_s = course.start_s(number);
        let to_s = from_s + stretch.bytes.len() as f64 * h;
        let credit = credits.iter().find(|credit| credit.counts && credit.idle_s == stretch.idle_s);
        let burst =
            credit.zip(fit.burst.as_ref()).filter(|(_, burst)| burst.rate.value > fit.sustained.value);
        let spent_s = burst
            .map_or(0.0, |(credit, burst)| credit.excess.value / (burst.rate.value - fit.sustained.value));
        let fall = (from_s + spent_s).min(to_s);
        steps.extend(burst.map(|(_, burst)| Step { from_s, to_s: fall, rate: burst.rate.value }));
        steps.push(Step { from_s: fall, to_s, rate: fit.sustained.value });
    }
    steps
}
