//! Change points: the positions at which a series of rates, in the order taken, jumps from one level to another.

use serde::{Deserialize, Serialize};

use super::autocorrelation::{HIGHEST, lag_one};
use super::drift::{CHANGE_THAT_MATTERS, SIGNIFICANCE, mann_kendall};
use super::interval::{Bootstrap, Estimate};
use super::quantile::{
    MAD_TO_DEVIATION, mean, median, median_absolute_deviation, quantile_of_sorted, sorted,
};
use super::rng::Xoshiro256;

/// Minimum number of samples; with fewer, a jump cannot be distinguished from chance.
pub const MIN_SAMPLES_FOR_CHANGES: usize = 10;

/// Minimum number of samples of a segment; fewer are outliers.
const SHORTEST: usize = 3;
/// Two adjacent segments are joined again if chance explains their difference this often.
const JOIN_ABOVE: f64 = 0.05;
/// Approximate number of places of the grid on which cuts are searched; a cut is then moved to the best place nearby.
const PLACES: usize = 64;
/// Values farther outside the quartiles than this many interquartile ranges are outliers (Tukey).
const FENCE: f64 = 1.5;
/// Minimum number of random orders drawn to find the statistic's distribution by chance.
const FEWEST_ORDERS: usize = 999;
/// Minimum distance of two levels in standard errors that allow for correlated samples. Independent samples keep the
/// significance of their order without this; it suppresses jumps in wandering series.
const ERRORS_APART: f64 = 5.0;

/// A run of samples at one level.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Segment {
    /// Position of its first sample in the given series.
    pub from: usize,
    /// Position after its last sample.
    pub to: usize,
    /// Median of its samples with its interval.
    pub level: Estimate,
}

/// A jump between two segments.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ChangePoint {
    /// Position of the first sample after the jump.
    pub at: usize,
    /// Probability of an equally clear jump somewhere in the part of the series that it cut, if the order were random.
    pub p: f64,
    /// Level after ÷ level before − 1; 1 or −1 (the sign of the level after) if the level before is 0.
    pub relative_change: f64,
}

impl ChangePoint {
    /// True if the jump is large enough to matter (5%).
    pub fn matters(&self) -> bool {
        self.relative_change.abs() >= CHANGE_THAT_MATTERS
    }
}

/// A series cut where its level jumps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Changes {
    /// The levels in order; one if there is no jump.
    pub segments: Vec<Segment>,
    /// The jumps between them; all significant (p < 0.01).
    pub points: Vec<ChangePoint>,
    /// True if a straight line explains the series better than these steps: the series drifts, and the steps only
    /// follow it.
    pub drifts: bool,
}

/// Finds jumps in `values`, in the order taken; `None` below ten finite values.
///
/// Binary segmentation: the series is cut where the means before and after differ most in standard errors (the
/// likelihood-ratio statistic of one change, Sen and Srivastava), or where a segment within differs most from the rest
/// (circular segmentation, Olshen and others), if random orders give an equally large statistic in less than 1% of
/// cases; then each part likewise. Chance is drawn from the samples themselves, and outliers are moved to Tukey's
/// fences, so heavy tails and levels that alternate at random cause no jumps. Last, adjacent levels are joined if they
/// differ by chance in more than 5% of cases or by less than five standard errors; these errors allow for samples that
/// resemble their predecessors.
pub fn change_points(values: &[f64], bootstrap: &Bootstrap) -> Option<Changes> {
    let places: Vec<usize> = (0..values.len()).filter(|&i| values[i].is_finite()).collect();
    let finite: Vec<f64> = places.iter().map(|&i| values[i]).collect();
    if finite.len() < MIN_SAMPLES_FOR_CHANGES {
        return None;
    }
    let mut chance = OrderSampler {
        rng: Xoshiro256::seeded(bootstrap.seed),
        orders: bootstrap.resamples.max(FEWEST_ORDERS),
    };
    let mut cuts = Vec::new();
    segment(&finite, 0, &mut chance, &mut cuts);
    cuts.sort_by_key(|cut| cut.0);
    join(&finite, &mut cuts, &mut chance);
    let edges = edges_of(&cuts, finite.len());
    let segments: Vec<Segment> = edges
        .windows(2)
        .filter_map(|edge| {
            let to = places.get(edge[1]).copied().unwrap_or(values.len());
            Some(Segment { from: places[edge[0]], to, level: bootstrap.median(&finite[edge[0]..edge[1]])? })
        })
        .collect();
    let points = cuts
        .iter()
        .zip(segments.windows(2))
        .map(|(&(_, p), pair)| {
            let (before, after) = (pair[0].level.value, pair[1].level.value);
            let relative_change = if before == 0.0 { after.signum() } else { after / before - 1.0 };
            ChangePoint { at: pair[1].from, p, relative_change }
        })
        .collect::<Vec<_>>();
    Some(Changes { drifts: !points.is_empty() && line_fits_better(&finite, &edges), segments, points })
}

/// Returns the values with those beyond Tukey's fences moved to the fence, so that a few outliers do not dominate,
/// minus their mean.
fn scores(values: &[f64]) -> Vec<f64> {
    let ordered = sorted(values);
    let quartile = |q| quantile_of_sorted(&ordered, q).unwrap_or(0.0);
    let (low, high) = (quartile(0.25), quartile(0.75));
    let room = FENCE * (high - low);
    let fenced: Vec<f64> =
        values.iter().map(|v| if room > 0.0 { v.clamp(low - room, high + room) } else { *v }).collect();
    let mean = mean(&fenced);
    fenced.iter().map(|v| v - mean).collect()
}

struct OrderSampler {
    rng: Xoshiro256,
    orders: usize,
}

impl OrderSampler {
    /// Returns, for several statistics at once, the share of random orders of `scores` in which the statistic is at
    /// least as large; stops early (with a share over `limit`) if none can be significant any more.
    fn shares<const N: usize>(
        &mut self,
        scores: &[f64],
        limit: f64,
        observed: [f64; N],
        statistic: impl Fn(&[f64]) -> [f64; N],
    ) -> [f64; N] {
        let mut order = scores.to_vec();
        let mut reached = [1usize; N];
        let hopeless = (limit * (self.orders + 1) as f64) as usize;
        for drawn in 1..=self.orders {
            self.rng.shuffle(&mut order);
            let found = statistic(&order);
            for k in 0..N {
                // Sums of scores in another order may differ in the last bits, so a tie counts as reached.
                reached[k] += usize::from(found[k] >= observed[k] * (1.0 - 1e-9));
            }
            if reached.iter().all(|&r| r > hopeless) {
                return reached.map(|r| r as f64 / (drawn + 1) as f64);
            }
        }
        reached.map(|r| r as f64 / (self.orders + 1) as f64)
    }
}

/// Cuts `values`, which begin at position `offset` of the series, and their parts; adds positions and p to `cuts`.
fn segment(values: &[f64], offset: usize, chance: &mut OrderSampler, cuts: &mut Vec<(usize, f64)>) {
    if values.len() < MIN_SAMPLES_FOR_CHANGES {
        return;
    }
    let scores = scores(values);
    if scores.iter().all(|score| *score == 0.0) {
        return;
    }
    let scan = Scan::new(&scores);
    let (cut, arc) = scan.strongest(&scores);
    let heights = [cut.height, arc.height];
    let shares = chance.shares(&scores, SIGNIFICANCE, heights, |order| {
        let (cut, arc) = scan.strongest(order);
        [cut.height, arc.height]
    });
    let chosen = if shares[0] <= shares[1] { (cut, shares[0]) } else { (arc, shares[1]) };
    if chosen.1 >= SIGNIFICANCE {
        return;
    }
    let (from, to) = scan.sharpen(&scores, chosen.0);
    let inner: Vec<usize> = [from, to].into_iter().filter(|&at| at > 0 && at < values.len()).collect();
    cuts.extend(inner.iter().map(|&at| (offset + at, chosen.1)));
    let edges: Vec<usize> = [0].into_iter().chain(inner).chain([values.len()]).collect();
    for edge in edges.windows(2) {
        segment(&values[edge[0]..edge[1]], offset + edge[0], chance, cuts);
    }
}

/// A segment `from..to` of a series and the distance of its scores from the rest's, in squared standard errors.
#[derive(Clone, Copy)]
struct CandidateSegment {
    from: usize,
    to: usize,
    height: f64,
}

struct Scan {
    /// Candidate places of a cut, including the ends of the series.
    places: Vec<usize>,
    step: usize,
    /// 1 / (variance of the sum of m scores drawn at random), for each m.
    weights: Vec<f64>,
}

impl Scan {
    fn new(scores: &[f64]) -> Self {
        let n = scores.len();
        let squares: f64 = scores.iter().map(|r| r * r).sum();
        let per_place = n as f64 * (n as f64 - 1.0) / squares.max(f64::MIN_POSITIVE);
        let weights = (0..=n)
            .map(|m| if m == 0 || m == n { 0.0 } else { per_place / (m as f64 * (n - m) as f64) })
            .collect();
        let step = n.div_ceil(PLACES);
        let inner = (SHORTEST..=n - SHORTEST).step_by(step);
        Self { places: [0].into_iter().chain(inner).chain([n]).collect(), step, weights }
    }

    /// Returns the strongest cut in two (as the segment after it) and the strongest segment anywhere.
    fn strongest(&self, scores: &[f64]) -> (CandidateSegment, CandidateSegment) {
        let n = scores.len();
        let sums = self.sums(scores);
        let mut cut = CandidateSegment { from: 0, to: n, height: -1.0 };
        let mut arc = cut;
        for (i, &from) in self.places.iter().enumerate() {
            for (j, &to) in self.places.iter().enumerate().skip(i + 1) {
                if to - from < SHORTEST || to - from == n {
                    continue;
                }
                let sum = sums[j] - sums[i];
                let height = sum * sum * self.weights[to - from];
                if height > arc.height {
                    arc = CandidateSegment { from, to, height };
                }
                if to == n && height > cut.height {
                    cut = CandidateSegment { from, to, height };
                }
            }
        }
        (cut, arc)
    }

    /// Returns the running sums of the scores up to each place.
    fn sums(&self, scores: &[f64]) -> Vec<f64> {
        let mut running = 0.0;
        let mut at = 0;
        self.places
            .iter()
            .map(|&place| {
                running += scores[at..place].iter().sum::<f64>();
                at = place;
                running
            })
            .collect()
    }

    /// Moves the ends of a segment found on the grid to the best places near them.
    fn sharpen(&self, scores: &[f64], found: CandidateSegment) -> (usize, usize) {
        let n = scores.len();
        let near = |at: usize| {
            if at == 0 || at == n {
                return at..=at;
            }
            at.saturating_sub(self.step).max(SHORTEST)..=(at + self.step).min(n - SHORTEST)
        };
        let mut best = (found.from, found.to, f64::NEG_INFINITY);
        for from in near(found.from) {
            for to in near(found.to).filter(|&to| to >= from + SHORTEST) {
                let sum: f64 = scores[from..to].iter().sum();
                let height = sum * sum * self.weights[to - from];
                if height > best.2 {
                    best = (from, to, height);
                }
            }
        }
        (best.0, best.1)
    }
}

/// Joins adjacent segments that do not differ significantly: the far end of a segment may not be a jump, and a series
/// whose samples resemble their predecessors wanders without jumps.
fn join(values: &[f64], cuts: &mut Vec<(usize, f64)>, chance: &mut OrderSampler) {
    while let Some(i) = weakest_by_chance(values, &edges_of(cuts, values.len()), chance)
        .or_else(|| weakest_by_distance(values, &edges_of(cuts, values.len())))
    {
        cuts.remove(i);
    }
}

fn edges_of(cuts: &[(usize, f64)], n: usize) -> Vec<usize> {
    [0].into_iter().chain(cuts.iter().map(|cut| cut.0)).chain([n]).collect()
}

/// Returns the cut whose two sides chance explains best, if it does so too often.
fn weakest_by_chance(values: &[f64], edges: &[usize], chance: &mut OrderSampler) -> Option<usize> {
    let p_of = |edge: &[usize]| {
        let scores = scores(&values[edge[0]..edge[2]]);
        let split = edge[1] - edge[0];
        let sum = |order: &[f64]| [order[..split].iter().sum::<f64>().abs()];
        chance.shares(&scores, JOIN_ABOVE, sum(&scores), sum)[0]
    };
    let weakest = edges.windows(3).map(p_of).enumerate().max_by(|a, b| a.1.total_cmp(&b.1))?;
    (weakest.1 > JOIN_ABOVE).then_some(weakest.0)
}

/// Returns the cut whose two levels are the fewest standard errors apart, if these are too few. The errors are those of
/// correlated samples, as the values minus their levels show it.
fn weakest_by_distance(values: &[f64], edges: &[usize]) -> Option<usize> {
    let parts: Vec<&[f64]> = edges.windows(2).map(|edge| &values[edge[0]..edge[1]]).collect();
    let levels: Vec<f64> = parts.iter().filter_map(|part| median(part)).collect();
    let left: Vec<f64> =
        parts.iter().zip(&levels).flat_map(|(part, level)| part.iter().map(move |v| v - level)).collect();
    // Each subtracted level removes some of the correlation with it.
    let taken = 2.0 * (parts.len() - 1) as f64 / values.len() as f64;
    let rho = (lag_one(&left).unwrap_or(0.0) + taken).clamp(0.0, HIGHEST);
    let deviation = MAD_TO_DEVIATION
        * median_absolute_deviation(&left).unwrap_or(0.0)
        * ((1.0 + rho) / (1.0 - rho)).sqrt();
    let distance = |i: usize| {
        let shares = 1.0 / parts[i].len() as f64 + 1.0 / parts[i + 1].len() as f64;
        (levels[i] - levels[i + 1]).abs() - ERRORS_APART * deviation * shares.sqrt()
    };
    let weakest = (0..parts.len() - 1).map(|i| (i, distance(i))).min_by(|a, b| a.1.total_cmp(&b.1))?;
    (weakest.1 < 0.0).then_some(weakest.0)
}

/// True if a line (Theil and Sen's) explains the values better than levels between `edges`, each judged by the absolute
/// residuals and charged for its parameters (Schwarz's criterion).
fn line_fits_better(values: &[f64], edges: &[usize]) -> bool {
    let (Some(drift), Some(middle)) = (mann_kendall(values), median(values)) else { return false };
    let slope = drift.relative_change * middle / (values.len() - 1) as f64;
    let flattened: Vec<f64> = values.iter().enumerate().map(|(i, v)| v - slope * i as f64).collect();
    let left = |part: &[f64]| median(part).map_or(0.0, |m| part.iter().map(|v| (v - m).abs()).sum::<f64>());
    let line = left(&flattened);
    let steps: f64 = edges.windows(2).map(|edge| left(&values[edge[0]..edge[1]])).sum();
    let n = values.len() as f64;
    // Parameters: levels and places of the steps; height and slope of the line.
    let chosen = 2.0 * (edges.len() - 1) as f64 - 1.0;
    2.0 * n * line.max(f64::MIN_POSITIVE).ln() + 2.0 * n.ln()
        < 2.0 * n * steps.max(f64::MIN_POSITIVE).ln() + chosen * n.ln()
}
