//! The storage pipeline as boxes in a row, after figure 1 of Riedel, van Ingen and Gray.

use super::picture::{Key, Picture, wrapped};
use super::prose::half_width;
use crate::block::html::{escape, svg_text};
use crate::document::{Pipeline, Stage};
use crate::units;

const WIDTH: f64 = 1120.0;
const TOP: f64 = 30.0;
/// Space between boxes, for the arrow.
const GAP: f64 = 34.0;
const PAD: f64 = 14.0;
const LINE: f64 = 17.0;
const BAR: f64 = 9.0;
const MOST_LINES: usize = 3;
const LETTER: f64 = 7.0;
const WIDEST: f64 = 300.0;

/// Colours of the advertised and of the measured figure.
const ADVERTISED: usize = 6;
const REAL: usize = 0;

/// Index of the slowest measured stage; `None` if fewer than two were measured.
pub(super) fn narrowest(pipeline: &Pipeline) -> Option<usize> {
    let rated = pipeline.stages.iter().enumerate().filter_map(|(i, s)| Some((i, s.real?.value)));
    let rated: Vec<(usize, f64)> = rated.collect();
    (rated.len() > 1).then(|| rated.iter().min_by(|a, b| a.1.total_cmp(&b.1)).map(|r| r.0))?
}

pub(super) fn picture(pipeline: &Pipeline) -> Picture {
    let count = pipeline.stages.len().max(1) as f64;
    let width = ((WIDTH - GAP * (count - 1.0)) / count - 2.0).min(WIDEST);
    let letters = ((width - 2.0 * PAD) / LETTER).max(6.0) as usize;
    let said: Vec<BoxText> = pipeline.stages.iter().map(|stage| BoxText::of(stage, letters)).collect();
    let what = said.iter().map(|s| s.what.len()).max().unwrap_or(0) as f64 * LINE;
    let advertised = said.iter().map(|s| s.advertised.len()).max().unwrap_or(0) as f64 * LINE;
    let real = said.iter().map(|s| s.real.len()).max().unwrap_or(0) as f64 * LINE;
    let height = 40.0 + what + 16.0 + advertised + BAR + 14.0 + real + BAR + 20.0;
    let figures = pipeline.stages.iter().flat_map(|s| [s.advertised, s.real.map(|r| r.value)]).flatten();
    let highest = figures.fold(0.0, f64::max);
    let narrow = narrowest(pipeline);
    let mut svg = String::new();
    for (i, (stage, said)) in pipeline.stages.iter().zip(&said).enumerate() {
        let x = 1.0 + i as f64 * (width + GAP);
        if i > 0 {
            let (from, middle) = (x - GAP + 5.0, TOP + height / 2.0);
            svg += &format!(
                "<path class=\"flow\" d=\"M{from:.1} {middle:.1}h{:.1}m-7 -6l7 6l-7 6\"/>\n",
                GAP - 10.0
            );
        }
        let class = if narrow == Some(i) { "stage narrow" } else { "stage" };
        svg += &format!(
            "<g class=\"point\"><title>{}</title><rect class=\"{class}\" x=\"{x:.1}\" y=\"{TOP}\" width=\"{width:.1}\" \
             height=\"{height:.1}\" rx=\"6\"/>",
            escape(&tip(stage))
        );
        if narrow == Some(i) {
            svg += &svg_text("mark", (x, TOP - 9.0), "", "▼ narrowest stage");
        }
        let left = x + PAD;
        let mut y = TOP + 26.0;
        svg += &svg_text("name", (left, y), "", &said.name);
        lines(&mut svg, &said.what, left, y + LINE, "");
        y += what + 20.0;
        let bar = |value: f64| (value / highest * (width - 2.0 * PAD)).max(2.0);
        lines(&mut svg, &said.advertised, left, y + LINE, "");
        y += advertised + 8.0;
        if let Some(value) = stage.advertised.filter(|v| *v > 0.0) {
            svg += &format!(
                "<g class=\"series c{ADVERTISED}\" data-line=\"0\"><rect class=\"outline\" x=\"{left:.1}\" y=\"{y:.1}\" \
                 width=\"{:.1}\" height=\"{BAR}\"/></g>",
                bar(value)
            );
        }
        y += BAR + 8.0;
        lines(&mut svg, &said.real, left, y + LINE, "value");
        y += real + 8.0;
        if let Some(value) = stage.real {
            svg += &format!(
                "<g class=\"series c{REAL}\" data-line=\"1\"><rect class=\"part\" x=\"{left:.1}\" y=\"{y:.1}\" \
                 width=\"{:.1}\" height=\"{BAR}\"/></g>",
                bar(value.value)
            );
        }
        svg += "</g>\n";
    }
    let keys = vec![Key::patch(ADVERTISED, "advertised"), Key::patch(REAL, "measured through this stage")];
    let drawn = 2.0 + count * (width + GAP) - GAP;
    Picture { width: drawn.max(620.0), height: TOP + height + 8.0, body: svg, keys }
}

struct BoxText {
    name: String,
    what: Vec<String>,
    advertised: Vec<String>,
    real: Vec<String>,
}

impl BoxText {
    fn of(stage: &Stage, letters: usize) -> Self {
        let by = if stage.advertised_by.is_empty() {
            String::new()
        } else {
            format!(" ({})", stage.advertised_by)
        };
        let advertised = stage.advertised.map_or_else(
            || "no advertised rate".to_owned(),
            |rate| format!("advertised {}{by}", units::rate(rate)),
        );
        Self {
            name: stage.name.clone(),
            what: wrapped(&stage.what, letters, MOST_LINES),
            advertised: wrapped(&advertised, letters, MOST_LINES),
            real: wrapped(&real(stage), letters, MOST_LINES),
        }
    }
}

/// The measured figure with its share of the advertised one.
pub(super) fn real(stage: &Stage) -> String {
    let Some(real) = stage.real else { return "not measured separately".into() };
    let of = stage
        .advertised
        .filter(|a| *a > 0.0)
        .map(|a| format!(", {} of that", units::percent(real.value / a)));
    format!(
        "measured {}{}{}",
        units::rate(real.value),
        half_width(&real).map_or_else(|| " (no interval)".into(), |width| format!(" ±{width}")),
        of.unwrap_or_default()
    )
}

fn tip(stage: &Stage) -> String {
    let advertised = stage.advertised.map_or_else(String::new, |a| format!("advertised {}", units::rate(a)));
    let by =
        if stage.advertised_by.is_empty() { String::new() } else { format!(" by {}", stage.advertised_by) };
    let parts = [stage.what.clone(), advertised + &by, real(stage)];
    let parts: Vec<String> = parts.into_iter().filter(|p| !p.trim().is_empty()).collect();
    format!("{}: {}", stage.name, parts.join("; "))
}

fn lines(svg: &mut String, lines: &[String], x: f64, y: f64, class: &str) {
    for (i, line) in lines.iter().enumerate() {
        *svg += &svg_text(class, (x, y + i as f64 * LINE), "", line);
    }
}
