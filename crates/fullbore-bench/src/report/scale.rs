//! Axes: positions of values, their ticks, and the grids of charts.

use crate::block::html::svg_text;

#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Scale {
    low: f64,
    high: f64,
    logarithmic: bool,
    /// Values at equal distances, rising, for axes that are neither linear nor logarithmic.
    steps: Vec<f64>,
    /// Position of the lowest and the highest value in the drawing.
    from: f64,
    to: f64,
    pub(super) ticks: Vec<f64>,
}

impl Scale {
    /// A linear axis from 0 to a round number not below `highest`.
    pub(super) fn linear(highest: f64, from: f64, to: f64) -> Self {
        let highest = if highest > 1e-300 && highest.is_finite() { highest } else { 1.0 };
        let step = round_step(highest / 5.0);
        let steps = (highest / step - 1e-9).ceil().max(1.0);
        let ticks = (0..=steps as usize).map(|i| i as f64 * step).collect();
        Self { high: steps * step, from, to, ticks, ..Self::default() }
    }

    /// An axis of shares from 0 to 1, with ticks at the quarters.
    pub(super) fn shares(from: f64, to: f64) -> Self {
        Self { high: 1.0, from, to, ticks: vec![0.0, 0.25, 0.5, 0.75, 1.0], ..Self::default() }
    }

    /// A logarithmic axis that holds `lowest` and `highest` (both > 0); its ends are 1, 2 or 5 times a power of ten.
    pub(super) fn logarithmic(lowest: f64, highest: f64, from: f64, to: f64) -> Self {
        let lowest = if lowest > 0.0 && lowest.is_finite() { lowest } else { 1.0 };
        let highest = if highest.is_finite() { highest.max(lowest) } else { lowest };
        let first = lowest.log10().floor() as i32;
        let last = highest.log10().ceil() as i32 + 1;
        let all: Vec<f64> = (first..=last).flat_map(|p| [1.0, 2.0, 5.0].map(|m| m * 10f64.powi(p))).collect();
        let start = all.iter().rposition(|&t| t <= lowest * 1.000_001).unwrap_or(0);
        let end = all.iter().position(|&t| t >= highest * 0.999_999).unwrap_or(all.len() - 1).max(start + 1);
        let within = &all[start..=end.min(all.len() - 1)];
        // Beyond three decades the 2s and 5s would crowd the axis.
        let decade = |t: &f64| (t.log10() - t.log10().round()).abs() < 1e-9;
        let sparse = within.len() > 8 && within.iter().filter(|t| decade(t)).count() >= 2;
        let ticks = within.iter().copied().filter(|t| !sparse || decade(t)).collect();
        let (low, high) = (within[0], within[within.len() - 1]);
        Self { low, high, logarithmic: true, from, to, ticks, ..Self::default() }
    }

    /// A log2 axis with a tick at each measured position, thinned to a distance of `gap`.
    pub(super) fn positions(positions: &[u64], from: f64, to: f64, gap: f64) -> Self {
        let (low, high) = (positions.first().copied().unwrap_or(1), positions.last().copied().unwrap_or(2));
        // A margin on both sides, which also avoids a division by zero with a single position.
        let (low, high) = (low as f64 / 1.25, high as f64 * 1.25);
        let mut scale = Self { low, high, logarithmic: true, from, to, ..Self::default() };
        for &position in positions {
            let at = scale.place(position as f64);
            if scale.ticks.last().is_none_or(|&last| (at - scale.place(last)).abs() >= gap) {
                scale.ticks.push(position as f64);
            }
        }
        scale
    }

    /// An axis of equal steps, for positions that begin with 0 or are few.
    pub(super) fn steps(positions: &[u64], from: f64, to: f64, gap: f64) -> Self {
        let steps: Vec<f64> = positions.iter().map(|&p| p as f64).collect();
        let high = steps.len().max(1) as f64 - 0.4;
        let every = (gap * (high + 0.6) / (to - from).abs()).ceil().max(1.0) as usize;
        let ticks = steps.iter().copied().step_by(every).collect();
        Self { low: -0.6, high, steps, from, to, ticks, ..Self::default() }
    }

    /// Position of a value in the drawing; values off the axis are placed at its ends.
    pub(super) fn place(&self, value: f64) -> f64 {
        let value = if self.steps.is_empty() { value } else { self.step(value) };
        let share = if self.logarithmic {
            (value.max(self.low * 1e-9) / self.low).ln() / (self.high / self.low).ln()
        } else {
            (value - self.low) / (self.high - self.low)
        };
        self.from + share.clamp(0.0, 1.0) * (self.to - self.from)
    }

    fn step(&self, value: f64) -> f64 {
        let far = |step: &f64| (step - value).abs();
        let nearest =
            (0..self.steps.len()).min_by(|&a, &b| far(&self.steps[a]).total_cmp(&far(&self.steps[b])));
        nearest.unwrap_or(0) as f64
    }

    pub(super) fn highest(&self) -> f64 {
        self.high
    }
}

/// The smallest of 1, 2, 2.5, 5 · 10^n not below `step`.
fn round_step(step: f64) -> f64 {
    let power = 10f64.powf(step.log10().floor());
    [1.0, 2.0, 2.5, 5.0, 10.0]
        .iter()
        .map(|m| m * power)
        .find(|s| *s >= step * 0.999_999)
        .unwrap_or(10.0 * power)
}

pub(super) fn tick_text(value: f64) -> String {
    let text = if value.abs() >= 1000.0 && value % 1000.0 == 0.0 {
        return format!("{}k", value / 1000.0);
    } else if value.abs() >= 100.0 {
        format!("{value:.0}")
    } else {
        format!("{value:.6}")
    };
    trimmed(&text).to_owned()
}

/// A number without zeros at the end of its fraction.
pub(super) fn trimmed(number: &str) -> &str {
    if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.') } else { number }
}

/// Horizontal grid lines from `left` to `right`, numbers before them.
pub(super) fn y_grid(y: &Scale, left: f64, right: f64) -> String {
    let line = |&value: &f64| {
        let at = y.place(value);
        format!(
            "<line class=\"grid\" x1=\"{left}\" x2=\"{right}\" y1=\"{at:.1}\" y2=\"{at:.1}\"/>{}\n",
            svg_text("", (left - 7.0, at + 4.0), "end", &tick_text(value))
        )
    };
    y.ticks.iter().map(line).collect()
}

/// Vertical grid lines from `top` to `bottom`, texts below; texts at the ends stay within the frame.
pub(super) fn along(x: &Scale, top: f64, bottom: f64, text: impl Fn(f64) -> String) -> String {
    let last = x.ticks.len().saturating_sub(1);
    let line = |(number, &value): (usize, &f64)| {
        let at = x.place(value);
        let anchor = match number {
            0 => "start",
            _ if number == last => "end",
            _ => "middle",
        };
        format!(
            "<line class=\"grid\" x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{top}\" y2=\"{bottom:.1}\"/>{}\n",
            svg_text("", (at, bottom + 17.0), anchor, &text(value))
        )
    };
    x.ticks.iter().enumerate().map(line).collect()
}

pub(super) fn title_below(title: &str, left: f64, right: f64, y: f64) -> String {
    svg_text("title", ((left + right) / 2.0, y), "middle", title) + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linear_axes_end_on_round_numbers() {
        let scale = Scale::linear(11.5, 300.0, 0.0);
        assert_eq!(scale.ticks, [0.0, 2.5, 5.0, 7.5, 10.0, 12.5]);
        assert_eq!((scale.place(0.0), scale.place(12.5), scale.place(6.25)), (300.0, 0.0, 150.0));
        // A step of a subnormal number would be 0.
        for highest in [0.0, 5e-324, f64::NAN, f64::INFINITY] {
            assert_eq!(Scale::linear(highest, 0.0, 1.0).highest(), 1.0);
        }
        assert_eq!(Scale::linear(10.0, 0.0, 1.0).highest(), 10.0);
    }

    #[test]
    fn logarithmic_axes_hold_their_values() {
        let scale = Scale::logarithmic(0.3, 40.0, 0.0, 100.0);
        assert_eq!(scale.ticks, [0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0]);
        assert!((scale.place(0.2), scale.place(50.0)) == (0.0, 100.0));
        assert_eq!(Scale::logarithmic(1e-3, 900.0, 0.0, 1.0).ticks.len(), 7);
        assert!(Scale::logarithmic(5.0, 5.0, 0.0, 1.0).highest() > 5.0);
    }

    #[test]
    fn positions_are_thinned() {
        let crowded: Vec<u64> = (1..=64).collect();
        let scale = Scale::positions(&crowded, 0.0, 400.0, 36.0);
        assert!(scale.ticks.len() < 12 && scale.ticks[0] == 1.0);
        assert_eq!(Scale::positions(&[8], 0.0, 1.0, 0.1).ticks, [8.0]);
    }

    #[test]
    fn steps_are_equal_and_hold_zero() {
        let scale = Scale::steps(&[0, 512, 65536], 0.0, 320.0, 40.0);
        let places = [0.0, 512.0, 65536.0].map(|v| scale.place(v));
        assert!(
            (places[1] - places[0] - (places[2] - places[1])).abs() < 1e-9 && places[0] > 0.0,
            "{places:?}"
        );
        assert_eq!(scale.ticks, [0.0, 512.0, 65536.0]);
    }

    #[test]
    fn ticks_are_short() {
        for (value, text) in [(0.0, "0"), (2.5, "2.5"), (0.02, "0.02"), (150.0, "150"), (20_000.0, "20k")] {
            assert_eq!(tick_text(value), text);
        }
    }
}
