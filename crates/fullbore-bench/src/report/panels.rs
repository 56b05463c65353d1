//! Distribution of an experiment's lines over legible charts; colour, dash and marker of each. A method has the same colour
//! throughout the report.

use std::collections::BTreeSet;

use fullbore::engine;

use crate::document::{CacheState, Document, Labels, Operation, Series};
use crate::grouping::grouped;
use crate::units;

pub(super) struct Panel<'a> {
    /// Properties that distinguish the chart from the others of the experiment: `cold, random`; empty if there is one.
    pub(super) title: String,
    /// The lines with short names, without the common properties.
    pub(super) lines: Vec<(String, &'a Series)>,
}

impl Panel<'_> {
    pub(super) fn suffix(&self) -> String {
        if self.title.is_empty() { String::new() } else { format!(", {}", self.title) }
    }

    pub(super) fn styles(&self, palette: &Palette) -> Vec<LineStyle> {
        palette.line_styles(&self.lines.iter().map(|(_, line)| &line.labels).collect::<Vec<_>>())
    }
}

/// A property that divides lines into separate charts, in a word or two; `None` if it does not apply.
pub(super) type Facet = fn(&Labels) -> Option<String>;

/// A direct read bypasses the page cache, so its state does not matter.
const CACHE: Facet =
    |l| l.cache.or(past_cache(l).then_some(CacheState::Cold)).map(|cache| cache.word().to_owned());
const OPERATION: Facet = |l| Some(l.operation.to_string());
const ORDER: Facet = |l| l.order.clone().map(String::from);
const FLUSH: Facet = |l| l.flush.map(|f| if f { "flushed" } else { "not flushed" }.to_owned());

/// Tried in this order.
const FACETS: [Facet; 13] = [
    CACHE,
    OPERATION,
    ORDER,
    FLUSH,
    |l| l.file_state.as_ref().map(|s| format!("file {s}")),
    |l| l.memory_limit_bytes.map(|m| format!("memory of {}", units::size(m))),
    |l| l.targets.map(|n| units::count(n as usize, "disk")),
    |l| l.streams.map(|n| units::count(n as usize, "stream")),
    |l| l.file_bytes.map(|n| format!("file of {}", units::size(n))),
    |l| l.request_bytes.map(units::size),
    |l| l.depth.map(|d| format!("depth {d}")),
    |l| l.workers.map(|w| units::count(w as usize, "worker")),
    |l| l.variant.clone(),
];

/// The properties that make two lines different jobs, whose speeds cannot be compared.
pub(super) const JOBS: [Facet; 4] = [OPERATION, CACHE, ORDER, FLUSH];

fn past_cache(labels: &Labels) -> bool {
    labels.operation == Operation::Read && labels.bypasses_cache()
}

/// Distributes lines over charts of at most `most` lines by properties; `by_cache`: in any case by the cache state.
pub(super) fn split<'a>(lines: &[&'a Series], by_cache: bool, most: usize) -> Vec<Panel<'a>> {
    let mut groups: Vec<(String, Vec<&'a Series>)> = vec![(String::new(), lines.to_vec())];
    for (place, facet) in FACETS.into_iter().enumerate() {
        let apart = by_cache && place == 0;
        groups = groups
            .into_iter()
            .flat_map(|(title, group)| {
                if !apart && group.len() <= most {
                    return vec![(title, group)];
                }
                let parts =
                    grouped(group.iter().map(|line| (facet(&line.labels).unwrap_or_default(), *line)));
                // Lines without a value may share a chart with one kind of the others.
                let said = parts.iter().filter(|(word, _)| !word.is_empty()).count();
                if said < 2 && group.len() <= most {
                    return vec![(title, group)];
                }
                // Parts of one line each do not help.
                if parts.len() < 2 || !apart && parts.len() == group.len() {
                    return vec![(title, group)];
                }
                let text = |word: String| if title.is_empty() { word } else { format!("{title}, {word}") };
                parts.into_iter().map(|(word, part)| (text(word), part)).collect()
            })
            .collect();
    }
    groups.into_iter().map(|(title, group)| Panel { lines: named(&group, &title), title }).collect()
}

/// Names without the words that all lines share or that the title contains.
pub(super) fn named<'a>(lines: &[&'a Series], title: &str) -> Vec<(String, &'a Series)> {
    let above: Vec<&str> = title.split(", ").collect();
    let words = |line: &Series| line.name.split(", ").map(str::to_owned).collect::<Vec<_>>();
    let all: Vec<Vec<String>> = lines.iter().map(|line| words(line)).collect();
    let shared = |word: &String| {
        above.contains(&word.as_str()) || lines.len() > 1 && all.iter().all(|other| other.contains(word))
    };
    lines
        .iter()
        .zip(&all)
        .map(|(line, words)| {
            let own: Vec<&str> = words.iter().filter(|w| !shared(w)).map(String::as_str).collect();
            // A line without words of its own gets the first word that the title lacks, mostly the access method.
            let first = || words.iter().find(|w| !above.contains(&w.as_str())).unwrap_or(&words[0]).clone();
            let name = if own.is_empty() { first() } else { own.join(", ") };
            (name, *line)
        })
        .collect()
}

/// Number of colours in the style sheet (`.c0` to `.c7`), after Okabe and Ito, tuned to each theme.
const COLOURS: usize = 8;

/// The colours on white paper, those of the light theme.
pub(super) const ON_WHITE: [&str; COLOURS] =
    ["#0a68a8", "#c24a00", "#00785a", "#a4488b", "#a06a00", "#2b95d0", "#555d66", "#7a4b1e"];

pub(super) struct Palette {
    methods: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LineStyle {
    pub(super) colour: usize,
    /// Number of the dash class: 0 solid.
    pub(super) dash: usize,
    pub(super) marker: usize,
}

/// Number of dashes in the style sheet (`.d0` to `.d3`).
const DASHES: usize = 4;
pub(super) const MARKERS: usize = 6;

impl LineStyle {
    /// A style that differs by colour only.
    pub(super) fn plain(colour: usize) -> Self {
        Self { colour: colour % COLOURS, dash: 0, marker: 0 }
    }

    pub(super) fn classes(self) -> String {
        if self.dash == 0 { format!("c{}", self.colour) } else { format!("c{} d{}", self.colour, self.dash) }
    }
}

fn method_or_peer(labels: &Labels) -> &str {
    labels.peer.as_deref().unwrap_or(&labels.method)
}

/// If a chart has more lines of one method than this, each line gets a colour of its own.
const OF_ONE_METHOD: usize = 3;

impl Palette {
    pub(super) fn of(document: &Document) -> Self {
        Self::of_methods(document.cells.iter().map(|cell| method_or_peer(&cell.labels)))
    }

    /// Orders the methods: those of the registry first, so that few methods have the colours with the clearest difference.
    fn of_methods<'a>(used: impl Iterator<Item = &'a str>) -> Self {
        let used: BTreeSet<&str> = used.collect();
        let known: Vec<&str> =
            engine::methods().map(|method| method.name).filter(|name| used.contains(name)).collect();
        let others = used.iter().copied().filter(|name| !known.contains(name));
        Self { methods: known.iter().copied().chain(others).map(str::to_owned).collect() }
    }

    fn place(&self, labels: &Labels) -> usize {
        self.methods.iter().position(|m| m == method_or_peer(labels)).unwrap_or(0)
    }

    /// Assigns styles. Colour and marker follow the method; lines of one method in one chart differ by dash, then by
    /// marker. In a chart of few methods with many lines, each line has a colour of its own.
    pub(super) fn line_styles(&self, lines: &[&Labels]) -> Vec<LineStyle> {
        let places: Vec<usize> = lines.iter().map(|labels| self.place(labels)).collect();
        let crowded = places.iter().any(|p| places.iter().filter(|o| *o == p).count() > OF_ONE_METHOD);
        let colours = self.colours(&places);
        // If there are more methods than colours, the later ones are dashed.
        let again = |i: usize| {
            let shared = |j: usize| places[j] < places[i] && colours[j] == colours[i];
            if crowded || !(0..places.len()).any(shared) { 0 } else { DASHES - 1 }
        };
        let mut line_styles: Vec<LineStyle> = Vec::new();
        for (i, labels) in lines.iter().enumerate() {
            let cold = usize::from(labels.cache == Some(CacheState::Cold));
            let mixed = lines.iter().any(|l| l.cache != labels.cache);
            let mut look = LineStyle {
                colour: if crowded { i % COLOURS } else { colours[i] },
                dash: if mixed { cold } else { again(i) },
                marker: if crowded { i % MARKERS } else { places[i] % MARKERS },
            };
            for step in 1..DASHES * MARKERS {
                if !line_styles.contains(&look) {
                    break;
                }
                look.dash = (look.dash + 1) % DASHES;
                if step % DASHES == 0 {
                    look.marker = (look.marker + 1) % MARKERS;
                }
            }
            line_styles.push(look);
        }
        line_styles
    }

    /// Returns a colour for each method's place: its own, or a free one if another method of the chart has it.
    fn colours(&self, places: &[usize]) -> Vec<usize> {
        let mut taken: Vec<(usize, usize)> = Vec::new();
        // Methods known to the library come first, so that their colours are the same in every chart.
        let mut rising = places.to_vec();
        rising.sort_unstable();
        for place in rising {
            if taken.iter().any(|t| t.0 == place) {
                continue;
            }
            let free = |colour: &usize| taken.iter().all(|t| t.1 != *colour);
            let own = place % COLOURS;
            let colour = if free(&own) { own } else { (0..COLOURS).find(|c| free(c)).unwrap_or(own) };
            taken.push((place, colour));
        }
        let colour = |place: &usize| taken.iter().find(|t| t.0 == *place).map_or(0, |t| t.1);
        places.iter().map(colour).collect()
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

    fn line(name: &str, cache: CacheState, order: &str) -> Series {
        let labels = Labels { cache: Some(cache), order: Some(order.into()), ..Labels::default() };
        Series { name: name.into(), labels, cells: vec![0] }
    }

    #[test]
    fn charts_have_few_lines_named_by_difference() {
        let all = [
            line("uring, cold, random", CacheState::Cold, "random"),
            line("direct, cold, random", CacheState::Cold, "random"),
            line("uring, cold, sequential", CacheState::Cold, "sequential"),
            line("direct, cold, sequential", CacheState::Cold, "sequential"),
            line("uring, warm, sequential", CacheState::Warm, "sequential"),
        ];
        let lines: Vec<&Series> = all.iter().collect();
        let text = |panels: Vec<Panel>| -> Vec<(String, Vec<String>)> {
            panels.into_iter().map(|p| (p.title, p.lines.into_iter().map(|l| l.0).collect())).collect()
        };
        let names = |words: &[&str]| words.iter().map(|w| (*w).to_owned()).collect::<Vec<_>>();
        assert_eq!(split(&lines, false, 12).len(), 1);
        assert_eq!(
            text(split(&lines, true, 3)),
            [
                ("cold, random".to_owned(), names(&["uring", "direct"])),
                ("cold, sequential".to_owned(), names(&["uring", "direct"])),
                ("warm".to_owned(), names(&["uring, sequential"])),
            ]
        );
        assert_eq!(text(split(&lines[..2], true, 3))[0].0, "");
    }

    #[test]
    fn the_colours_of_paper_are_those_of_the_light_theme() {
        for (i, colour) in ON_WHITE.iter().enumerate() {
            assert!(crate::block::html::STYLE.contains(&format!("--s{i}: {colour};")), "{colour}");
        }
    }

    #[test]
    fn methods_sharing_a_colour_differ_in_marker() {
        let names = engine::METHODS.iter().map(|method| method.name);
        let palette = Palette::of_methods(names.chain(["tokio", "compio"]));
        let labels = ["buffered", "tokio", "direct", "compio"]
            .map(|m| Labels { method: m.into(), ..Labels::default() });
        let line_styles = palette.line_styles(&labels.iter().collect::<Vec<_>>());
        for (i, look) in line_styles.iter().enumerate() {
            assert!(line_styles[..i].iter().all(|l| l.colour != look.colour), "{line_styles:?}");
        }
    }

    #[test]
    fn lines_of_one_chart_all_look_different() {
        let palette = Palette::of_methods(engine::METHODS.iter().map(|method| method.name));
        let line = |i: usize, n: usize| Labels {
            method: engine::METHODS[i % n].name.into(),
            workers: Some(i as u32),
            ..Labels::default()
        };
        let different = |lines: usize, methods: usize| {
            let labels: Vec<Labels> = (0..lines).map(|i| line(i, methods)).collect();
            let line_styles = palette.line_styles(&labels.iter().collect::<Vec<_>>());
            for (i, look) in line_styles.iter().enumerate() {
                assert!(!line_styles[..i].contains(look), "{line_styles:?}");
            }
            line_styles
        };
        let line_styles = different(12, 6);
        assert_eq!(line_styles[0].colour, line_styles[6].colour, "one colour per method");
        let line_styles = different(24, 1);
        assert_ne!(line_styles[0].colour, line_styles[1].colour, "one method, many lines: a colour per line");
    }
}
