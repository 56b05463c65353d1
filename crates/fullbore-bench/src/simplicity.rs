//! Preference among cells of equal throughput: the simplest strategy, or the cell with the most samples.

use fullbore::engine;

use crate::document::{Allocation, Cell, FileState, Labels, Summary};
use crate::stats::Estimate;

/// Strategies whose median rate is within this share of the fastest count as equal to it.
pub(crate) const EQUAL: f64 = 0.05;

/// A strategy whose interval reaches below this share of the fastest median is a risk: some of its samples were slow.
const RISK: f64 = 2.0 / 3.0;

/// Rank of an access method: commands, then the registry, the simplest first. Others rank as the last.
fn rank(method: &str) -> usize {
    match method {
        "command" => 0,
        method => {
            engine::methods().position(|known| known.name == method).map_or(usize::MAX, |place| place + 1)
        }
    }
}

/// Workers, rank of the method, depth, and preparations of the file: less of the first that differs is simpler.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Effort {
    workers: u32,
    method: usize,
    depth: u32,
    preparations: u32,
}

impl Effort {
    fn of(labels: &Labels) -> Self {
        let allocated =
            labels.allocation.as_ref().is_some_and(|allocation| *allocation != Allocation::Extend)
                || labels.file_state == Some(FileState::Preallocated);
        Self {
            workers: labels.workers.unwrap_or(1),
            method: labels.method.parts().map(rank).max().unwrap_or(0),
            depth: labels.depth.unwrap_or(1),
            preparations: u32::from(allocated) + u32::from(labels.variant.is_some()),
        }
    }
}

/// The cell to choose among measured ones, and the fastest: of those within [`EQUAL`] of the fastest the simplest without a
/// [`RISK`], if there is one; of equally simple ones the fastest. `None` if none was measured.
pub(crate) fn choose<'a>(cells: &[&'a Cell]) -> Option<(&'a Cell, &'a Cell)> {
    let rated = |cell: &&'a Cell| Some((*cell, cell.summary.as_ref()?.rate));
    let mut rated: Vec<(&Cell, Estimate)> = cells.iter().filter_map(rated).collect();
    rated.sort_by(|a, b| b.1.value.total_cmp(&a.1.value));
    let (fastest, Estimate { value: top, .. }) = *rated.first()?;
    let equal = rated.iter().take_while(|(_, rate)| rate.value * (1.0 + EQUAL) >= top);
    let (chosen, _) = equal.min_by_key(|(cell, rate)| (rate.low < RISK * top, Effort::of(&cell.labels)))?;
    Some((chosen, fastest))
}

/// Returns the item with the most samples among those within [`EQUAL`] of the fastest, of items with a rate and a number of
/// samples; of several with as many, the fastest. The largest of several imprecise medians would be too large.
pub(crate) fn fastest_known<T>(items: impl IntoIterator<Item = (T, f64, usize)>) -> Option<T> {
    let items: Vec<(T, f64, usize)> = items.into_iter().collect();
    let top = items.iter().map(|item| item.1).fold(0.0, f64::max);
    let equal = items.into_iter().filter(|(_, rate, _)| rate * (1.0 + EQUAL) >= top);
    equal.max_by(|a, b| a.2.cmp(&b.2).then(a.1.total_cmp(&b.1))).map(|(item, ..)| item)
}

/// The fastest of measured cells by [`fastest_known`], with its summary.
pub(crate) fn fastest_cell<'a>(cells: impl IntoIterator<Item = &'a Cell>) -> Option<(&'a Cell, &'a Summary)> {
    let measured = cells.into_iter().filter_map(|cell| Some((cell, cell.summary.as_ref()?)));
    fastest_known(measured.map(|one| (one, one.1.rate.value, one.1.n)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_equal_figures_the_one_with_the_most_samples_counts() {
        let fastest = |items: &[(&'static str, f64, usize)]| fastest_known(items.iter().copied());
        assert_eq!(fastest(&[("a", 100.0, 9), ("b", 104.0, 3), ("c", 90.0, 20)]), Some("a"));
        assert_eq!(fastest(&[("a", 100.0, 9), ("b", 110.0, 3)]), Some("b"));
        assert_eq!(fastest(&[("a", 100.0, 9), ("b", 104.0, 9)]), Some("b"));
        assert_eq!(fastest(&[]), None);
    }

    use crate::document::Sample;

    fn cell(method: &str, workers: u32, depth: u32, rate: f64) -> Cell {
        let labels =
            Labels { method: method.into(), workers: Some(workers), depth: Some(depth), ..Labels::default() };
        let sample = Sample { bytes: rate as u64, seconds: 1.0, ..Sample::default() };
        Cell::measured(&format!("{method}/{workers}/{depth}"), labels, vec![sample; 7])
    }

    fn chosen(cells: &[Cell]) -> (String, String) {
        let (chosen, fastest) = choose(&cells.iter().collect::<Vec<_>>()).unwrap();
        (chosen.id.clone(), fastest.id.clone())
    }

    #[test]
    fn the_simplest_within_five_percent_is_chosen() {
        let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        let at = |simple: f64| [cell("uring", 2, 8, 1e9), cell("buffered", 1, 1, simple)];
        assert_eq!(chosen(&at(0.96e9)), pair("buffered/1/1", "uring/2/8"));
        assert_eq!(chosen(&at(0.94e9)), pair("uring/2/8", "uring/2/8"));
    }

    /// A buffered read that is slow now and then is no equal choice.
    #[test]
    fn a_simple_strategy_with_slow_samples_is_not_chosen() {
        let mut slow_at_times = cell("buffered", 1, 1, 0.98e9);
        slow_at_times.summary.as_mut().unwrap().rate.low = 0.5e9;
        let uring = cell("uring", 2, 8, 1e9);
        assert_eq!(chosen(&[uring.clone(), slow_at_times.clone()]).0, "uring/2/8");
        let as_fast = Cell { id: "direct".into(), ..cell("direct", 2, 1, 0.97e9) };
        assert_eq!(chosen(&[uring, slow_at_times.clone(), as_fast]).0, "direct");
        assert_eq!(chosen(&[slow_at_times]).0, "buffered/1/1");
    }

    #[test]
    fn workers_count_before_the_method_and_the_method_before_depth() {
        let all = [
            cell("uring", 1, 32, 1e9),
            cell("uring", 1, 8, 1e9),
            cell("uring+buffered", 1, 1, 1e9),
            cell("direct", 1, 1, 1e9),
            cell("mmap", 1, 1, 1e9),
            cell("buffered", 2, 1, 1e9),
        ];
        assert_eq!(chosen(&all).0, "mmap/1/1");
        assert_eq!(chosen(&all[..4]).0, "direct/1/1");
        assert_eq!(chosen(&all[..3]).0, "uring+buffered/1/1", "depth decides among equal methods");
        assert_eq!(chosen(&all[..2]).0, "uring/1/8");
    }

    #[test]
    fn of_equally_simple_ones_the_fastest_is_chosen() {
        let slower = Cell { id: "smaller requests".into(), ..cell("direct", 1, 1, 0.99e9) };
        assert_eq!(chosen(&[slower, cell("direct", 1, 1, 1e9)]).0, "direct/1/1");
    }
}
