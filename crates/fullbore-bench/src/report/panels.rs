//! Distribution of an experiment's lines over legible charts.

use crate::document::{CacheState, Labels, Series};
use crate::units;

pub(super) struct Panel<'a> {
    /// Properties that distinguish the chart from the others of the experiment: `cold, random`; empty if there is one.
    pub(super) title: String,
    /// The lines with short names, without the common properties.
    pub(super) lines: Vec<(String, &'a Series)>,
}

impl Panel<'_> {
    /// The title as the end of a caption.
    pub(super) fn suffix(&self) -> String {
        if self.title.is_empty() { String::new() } else { format!(", {}", self.title) }
    }
}

/// A property that divides lines into separate charts, in a word or two; `None` if it does not apply.
pub(super) type Facet = fn(&Labels) -> Option<String>;

/// A direct read bypasses the page cache, so its state does not matter.
const CACHE: Facet =
    |l| l.cache.or(past_cache(l).then_some(CacheState::Cold)).map(|cache| cache.word().to_owned());
const OPERATION: Facet = |l| Some(l.operation.clone());
const ORDER: Facet = |l| l.order.clone();
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
    labels.operation == "read" && labels.bypasses_cache()
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
                let parts = grouped(&group, |line| facet(&line.labels).unwrap_or_default());
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

/// Groups by a key, in the order of first appearance.
pub(super) fn grouped<'a, K: PartialEq>(
    lines: &[&'a Series],
    key: impl Fn(&Series) -> K,
) -> Vec<(K, Vec<&'a Series>)> {
    let mut groups: Vec<(K, Vec<&'a Series>)> = Vec::new();
    for &line in lines {
        let key = key(line);
        match groups.iter_mut().find(|g| g.0 == key) {
            Some((_, group)) => group.push(line),
            None => groups.push((key, vec![line])),
        }
    }
    groups
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
}
