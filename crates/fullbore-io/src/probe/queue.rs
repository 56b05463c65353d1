//! Settings of a device's request queue, `/sys/block/*/queue`.

/// Settings of the kernel's request queue for one device. `None` means that the system does not report the setting.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Queue {
    /// True if the device reports that it is rotational. Virtual disks often report so wrongly.
    pub rotational: Option<bool>,
    /// The request scheduler in use; `none` is one of them.
    pub scheduler: Option<String>,
    /// Maximum read-ahead in bytes.
    pub read_ahead: Option<u64>,
    /// Maximum size of a request that the kernel sends, in bytes.
    pub max_request: Option<u64>,
    /// Maximum size of a request that the hardware accepts, in bytes.
    pub max_hardware_request: Option<u64>,
    /// Maximum number of requests that the kernel queues (multi-queue devices: per hardware queue).
    pub requests: Option<u64>,
    /// Smallest addressable unit of the device in bytes.
    pub logical_block: Option<u64>,
    /// Smallest unit that the device can write without reading first, in bytes.
    pub physical_block: Option<u64>,
    /// Preferred minimum request of the device in bytes.
    pub minimum_io: Option<u64>,
    /// Preferred request of the device for sustained transfer, in bytes; `None` also if it reports none.
    pub optimal_io: Option<u64>,
    /// `write back` (the device has a cache that must be flushed) or `write through`.
    pub write_cache: Option<String>,
    /// True if single writes can be forced past the device's cache (FUA).
    pub forced_unit_access: Option<bool>,
    /// True if blocks can be discarded (trimmed).
    pub discard: Option<bool>,
    /// Unit of discarding in bytes.
    pub discard_granularity: Option<u64>,
    /// True if pages under writeback must not change (checksums on the path to the device).
    pub stable_writes: Option<bool>,
    /// `none`, or the model of a zoned device.
    pub zoned: Option<String>,
    /// Latency target in microseconds: the kernel throttles buffered writeback so that reads stay below it; 0 is off.
    pub write_back_latency: Option<u64>,
}

impl Queue {
    /// Reads the settings; `setting` returns the text of the file with the given name.
    pub(crate) fn read(setting: impl Fn(&str) -> Option<String>) -> Self {
        let number = |name: &str| setting(name)?.trim().parse::<u64>().ok();
        let kibibytes = |name: &str| number(name)?.checked_mul(1024);
        let flag = |name: &str| number(name).map(|value| value != 0);
        let positive = |name: &str| number(name).filter(|value| *value > 0);
        Self {
            rotational: flag("rotational"),
            scheduler: setting("scheduler").and_then(|text| chosen(&text)),
            read_ahead: kibibytes("read_ahead_kb"),
            max_request: kibibytes("max_sectors_kb"),
            max_hardware_request: kibibytes("max_hw_sectors_kb"),
            requests: number("nr_requests"),
            logical_block: positive("logical_block_size"),
            physical_block: positive("physical_block_size"),
            minimum_io: positive("minimum_io_size"),
            optimal_io: positive("optimal_io_size"),
            write_cache: setting("write_cache"),
            forced_unit_access: flag("fua"),
            discard: flag("discard_max_bytes"),
            discard_granularity: positive("discard_granularity"),
            stable_writes: flag("stable_writes"),
            zoned: setting("zoned"),
            write_back_latency: number("wbt_lat_usec"),
        }
    }
}

/// Returns the entry in brackets of a list of choices, or the only entry.
fn chosen(choices: &str) -> Option<String> {
    let mut words = choices.split_whitespace();
    let bracketed =
        words.clone().find_map(|word| word.strip_prefix('[')?.strip_suffix(']').map(str::to_owned));
    bracketed.or_else(|| {
        let only = words.next()?;
        words.next().is_none().then(|| only.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fixture(name: &str) -> Option<String> {
        let text = match name {
            "rotational" => "0",
            "scheduler" => "none mq-deadline [kyber] bfq",
            "read_ahead_kb" => "128",
            "max_sectors_kb" => "1280",
            "max_hw_sectors_kb" => "2147483647",
            "nr_requests" => "1023",
            "logical_block_size" => "512",
            "physical_block_size" => "4096",
            "optimal_io_size" => "0",
            "write_cache" => "write back",
            "fua" => "1",
            "discard_max_bytes" => "0",
            "minimum_io_size" => "many",
            _ => return None,
        };
        Some(text.to_owned())
    }

    #[test]
    fn settings_are_in_bytes_and_unknown_if_absent_or_malformed() {
        let queue = Queue::read(fixture);
        assert_eq!(queue.rotational, Some(false));
        assert_eq!(queue.scheduler.as_deref(), Some("kyber"));
        assert_eq!(queue.read_ahead, Some(128 << 10));
        assert_eq!(queue.max_request, Some(1280 << 10));
        assert_eq!(queue.max_hardware_request, Some(2_147_483_647 * 1024));
        assert_eq!(queue.requests, Some(1023));
        assert_eq!(queue.physical_block, Some(4096));
        assert_eq!(queue.optimal_io, None);
        assert_eq!(queue.write_cache.as_deref(), Some("write back"));
        assert_eq!(queue.forced_unit_access, Some(true));
        assert_eq!(queue.discard, Some(false));
        assert_eq!(queue.minimum_io, None);
        assert_eq!(queue.zoned, None);
    }

    #[test]
    fn the_scheduler_is_the_one_in_brackets_or_alone() {
        assert_eq!(chosen("[none] mq-deadline").as_deref(), Some("none"));
        assert_eq!(chosen("none").as_deref(), Some("none"));
        assert_eq!(chosen("a b"), None);
        assert_eq!(chosen(""), None);
    }
}
