//! Renders a results document as a report: `render_report results.json [report.html]`.

use std::error::Error;
use std::fs::File;
use std::io::{BufReader, BufWriter, Write};

use fullbore_bench::document::Document;
use fullbore_bench::{report, table};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args_os().skip(1);
    let input = arguments.next().ok_or("usage: render_report results.json [report.html]")?;
    let output = arguments.next().unwrap_or_else(|| "report.html".into());
    let document = Document::read(BufReader::new(File::open(&input)?))?;
    let mut file = BufWriter::new(File::create(&output)?);
    file.write_all(report::html(&document).as_bytes())?;
    file.flush()?;
    print!("{}", table::render(&document, table::TableOptions::default()));
    Ok(())
}
