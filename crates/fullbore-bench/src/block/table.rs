//! Tables, independent of the form in which they are written.

#[derive(Debug, Clone, Copy)]
pub(crate) struct Column {
    pub(crate) head: &'static str,
    /// True for figures, which are aligned to the right.
    pub(crate) figures: bool,
}

/// Text for a value that was not measured or does not apply.
pub(crate) const NOTHING: &str = "–";

/// A table. A row of one cell heads the rows after it.
#[derive(Debug, Clone)]
pub(crate) struct Table {
    pub(crate) columns: Vec<Column>,
    pub(crate) rows: Vec<Vec<String>>,
}

pub(crate) type Titled = (&'static str, Table);

impl Table {
    pub(crate) fn without_empty_columns(self) -> Self {
        let says = |text: &String| !text.is_empty() && text != NOTHING;
        let full = || self.rows.iter().filter(|row| row.len() > 1);
        let keep: Vec<bool> = (0..self.columns.len())
            .map(|column| column == 0 || full().any(|row| row.get(column).is_some_and(says)))
            .collect();
        let kept = |column: usize| keep[column.min(keep.len() - 1)];
        let rows = self.rows.into_iter().map(|row| if row.len() == 1 { row } else { pick(row, kept) });
        Self { rows: rows.collect(), columns: pick(self.columns, kept) }
    }
}

/// A table under construction, column by column: a row for each item, and rows without one that head those after them.
pub(crate) struct TableOf<T> {
    items: Vec<Option<T>>,
    table: Table,
}

impl<T> TableOf<T> {
    pub(crate) fn new(items: impl IntoIterator<Item = T>) -> Self {
        let items: Vec<Option<T>> = items.into_iter().map(Some).collect();
        let rows = vec![Vec::new(); items.len()];
        Self { items, table: Table { columns: Vec::new(), rows } }
    }

    /// A table with its first column, which names the rows.
    pub(crate) fn named(head: &'static str, rows: Vec<(String, Option<T>)>) -> Self {
        let (rows, items) = rows.into_iter().map(|(name, item)| (vec![name], item)).unzip();
        Self { items, table: Table { columns: vec![Column { head, figures: false }], rows } }
    }

    pub(crate) fn words(self, head: &'static str, text: impl Fn(&T) -> String) -> Self {
        self.column(Column { head, figures: false }, text)
    }

    pub(crate) fn figures(self, head: &'static str, text: impl Fn(&T) -> String) -> Self {
        self.column(Column { head, figures: true }, text)
    }

    fn column(mut self, column: Column, text: impl Fn(&T) -> String) -> Self {
        self.table.columns.push(column);
        for (row, item) in self.table.rows.iter_mut().zip(&self.items) {
            row.extend(item.as_ref().map(&text));
        }
        self
    }

    pub(crate) fn table(self) -> Table {
        self.table
    }
}

fn pick<T>(all: Vec<T>, kept: impl Fn(usize) -> bool) -> Vec<T> {
    all.into_iter().enumerate().filter(|(i, _)| kept(*i)).map(|(_, one)| one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_columns_are_left_out() {
        let row = |texts: &[&str]| texts.iter().map(|t| (*t).to_owned()).collect::<Vec<_>>();
        let rows = [("group", None), ("x", Some([NOTHING, "1"])), ("y", Some(["", "2"]))];
        let rows = rows.map(|(name, item)| (name.to_owned(), item)).into();
        let table =
            TableOf::named("a", rows).figures("b", |item| item[0].into()).figures("c", |item| item[1].into());
        let table = table.table().without_empty_columns();
        assert_eq!(table.columns.iter().map(|c| c.head).collect::<Vec<_>>(), ["a", "c"]);
        assert_eq!(table.rows, [row(&["group"]), row(&["x", "1"]), row(&["y", "2"])]);
        let empty = TableOf::<()>::named("a", Vec::new()).table();
        assert_eq!(empty.without_empty_columns().columns.len(), 1);
    }
}
