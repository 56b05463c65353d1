//! Facts as human-readable text: labelled lines, at most 80 columns wide, without colour.

use crate::quote::printable;
use std::fmt::Write;

use super::device::{Device, DeviceNumber};
use super::direct::{Alignment, AlignmentSource};
use super::extents::{Layout, Provenance};
use super::facts::{EngineFact, Facts, FileFacts};
use super::machine::Machine;
use super::mounts::FileSystemFacts;
use super::residency::{Residency, ResidencySource};
use crate::sys::FileKind;

const WIDTH: usize = 80;

const LABEL: usize = 18;

/// Formats all facts of a path as text: labelled lines of at most 80 columns.
pub fn human(facts: &Facts) -> String {
    let mut text = Text::default();
    text.line("path", &facts.path);
    if let Some(target) = &facts.link_target {
        text.line("link to", target);
    }
    if let Some(resolved) = facts.resolved.as_ref().filter(|resolved| **resolved != facts.path) {
        text.line("resolved", resolved);
    }
    text.line("kind", &kind(facts.kind));
    if let Some(file) = &facts.file {
        file_lines(&mut text, file);
    }
    if let Some(file_system) = &facts.file_system {
        file_system_lines(&mut text, file_system);
    }
    let mut shown = Vec::new();
    for device in &facts.devices {
        device_lines(&mut text, device, "device", &mut shown);
    }
    direct_lines(&mut text, facts);
    engine_lines(&mut text, &facts.engines);
    if !facts.unknown.is_empty() {
        text.heading("unknown");
        for unknown in &facts.unknown {
            text.line(&unknown.fact.replace('_', " "), &unknown.reason);
        }
    }
    text.0
}

/// Formats the facts of the machine as text: labelled lines of at most 80 columns.
pub fn human_machine(machine: &Machine) -> String {
    let mut text = Text::default();
    text.maybe("kernel", machine.kernel.clone());
    text.line("architecture", &machine.architecture);
    text.maybe("processor", machine.processor.clone());
    let count = |label: &str, count: Option<u64>| count.map(|count| format!("{count} {label}"));
    let counts = joined([
        count("running", machine.logical_processors),
        count("allowed", machine.allowed_processors),
        machine.quota.map(|quota| format!("{} granted by {}", plain(quota), or_group(&machine.quota_source))),
    ]);
    text.line("processors", &format!("{} ({})", plain(machine.processors), counts.unwrap_or_default()));
    text.maybe("clock governor", machine.governor.clone());
    text.maybe(
        "memory",
        machine.memory_total.map(|total| match machine.memory_available {
            Some(available) => format!("{} ({} available)", size(total), size(available)),
            None => size(total),
        }),
    );
    text.maybe(
        "memory limit",
        machine
            .memory_limit
            .map(|limit| format!("{} set by {}", size(limit), or_group(&machine.memory_limit_source))),
    );
    text.line("lockable memory", &machine.lockable.map_or_else(|| "no limit".to_owned(), size));
    text.line("page size", &size(machine.page_size));
    text.maybe("virtualisation", machine.virtualisation.clone());
    let returned = || "returned to the host, slow at its next use".to_owned();
    text.maybe("free memory", machine.returns_free_memory.then(returned));
    text.0
}

fn or_group(source: &Option<String>) -> &str {
    source.as_deref().unwrap_or("a control group")
}

fn kind(kind: FileKind) -> String {
    match kind {
        FileKind::Fifo => "FIFO or pipe".to_owned(),
        FileKind::Other => "unknown kind".to_owned(),
        kind => kind.to_string(),
    }
}

fn file_lines(text: &mut Text, file: &FileFacts) {
    text.heading("file");
    text.line("size", &exact(file.size));
    text.line("allocated", &size(file.allocated));
    if let Some(provenance) = &file.provenance {
        text.line("never written", &provenance_line(provenance, file.residency.as_ref()));
    }
    if let Some(layout) = &file.layout {
        text.line("extents", &layout_line(layout));
        for (label, count) in
            [("inline", layout.inline), ("encoded", layout.encoded), ("shared", layout.shared)]
        {
            if count > 0 {
                text.line(label, &plural(count, "extent"));
            }
        }
        if layout.beyond_end > 0 {
            text.line("past the end", &format!("{} reserved", size(layout.beyond_end)));
        }
    }
    if let Some(residency) = &file.residency {
        text.line("page cache", &residency_line(residency));
    }
}

fn provenance_line(provenance: &Provenance, residency: Option<&Residency>) -> String {
    if provenance.size == 0 {
        return "nothing: the file is empty".to_owned();
    }
    let mut parts = Vec::new();
    if provenance.holes > 0 {
        parts.push(format!("{} in {}", size(provenance.hole_bytes), plural(provenance.holes, "hole")));
    }
    match provenance.unwritten {
        Some(0) => {}
        // Blocks stay reserved until their pages are on the device.
        Some(bytes) if residency.is_some_and(|found| found.dirty > Some(0) || found.writeback > Some(0)) => {
            parts.push(format!("{} reserved, or not yet on the device", size(bytes)));
        }
        Some(bytes) => parts.push(format!("{} reserved", size(bytes))),
        None => parts.push("reserved bytes unknown".to_owned()),
    }
    if parts.is_empty() {
        parts.push("nothing: no holes, no reserved bytes".to_owned());
    }
    if let Some(bytes) = provenance.delayed.filter(|bytes| *bytes > 0) {
        parts.push(format!("{} written but not yet placed", size(bytes)));
    }
    parts.join(", ")
}

fn layout_line(layout: &Layout) -> String {
    let mean =
        layout.mean_extent.map_or_else(String::new, |mean| format!(", {} each on average", size(mean)));
    let breaks = match layout.discontiguous {
        0 if layout.extents > 1 => ", all contiguous".to_owned(),
        0 => String::new(),
        1 => ", 1 discontinuity".to_owned(),
        count => format!(", {count} discontinuities"),
    };
    format!("{}{mean}{breaks}", layout.extents)
}

fn residency_line(residency: &Residency) -> String {
    let Some(share) = residency.share() else { return "no pages".to_owned() };
    let mut line = format!("{} cached ({:.1}%)", size(residency.cached), share * 100.0);
    for (label, bytes) in
        [("dirty", residency.dirty), ("under writeback", residency.writeback), ("evicted", residency.evicted)]
    {
        if let Some(bytes) = bytes {
            let _ = write!(line, ", {} {label}", size(bytes));
        }
    }
    if residency.source == ResidencySource::Mincore {
        line.push_str(" (from mincore: dirty and writeback unknown)");
    }
    line
}

fn file_system_lines(text: &mut Text, found: &FileSystemFacts) {
    text.heading("file system");
    let nature = match (found.in_memory, found.network) {
        (true, _) => " (memory)",
        (false, Some(true)) => " (network)",
        (false, None) => " (FUSE; possibly network)",
        (false, Some(false)) => "",
    };
    text.line("type", &format!("{}{nature}", found.kind));
    text.line("mounted on", &found.mount_point);
    if found.root != "/" {
        text.line("mounted part", &found.root);
    }
    text.line("source", &found.source);
    text.line("mount options", &found.mount_options.join(", "));
    text.line("system options", &found.super_options.join(", "));
    let share = if found.total > 0 { found.available as f64 / found.total as f64 * 100.0 } else { 0.0 };
    text.line(
        "capacity",
        &format!(
            "{}, {} free, {} available ({share:.0}%)",
            size(found.total),
            size(found.free),
            size(found.available)
        ),
    );
    text.line("block", &size(found.block_size));
    text.maybe("id", found.id.clone());
}

fn device_lines(text: &mut Text, device: &Device, what: &str, shown: &mut Vec<DeviceNumber>) {
    let known = shown.contains(&device.number);
    if known && device.partition.is_none() {
        return;
    }
    text.heading(&format!("{what} {}{}", device.name, if known { " (as above)" } else { "" }));
    text.line("number", &device.number.to_string());
    if let Some(partition) = &device.partition {
        let length = partition.size.map_or_else(String::new, |bytes| format!(", {}", size(bytes)));
        let start = partition.start.map_or_else(String::new, |bytes| format!(", starts at {bytes}"));
        text.line("partition", &format!("{} ({}){length}{start}", partition.name, partition.number));
    }
    if known {
        return;
    }
    shown.push(device.number);
    text.maybe("model", device.model.clone());
    text.maybe("serial", device.serial.clone());
    text.maybe("transport", device.transport.clone());
    text.maybe(
        "link",
        device.link.as_ref().map(|link| {
            let best =
                link.best.as_ref().map_or_else(String::new, |best| format!("; the device supports {best}"));
            format!("{}, {} nominal{best}", link.what, crate::size::rate(link.rate as f64))
        }),
    );
    text.maybe("composition", device.composition.clone());
    text.maybe("size", device.size.map(size));
    if device.read_only == Some(true) {
        text.line("read only", "yes");
    }
    let queue = &device.queue;
    text.maybe(
        "rotational",
        queue.rotational.map(|yes| if yes { "yes (reported)" } else { "no" }.to_owned()),
    );
    text.maybe("scheduler", queue.scheduler.clone());
    text.maybe("read-ahead", queue.read_ahead.map(size));
    text.maybe(
        "largest request",
        queue.max_request.map(|most| match queue.max_hardware_request {
            Some(hardware) => format!("{} (hardware: {})", size(most), size(hardware)),
            None => size(most),
        }),
    );
    let depths = [
        queue.requests.map(|count| plural(count, "request")),
        device.queue_depth.map(|count| format!("{count} at once on the device")),
        device.hardware_queues.map(|count| plural(count, "hardware queue")),
    ];
    text.maybe("queue", joined(depths));
    let blocks = [
        queue.logical_block.map(|bytes| format!("{bytes} logical")),
        queue.physical_block.map(|bytes| format!("{bytes} physical")),
        queue.minimum_io.map(|bytes| format!("{} minimum", size(bytes))),
        queue.optimal_io.map(|bytes| format!("{} optimal", size(bytes))),
    ];
    text.maybe("blocks", joined(blocks));
    text.maybe(
        "write cache",
        queue.write_cache.as_ref().map(|mode| match queue.forced_unit_access {
            Some(true) => format!("{mode}, forced unit access"),
            Some(false) => format!("{mode}, no forced unit access"),
            None => mode.clone(),
        }),
    );
    text.maybe(
        "discard",
        queue.discard.map(|can| match (can, queue.discard_granularity) {
            (true, Some(unit)) => format!("yes, in units of {}", size(unit)),
            (true, None) => "yes".to_owned(),
            (false, _) => "no".to_owned(),
        }),
    );
    text.maybe("zoned", queue.zoned.clone().filter(|model| model != "none"));
    text.maybe("NUMA node", device.numa_node.map(|node| node.to_string()));
    text.maybe("backing file", device.backing_file.clone());
    text.maybe("backed by", device.backed_by_unknown.as_ref().map(|why| format!("unknown: {why}")));
    if !device.backed_by.is_empty() {
        let names: Vec<_> = device.backed_by.iter().map(|under| under.name.as_str()).collect();
        text.line("backed by", &names.join(", "));
        for under in &device.backed_by {
            device_lines(text, under, "underlying device", shown);
        }
    }
}

fn direct_lines(text: &mut Text, facts: &Facts) {
    text.heading("direct I/O");
    let direct = &facts.direct;
    match (&direct.alignment, direct.works) {
        (Some(alignment), _) => alignment_lines(text, alignment),
        (None, Some(_)) => text.line("works", "no"),
        (None, None) => text.line("works", "unknown"),
    }
    text.maybe("reason", direct.reason.clone());
}

fn alignment_lines(text: &mut Text, alignment: &Alignment) {
    text.line("works", "yes");
    let reads = alignment
        .read_offset
        .filter(|bytes| *bytes != alignment.offset)
        .map_or_else(String::new, |bytes| format!(", {bytes} B for reads"));
    text.line("alignment", &format!("memory {} B, offset {} B{reads}", alignment.memory, alignment.offset));
    text.line(
        "determined by",
        match alignment.source {
            AlignmentSource::Statx => crate::sys::ALIGNMENT_CALL,
            AlignmentSource::Geometry => "IOCTL_DISK_GET_DRIVE_GEOMETRY_EX",
            AlignmentSource::Tried => "trial reads",
            AlignmentSource::Assumed => "assumption: one block, which is safe",
        },
    );
    text.maybe(
        "direct writes",
        alignment
            .writes_cached
            .map(|cached| if cached { "go through the page cache" } else { "go to the device" }.to_owned()),
    );
}

fn engine_lines(text: &mut Text, engines: &[EngineFact]) {
    if engines.is_empty() {
        return;
    }
    text.heading("access methods");
    for engine in engines {
        let mut line = match (&engine.reason, engine.works) {
            (_, true) => format!("works: {}", engine.summary),
            (Some(reason), false) => format!("no: {reason}"),
            (None, false) => "no".to_owned(),
        };
        if let Some(note) = &engine.note {
            let _ = write!(line, "; {note}");
        }
        text.line(&engine.name, &line);
    }
}

fn joined<const N: usize>(texts: [Option<String>; N]) -> Option<String> {
    let texts: Vec<_> = texts.into_iter().flatten().collect();
    (!texts.is_empty()).then(|| texts.join(", "))
}

/// Lines under construction.
#[derive(Default)]
struct Text(String);

impl Text {
    fn heading(&mut self, heading: &str) {
        if !self.0.is_empty() {
            self.0.push('\n');
        }
        self.0.push_str(heading);
        self.0.push('\n');
    }

    fn maybe(&mut self, label: &str, value: Option<String>) {
        if let Some(value) = value {
            self.line(label, &value);
        }
    }

    /// Adds a label and its value; a long value continues on the lines below.
    fn line(&mut self, label: &str, value: &str) {
        let mut line = format!("  {label:<width$}", width = LABEL - 2);
        if !line.ends_with(' ') {
            line.push(' ');
        }
        let mut fresh = true;
        for word in printable(value).replace(['\n', '\t'], " ").split(' ').flat_map(pieces) {
            if !fresh && line.chars().count() + 1 + word.chars().count() > WIDTH {
                self.0.push_str(line.trim_end());
                self.0.push('\n');
                line = " ".repeat(LABEL);
                fresh = true;
            }
            if !fresh {
                line.push(' ');
            }
            line.push_str(&word);
            fresh = false;
        }
        self.0.push_str(line.trim_end());
        self.0.push('\n');
    }
}

fn pieces(word: &str) -> Vec<String> {
    let characters: Vec<char> = word.chars().collect();
    if characters.is_empty() {
        return vec![String::new()];
    }
    characters.chunks(WIDTH - LABEL).map(|piece| piece.iter().collect()).collect()
}

fn plural(count: u64, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

/// Formats with at most two decimals, without trailing zeros.
fn plain(value: f64) -> String {
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Formats bytes in the largest binary unit in which the value is at least one.
fn size(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut value = bytes as f64 / 1024.0;
    let mut unit = 0;
    while value >= 1023.995 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{} {}", plain(value), UNITS[unit])
}

/// Like [`size`], followed by the exact number of bytes if it differs.
fn exact(bytes: u64) -> String {
    if bytes < 1024 { size(bytes) } else { format!("{bytes} B ({})", size(bytes)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fullbore_testkit::ground::build_directory;

    #[test]
    fn sizes_read_well() {
        for (bytes, text) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1 KiB"),
            (1536, "1.5 KiB"),
            (1 << 20, "1 MiB"),
            ((1 << 20) - 1, "1 MiB"),
            (u64::MAX, "16 EiB"),
        ] {
            assert_eq!(size(bytes), text);
        }
    }

    #[test]
    fn long_values_continue_below_without_loss() {
        let mut text = Text::default();
        let value = format!("{} {}", "word ".repeat(40).trim_end(), "x".repeat(200));
        text.line("label", &value);
        assert!(text.0.lines().all(|line| line.chars().count() <= WIDTH), "{}", text.0);
        assert!(text.0.lines().skip(1).all(|line| line.starts_with(&" ".repeat(LABEL))));
        assert_eq!(text.0.matches("word").count(), 40);
        assert_eq!(text.0.matches('x').count(), 200);
        let mut text = Text::default();
        text.line("path", "a\n\x1b[31mb");
        assert_eq!(text.0.lines().count(), 1);
        assert!(!text.0.contains('\x1b'));
    }

    #[test]
    fn facts_fit_the_screen_and_show_added_entries() {
        let mut facts = super::super::facts(&build_directory()).unwrap();
        facts.engines.push(EngineFact {
            name: "uring".to_owned(),
            summary: "io_uring".to_owned(),
            works: false,
            reason: Some("forbidden by a filter".to_owned()),
            note: None,
        });
        facts.unknown.push(super::super::Unknown { fact: "warranty".into(), reason: "no record".into() });
        let text = human(&facts);
        assert!(text.contains("no record"));
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
        assert!(["directory", "uring", "forbidden by a filter"].iter().all(|word| text.contains(word)));
        let machine = human_machine(&super::super::machine());
        assert!(machine.contains("processors") && machine.lines().all(|line| line.chars().count() <= WIDTH));
    }
}
