//! Layout of the views.

/// Layout of a view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TableOptions {
    /// Columns of the terminal; at least 60.
    pub width: usize,
    /// True if headings and warnings are coloured by ANSI escapes.
    pub colour: bool,
}

impl Default for TableOptions {
    /// 80 columns, no colour.
    fn default() -> Self {
        Self { width: 80, colour: false }
    }
}
