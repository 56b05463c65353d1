//! Sections of text, lists, tables and figures, independent of the form in which they are written.

pub(crate) mod html;
pub(crate) mod markdown;
mod table;
pub(crate) mod text;

pub(crate) use table::{NOTHING, Table, TableOf, Titled};

use crate::document::{Confidence, EarlierFinding, RuleVerdict};

pub(crate) struct Section {
    pub(crate) id: String,
    pub(crate) title: String,
    /// The class of its entry in a table of contents; empty if it has none.
    pub(crate) class: &'static str,
    pub(crate) blocks: Vec<Block>,
}

impl Section {
    /// Creates a section that a table of contents names by its title.
    pub(crate) fn new(id: &str, title: impl Into<String>, blocks: Vec<Block>) -> Self {
        Self { id: id.to_owned(), title: title.into(), class: "", blocks }
    }
}

/// Returns a title up to its first comma, for lists.
pub(crate) fn short(title: &str) -> &str {
    title.split(',').next().unwrap_or(title)
}

/// A part of a section. Text between backquotes is code in a page.
pub(crate) enum Block {
    Heading(String),
    /// A paragraph that stands out.
    Question(String),
    Paragraph(String),
    Labelled(&'static str, String),
    /// Sentences, one per line.
    List(Vec<String>),
    Numbered(Vec<Item>),
    Facts(Vec<(String, String)>),
    /// Earlier findings beside the present ones.
    Findings {
        then: Vec<EarlierFinding>,
        here: Vec<String>,
    },
    Table {
        /// The table's accessible name.
        label: String,
        table: Table,
    },
    Folded {
        title: String,
        fold: Fold,
        blocks: Vec<Block>,
    },
    Code(String),
    Figures(Vec<Figure>),
    PageOnly(Vec<Block>),
    /// Headline figures, each with its name and its circumstances; in pages only.
    Tiles(Vec<[String; 3]>),
}

/// The forms in which a part is folded; in the others it has a heading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fold {
    Page,
    /// Pages on a screen, not printed ones.
    Screen,
    Everywhere,
}

pub(crate) struct Item {
    pub(crate) number: usize,
    pub(crate) text: String,
    /// A word or two that rate the text.
    pub(crate) tag: (Rating, String),
    pub(crate) evidence: String,
    /// Id and title of the section that it is about.
    pub(crate) link: Option<(String, String)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rating {
    Good,
    Fair,
    Poor,
    Open,
}

impl From<Confidence> for Rating {
    fn from(confidence: Confidence) -> Self {
        match confidence {
            Confidence::High => Self::Good,
            Confidence::Medium => Self::Fair,
            Confidence::Low => Self::Poor,
        }
    }
}

impl From<RuleVerdict> for Rating {
    fn from(verdict: RuleVerdict) -> Self {
        match verdict {
            RuleVerdict::StillTrue => Self::Good,
            RuleVerdict::NoLongerTrue => Self::Poor,
            RuleVerdict::NotTestable => Self::Open,
        }
    }
}

/// A figure: its markup, and the text that replaces it where there is no markup.
pub(crate) struct Figure {
    pub(crate) html: String,
    pub(crate) text: Option<String>,
}
