//! Which colour, dash and marker a line gets: one colour a method throughout the report.

use crate::document::{CacheState, Document, Labels};

/// Colours in the style sheet (`.c0` to `.c7`), after Okabe and Ito, tuned to each theme.
const COLOURS: usize = 8;

/// Methods of the library in the order of their colours.
const METHODS: [&str; 8] = ["buffered", "direct", "mmap", "uring", "aio", "uncached", "vectored", "stdio"];

/// The looks of lines throughout a report.
pub(super) struct Palette {
    methods: Vec<String>,
}

/// How one line is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Look {
    /// Number of the colour class.
    pub(super) colour: usize,
    /// Number of the dash class: 0 solid.
    pub(super) dash: usize,
    /// Number of the marker.
    pub(super) marker: usize,
}

/// Number of dashes in the style sheet (`.d0` to `.d3`).
const DASHES: usize = 4;
/// Number of markers.
pub(super) const MARKERS: usize = 6;

impl Palette {
    pub(super) fn of(document: &Document) -> Self {
        let mut methods: Vec<String> = METHODS.map(String::from).to_vec();
        for cell in &document.cells {
            if !methods.contains(&cell.labels.method) {
                methods.push(cell.labels.method.clone());
            }
        }
        Self { methods }
    }

    /// Colour and marker follow the method; lines of one method in one chart differ by dash, then by marker.
    pub(super) fn looks(&self, lines: &[&Labels]) -> Vec<Look> {
        let mut looks: Vec<Look> = Vec::new();
        for labels in lines {
            let method = self.methods.iter().position(|m| *m == labels.method).unwrap_or(0);
            let cold = usize::from(labels.cache == Some(CacheState::Cold));
            let mixed = lines.iter().any(|l| l.cache != labels.cache);
            let mut look = Look {
                colour: method % COLOURS,
                dash: if mixed { cold } else { 0 },
                marker: method % MARKERS,
            };
            for step in 1..DASHES * MARKERS {
                if !looks.contains(&look) {
                    break;
                }
                look.dash = (look.dash + 1) % DASHES;
                if step % DASHES == 0 {
                    look.marker = (look.marker + 1) % MARKERS;
                }
            }
            looks.push(look);
        }
        looks
    }

    /// The colour of a method alone.
    pub(super) fn colour(&self, labels: &Labels) -> usize {
        self.methods.iter().position(|m| *m == labels.method).unwrap_or(0) % COLOURS
    }
}

/// An SVG marker of about 7 units around a point.
pub(super) fn marker(number: usize, x: f64, y: f64) -> String {
    let path = match number % MARKERS {
        0 => return format!("<circle class=\"m\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.4\"/>"),
        1 => format!("M{:.1} {:.1}h6v6h-6z", x - 3.0, y - 3.0),
        2 => format!("M{x:.1} {:.1}l4 7h-8z", y - 4.4),
        3 => format!("M{x:.1} {:.1}l4.3 4.3l-4.3 4.3l-4.3 -4.3z", y - 4.3),
        4 => format!("M{x:.1} {:.1}l4 -7h-8z", y + 4.4),
        _ => format!("M{:.1} {:.1}h2v3h3v2h-3v3h-2v-3h-3v-2h3z", x - 1.0, y - 4.0),
    };
    format!("<path class=\"m\" d=\"{path}\"/>")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_one_chart_all_look_different() {
        let palette = Palette { methods: METHODS.map(String::from).to_vec() };
        let labels: Vec<Labels> = (0..12)
            .map(|i| Labels { method: METHODS[i % 3].into(), workers: Some(i as u32), ..Labels::default() })
            .collect();
        let looks = palette.looks(&labels.iter().collect::<Vec<_>>());
        for (i, look) in looks.iter().enumerate() {
            assert!(!looks[..i].contains(look), "{looks:?}");
        }
        assert_eq!(looks[0].colour, looks[3].colour, "one colour a method");
    }
}
