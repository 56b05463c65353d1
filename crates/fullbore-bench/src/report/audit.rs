//! The self-audit: the meter's own cost, and cells with warnings.

use super::markup::{Table, bullets, facts as pairs, figures, folded, words};
use crate::document::{Document, Proof, StopReason};
use crate::units;

/// The self-audit as label and value.
pub(super) fn facts(document: &Document) -> Vec<(String, String)> {
    let audit = &document.audit;
    let mut facts: Vec<(String, String)> = Vec::new();
    if let Some(null) = audit.null_request_s {
        let text = super::phrases::spanned(null, units::seconds);
        facts.push(("meter’s own cost per request (null engine)".into(), text));
    }
    facts.extend(audit.clock_s.map(|c| ("one clock reading".into(), units::seconds(c))));
    facts.push(("cells limited by the meter".into(), audit.tool_bound.len().to_string()));
    let samples = || document.cells.iter().flat_map(|c| &c.samples);
    let proofs = |state: &str| samples().filter(|s| proof_text(&s.proof) == state).count();
    let proved = format!(
        "{} confirmed, {} unproved, {} contradicted and excluded",
        proofs("confirmed"),
        proofs("unproved"),
        proofs("contradicted")
    );
    facts.push(("proof of cache state, samples".into(), proved));
    facts
}

/// The section of the self-audit.
pub(super) fn html(document: &Document) -> String {
    let mut html = String::from("<section id=\"quality\">\n<h2>Self-audit</h2>\n");
    html += &pairs(&facts(document));
    html += &bullets(document.audit.findings.iter().chain(&document.run.notes));
    for (title, note, table) in tables(document) {
        html += &folded(
            &format!("{title}: {}", table.rows.len()),
            &(note.to_owned() + &table.html(title)),
            false,
        );
    }
    html + "</section>\n"
}

/// Cells with warnings, and cells not measured.
fn tables(document: &Document) -> Vec<(&'static str, &'static str, Table)> {
    let names = document.cell_names();
    let mut flagged = Vec::new();
    let mut skipped: Vec<(String, String, usize)> = Vec::new();
    for cell in &document.cells {
        let name = names.get(&cell.id).unwrap_or(&cell.id);
        let Some(summary) = &cell.summary else {
            let reason = match &cell.skipped {
                Some(reason) => reason.clone(),
                None if cell.samples.is_empty() => "not reached in time".into(),
                None => "no usable sample".into(),
            };
            // A reason is listed once per experiment, with the number of cells.
            match skipped.iter_mut().find(|(e, r, _)| *e == cell.experiment && *r == reason) {
                Some((_, _, count)) => *count += 1,
                None => skipped.push((cell.experiment.clone(), reason, 1)),
            }
            continue;
        };
        // The last column reports that time was up.
        let flags = summary.flags.iter().filter(|f| !f.starts_with("time up"));
        let flags = flags.cloned().collect::<Vec<_>>().join("; ");
        if !flags.is_empty() || !summary.outliers.is_empty() {
            let outliers = summary.outliers.len().to_string();
            flagged.push(vec![name.clone(), flags, outliers, stop_word(summary.stop).into()]);
        }
    }
    let flagged =
        Table::new([words("cell"), words("warnings"), figures("outliers"), words("stopped")], flagged);
    let skipped = Table::new(
        [words("experiment"), figures("cells"), words("reason")],
        skipped.into_iter().map(|(e, r, n)| vec![e, n.to_string(), r]).collect(),
    );
    let described = "<p class=\"note\">Outliers are labelled and kept; they hardly affect the median.</p>\n";
    [("Cells with warnings", described, flagged), ("Cells not measured", "", skipped)]
        .into_iter()
        .filter(|(_, _, table)| !table.rows.is_empty())
        .collect()
}

fn proof_text(proof: &Proof) -> &'static str {
    match proof {
        Proof::Confirmed => "confirmed",
        Proof::Contradicted { .. } => "contradicted",
        Proof::Unproved { .. } => "unproved",
    }
}

fn stop_word(stop: StopReason) -> &'static str {
    match stop {
        StopReason::Precise => "precise",
        StopReason::TimeUp => "time up",
        StopReason::Interrupted => "interrupted",
    }
}
