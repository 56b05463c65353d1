//! What comparing wants otherwise than reading alone.

use super::choose::Alternative;
use super::{Model, Plan, StrategySpec};
use crate::engine::{self, CachePolicy, method};
use crate::file::File;
use crate::size;

/// From this share of the file in the page cache on, a mapping waits for nothing.
const CACHED: f64 = 0.98;
/// Shorter files are done before a mapping pays, in bytes.
const SMALL: u64 = 2 << 20;
/// How much one worker maps of a file at a time, in bytes: 8 MiB took 0.94 of the time of 4 MiB, 0.87 of that of 16 MiB in
/// stripes of 1 MiB, as long as that of 16 MiB in stripes as long (2 × 1 GB, two cores, kernel 6.18).
const WINDOW: u64 = 8 << 20;

impl Plan {
    /// Suits a plan for reading `file` to comparing it with another, or hashing or counting it. What is in the page cache is looked at where it lies: each
    /// byte is looked at once, so that the copy that reading makes of it is most of the work. What was specified stays.
    ///
    /// ```
    /// use fullbore::file::File;
    /// use fullbore::strategy::{StrategySpec, plan};
    /// let (file, spec) = (File::open("Cargo.toml")?, StrategySpec::default());
    /// let plan = plan(Some(&file), Some(file.len()?), None, &spec, None, None)?.for_comparing(&file, &spec);
    /// assert_eq!(plan.strategy.read.name, "buffered", "it is too small");
    /// # Ok::<(), fullbore::Error>(())
    /// ```
    #[must_use]
    pub fn for_comparing(mut self, file: &File, spec: &StrategySpec) -> Self {
        if self.strategy.model == Model::Striped {
            self.notes
                .push("model=pool in place of striped: the first difference is looked for in front".into());
            self.strategy.model = Model::Pool;
        }
        let Some(mmap) = method("mmap") else { return self };
        let measured = self.decision.evidence.iter().any(|line| line.starts_with("measured"));
        let specified = measured || spec.named.is_some() || spec.read.is_some() || spec.read_cache.is_some();
        let cached = self.plan_input.cached.unwrap_or(0.0);
        if specified
            || self.strategy.read.name != "buffered"
            || self.plan_input.len.is_none_or(|len| len < SMALL)
            || cached < CACHED
            || engine::probe(mmap, file, None, false, CachePolicy::Keep).is_err()
        {
            return self;
        }
        let strategy = &mut self.strategy;
        let request = strategy.request as u64;
        // Beside the window a worker has room for a request, whatever for.
        let room = (strategy.budget / strategy.workers.max(1) as u64).saturating_sub(request + (8 << 10));
        let window = (WINDOW.min(room) / request).max(1) * request;
        strategy.read = mmap;
        strategy.window = spec.window.unwrap_or(Some(window as usize));
        strategy.stripe = spec.stripe.unwrap_or(window);
        self.decision.alternatives.retain(|other| other.strategy != "mmap");
        // What was said for reading by calls does not hold any more.
        self.decision
            .evidence
            .retain(|line| !line.starts_with("buffered: ") && !line.starts_with("256 KiB: "));
        let share = format!("{:.0}%", cached * 100.0);
        self.decision.evidence.insert(
            0,
            format!(
                "mmap, {} at a time: {share} of the input is in the page cache, and is looked at where it lies",
                size::exact(window)
            ),
        );
        self.decision.alternatives.push(Alternative {
            strategy: "buffered".into(),
            reason: "copying the bytes costs more than mapping them: BLAKE3 took 1.2 times as long, comparing 1.5 times".into(),
        });
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::strategy::plan;

    #[test]
    fn what_is_cached_is_compared_where_it_lies_unless_told_otherwise() {
        let directory = tempfile::tempdir_in(".").unwrap();
        let path = directory.path().join("file");
        std::fs::write(&path, vec![1; 3 << 20]).unwrap();
        let file = File::open(path).unwrap();
        let planned = |spec: &str| {
            let spec: StrategySpec = spec.parse().unwrap();
            let plan = plan(Some(&file), Some(3 << 20), None, &spec, None, None).unwrap();
            let cached = plan.plan_input.cached.unwrap_or(0.0);
            (plan.for_comparing(&file, &spec).strategy, cached)
        };
        let (strategy, cached) = planned("auto");
        assert_eq!(strategy.read.name == "mmap", cached >= CACHED, "{cached}");
        assert!(strategy.memory() <= strategy.budget);
        assert_eq!(planned("method=buffered").0.read.name, "buffered");
        assert_eq!(planned("read-cache=direct").0.read.name, "direct");
        let narrow = planned("workers=4,model=striped,budget=8M").0;
        assert_eq!(narrow.model, Model::Pool);
        assert!(narrow.memory() <= 8 << 20, "{narrow}");
    }
}
