//! Sets a results document in every form: `render_report results.json [directory]` writes `report.html`, `report.md`
//! and `charts/*.svg` into the directory (default: `.`) and prints the table of the terminal.

use std::error::Error;
use std::fs::{self, File};
use std::io::BufReader;
use std::path::PathBuf;

use fullbore_bench::document::Document;
use fullbore_bench::{report, table};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args_os().skip(1);
    let input = arguments.next().ok_or("usage: render_report results.json [directory]")?;
    let output = PathBuf::from(arguments.next().unwrap_or_else(|| ".".into()));
    let document = Document::read(BufReader::new(File::open(&input)?))?;
    fs::create_dir_all(output.join("charts"))?;
    fs::write(output.join("report.html"), report::html(&document))?;
    fs::write(output.join("report.md"), report::markdown(&document))?;
    for (name, svg) in report::charts(&document) {
        fs::write(output.join("charts").join(name + ".svg"), svg)?;
    }
    print!("{}", table::render(&document, table::TableOptions::default()));
    Ok(())
}
