//! The storage pipeline of a run: advertised and measured throughput of each stage from memory to the device, from the
//! cells and the facts of the storage (figure 1 of Riedel, van Ingen and Gray).

use fullbore::probe::{self, Device, Facts, Link, Machine};
use fullbore::size;
use serde::Deserialize;

use crate::document::{
    AccessMethod, CacheState, Cell, Environment, Labels, Operation, Order, Pipeline, Stage,
};
use crate::grouping::grouped;
use crate::simplicity::fastest_cell;

#[derive(Deserialize)]
struct Found {
    path: Facts,
    machine: Machine,
}

/// Returns the pipeline if at least two of its stages were measured. The measured throughput of a stage is that of the
/// fastest cell whose labels indicate bytes from the stage.
pub(crate) fn pipeline(cells: &[Cell], environment: &Environment) -> Option<Pipeline> {
    let found = Found::deserialize(&environment.facts).ok();
    let memory = Stage {
        what: found.as_ref().map_or_else(String::new, |found| memory(&found.machine)),
        advertised_by: "none: workers read memory or copy it to their caches".into(),
        ..stage("memory", cells, |labels| labels.method == AccessMethod::Memory)
    };
    let through = |labels: &Labels, cache| {
        plain_read(labels) && labels.cache == Some(cache) && !labels.bypasses_cache()
    };
    let page_cache = Stage {
        what: "a cached file, read by system calls".into(),
        advertised_by: "none: memory is the upper limit".into(),
        ..stage("page cache", cells, |labels| through(labels, CacheState::Warm))
    };
    let file_system = Stage {
        what: environment.file_system.kind.clone(),
        advertised_by: "none: the device is the upper limit, with or without read-ahead".into(),
        ..stage("file system", cells, |labels| through(labels, CacheState::Cold))
    };
    let device = stage("device", cells, |labels| {
        plain_read(labels) && labels.cache.is_none() && labels.bypasses_cache()
    });
    let mut stages = vec![memory, page_cache];
    let disks = found.as_ref().map(|found| probe::disks(&found.path.devices)).unwrap_or_default();
    // Without a device, the pipeline ends with the page cache.
    if !disks.is_empty() || device.real.is_some() {
        stages.push(file_system);
        stages.extend(link(&disks));
        let advertised_by = "not reported by the system: see the vendor's data sheet".into();
        stages.push(Stage { what: named(&disks), advertised_by, ..device });
    }
    (stages.iter().filter(|stage| stage.real.is_some()).count() >= 2).then_some(Pipeline { stages })
}

fn stage(name: &str, cells: &[Cell], of_it: impl Fn(&Labels) -> bool) -> Stage {
    let best = fastest_cell(cells.iter().filter(|cell| of_it(&cell.labels)));
    Stage {
        name: name.into(),
        what: String::new(),
        advertised: None,
        advertised_by: String::new(),
        real: best.map(|(_, summary)| summary.rate),
        cell: best.map(|(cell, _)| cell.id.clone()),
    }
}

/// True if a cell read one file sequentially, by this program, without restrictions.
fn plain_read(labels: &Labels) -> bool {
    labels.operation == Operation::Read
        && labels.order == Some(Order::Sequential)
        && labels.peer.is_none()
        && labels.memory_limit_bytes.is_none()
        && labels.load_per_s.is_none()
        && labels.variant.is_none()
        && labels.chunk_bytes.is_none()
        && labels.offset_bytes.unwrap_or(0) == 0
        && labels.streams.unwrap_or(1) == 1
        && labels.targets.unwrap_or(1) == 1
}

fn memory(machine: &Machine) -> String {
    let bytes = machine.memory_total.map_or_else(|| "memory".into(), size::human);
    match &machine.processor {
        Some(processor) => format!("{bytes}, {processor}"),
        None => bytes,
    }
}

fn link(disks: &[&Device]) -> Option<Stage> {
    let mut links: Vec<&Link> = Vec::new();
    for disk in disks {
        let link = disk.link.as_ref()?;
        // Disks of one adapter share its link. Documents of earlier builds do not name the port.
        if link.port.is_empty() || links.iter().all(|known| known.port != link.port) {
            links.push(link);
        }
    }
    let first = links.first()?;
    let what = match links.len() {
        1 => first.what.clone(),
        count if links.iter().all(|link| link.what == first.what) => format!("{count} × {}", first.what),
        _ => links.iter().map(|link| link.what.as_str()).collect::<Vec<_>>().join(", "),
    };
    Some(Stage {
        name: "link".into(),
        what,
        advertised: Some(links.iter().map(|link| link.rate as f64).sum()),
        advertised_by: "the negotiated link, minus its line code".into(),
        // The link has no figure of its own: its traffic is the device's.
        real: None,
        cell: None,
    })
}

fn named(disks: &[&Device]) -> String {
    let one = |disk: &&Device| {
        let model = disk.model.clone().unwrap_or_else(|| disk.name.clone());
        match &disk.transport {
            Some(transport) => format!("{model} ({transport})"),
            None => model,
        }
    };
    let names = grouped(disks.iter().map(|disk| (one(disk), ())));
    let described = names.into_iter().map(|(name, same)| match same.len() {
        1 => name,
        count => format!("{count} × {name}"),
    });
    described.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use fullbore_testkit::ground::build_directory;
    use serde_json::json;

    use super::*;
    use crate::document::Sample;

    fn cell(id: &str, labels: Labels, rate: u64) -> Cell {
        let sample = Sample { bytes: rate, seconds: 1.0, requests: 10, ..Sample::default() };
        Cell::measured(id, labels, vec![sample; 3])
    }

    fn read(cache: Option<CacheState>, policy: &str) -> Labels {
        Labels {
            order: Some("sequential".into()),
            cache,
            cache_policy: Some(policy.into()),
            ..Labels::of("read", "buffered")
        }
    }

    fn cells() -> Vec<Cell> {
        let copy = Labels::of("copy", "memory");
        let warm = || read(Some(CacheState::Warm), "keep");
        let random = Labels { order: Some("random".into()), ..read(None, "direct") };
        let limited = Labels { memory_limit_bytes: Some(1), ..warm() };
        vec![
            cell("memory", copy, 9000),
            cell("warm slow", warm(), 4000),
            cell("warm", warm(), 5000),
            cell("limited", limited, 8000),
            cell("cold", read(Some(CacheState::Cold), "keep"), 900),
            cell("direct", read(None, "direct"), 1000),
            cell("random", random, 7000),
            cell("peer", Labels { peer: Some("fio".into()), ..read(None, "direct") }, 7000),
        ]
    }

    fn environment(devices: Vec<Device>) -> Environment {
        let mut facts = fullbore::probe::facts(&build_directory()).unwrap();
        facts.devices = devices;
        let facts = json!({ "path": facts, "machine": fullbore::probe::machine() });
        let mut environment = Environment { facts, ..Environment::default() };
        environment.file_system.kind = "ext4".into();
        environment
    }

    fn disk(link: Option<(&str, u64)>) -> Device {
        let link = link.map(|(what, rate)| Link { what: what.into(), rate, best: None, port: String::new() });
        let text = json!({
            "name": "nvme0n1", "number": "259:0", "partition": null, "model": "Quick Disk", "serial": null,
            "transport": "nvme/pcie", "link": link, "composition": null, "size": null, "read_only": null,
            "queue": fullbore::probe::Queue::default(), "queue_depth": null, "hardware_queues": null,
            "numa_node": null, "backing_file": null, "backed_by": [], "backed_by_unknown": null,
        });
        serde_json::from_value(text).unwrap()
    }

    fn found(pipeline: &Pipeline) -> Vec<(&str, Option<&str>)> {
        pipeline.stages.iter().map(|stage| (stage.name.as_str(), stage.cell.as_deref())).collect()
    }

    #[test]
    fn each_stage_has_fastest_cell_and_advertised_rate() {
        let pipeline =
            pipeline(&cells(), &environment(vec![disk(Some(("PCIe 3.0 x4", 3_938_461_538)))])).unwrap();
        let truth = [
            ("memory", Some("memory")),
            ("page cache", Some("warm")),
            ("file system", Some("cold")),
            ("link", None),
            ("device", Some("direct")),
        ];
        assert_eq!(found(&pipeline), truth);
        let [memory, _, file_system, link, device] = &pipeline.stages[..] else { panic!("five stages") };
        assert!(!memory.what.is_empty() && memory.advertised.is_none());
        assert_eq!(file_system.what, "ext4");
        assert_eq!((link.what.as_str(), link.advertised), ("PCIe 3.0 x4", Some(3_938_461_538.0)));
        assert_eq!(device.what, "Quick Disk (nvme/pcie)");
        assert_eq!(device.real.unwrap().value, 1000.0);
    }

    #[test]
    fn a_stage_is_the_best_known_of_equal_cells() {
        let copy = || Labels::of("copy", "memory");
        let lucky = cell("lucky", copy(), 9200);
        let sample = Sample { bytes: 9000, seconds: 1.0, requests: 10, ..Sample::default() };
        let known = Cell::measured("known", copy(), vec![sample; 9]);
        let found = stage("memory", &[lucky, known], |labels| labels.method == AccessMethod::Memory);
        assert_eq!(found.cell.as_deref(), Some("known"));
    }

    #[test]
    fn links_of_several_disks_add_up_unless_one_is_unknown() {
        let numbered =
            |minor| Device { number: (8, minor).into(), ..disk(Some(("SATA 6.0 Gbps", 600_000_000))) };
        let raid = Device { backed_by: vec![numbered(0), numbered(16)], ..disk(None) };
        let of = |devices| pipeline(&cells(), &environment(devices)).unwrap();
        let both = of(vec![raid]);
        assert_eq!(
            (both.stages[3].what.as_str(), both.stages[3].advertised),
            ("2 × SATA 6.0 Gbps", Some(1.2e9))
        );
        assert_eq!(both.stages[4].what, "2 × Quick Disk (nvme/pcie)");
        let one = of(vec![numbered(0), disk(None)]);
        assert!(one.stages.iter().all(|stage| stage.name != "link"));
        // Both disks are behind one adapter.
        let on = |minor| {
            let mut disk = numbered(minor);
            disk.link.as_mut().unwrap().port = "/sys/devices/pci0000:00/0000:02:00.0".into();
            disk
        };
        assert_eq!(of(vec![on(0), on(16)]).stages[3].advertised, Some(6e8));
    }

    #[test]
    fn without_a_device_it_ends_with_the_page_cache_and_without_measurements_it_is_absent() {
        let warm: Vec<Cell> = cells().into_iter().take(3).collect();
        let memory = pipeline(&warm, &environment(Vec::new())).unwrap();
        assert_eq!(found(&memory), [("memory", Some("memory")), ("page cache", Some("warm"))]);
        assert_eq!(pipeline(&warm[..1], &environment(Vec::new())), None);
        assert_eq!(pipeline(&[], &Environment::default()), None);
        // An old document, whose facts have other fields.
        let old = Environment { facts: json!({ "path": 1 }), ..Environment::default() };
        assert!(pipeline(&cells(), &old).is_some());
    }
}
