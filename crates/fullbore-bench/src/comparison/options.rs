//! Documents to compare, and the options of a comparison.

use super::condition::Condition;
use super::difference::Aspect;
use super::glob::Glob;
use crate::document::Document;
use crate::stats::Bootstrap;

/// Two runs of one machine differ by less than this share: in layout, heat, neighbours.
const SAME_WITHIN: f64 = 0.1;

/// A document with the name shown to users, such as its path.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    /// The name.
    pub name: &'a str,
    /// The document.
    pub document: &'a Document,
}

/// Options of a comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// Ratios within this share of 1 count as equal (0.1 is 10%).
    pub margin: f64,
    /// Parameters of the intervals.
    pub bootstrap: Bootstrap,
    /// Aspects in which the environments may differ.
    pub across: Vec<Aspect>,
    /// Patterns for the ids of the cells to compare; empty: all.
    pub only: Vec<Glob>,
    /// Conditions to fail on.
    pub conditions: Vec<Condition>,
}

impl Default for Options {
    /// All cells, 10%, 95% intervals, no difference allowed, no condition.
    fn default() -> Self {
        Self {
            margin: SAME_WITHIN,
            bootstrap: Bootstrap::default(),
            across: Vec::new(),
            only: Vec::new(),
            conditions: Vec::new(),
        }
    }
}
