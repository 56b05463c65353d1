//! A mapped block is the page cache, which others can change while an operation reads it. Operations that did not agree to that
//! receive buffers, whatever the strategy.
// Wine does not show the changes of a file in its mappings.
#![cfg(unix)]

use std::fmt;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use fullbore::Job;
use fullbore::error::ErrorKind;
use fullbore::file::File;
use fullbore::operation::{BlockMemory, Fold, Part, Search, Split, Transform};

/// Writes to the beginning of each block in the file, and counts the blocks whose bytes change.
struct Overwriting {
    file: File,
    memory: BlockMemory,
    changed: AtomicU64,
}

impl Overwriting {
    fn overwrite(&self, offset: u64, bytes: &[u8]) {
        self.file.write_all_at(b"X", offset).unwrap();
        let changed = std::hint::black_box(bytes)[0] == b'X';
        self.changed.fetch_add(u64::from(changed), Ordering::Relaxed);
    }
}

impl Fold for Overwriting {
    type State = ();

    fn memory(&self) -> BlockMemory {
        self.memory
    }

    fn identity(&self) {}

    fn block(&self, (): &mut (), offset: u64, bytes: &[u8]) {
        self.overwrite(offset, bytes);
    }

    fn merge(&self, (): &mut (), (): ()) {}
}

impl Search for Overwriting {
    type Found = ();

    fn memory(&self) -> BlockMemory {
        self.memory
    }

    fn search(&self, part: &Part<'_>) {
        self.overwrite(part.offset, part.bytes);
    }
}

impl fmt::Display for Overwriting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("overwriting")
    }
}

impl Transform for Overwriting {
    fn memory(&self) -> BlockMemory {
        self.memory
    }

    fn split(&self) -> Split {
        Split::Any
    }

    fn apply(&self, offset: u64, source: &[u8], target: &mut [u8]) {
        target.copy_from_slice(source);
        self.overwrite(offset, source);
    }

    fn apply_in_place(&self, offset: u64, data: &mut [u8]) {
        self.overwrite(offset, data);
    }
}

/// Runs an operation over a file of many blocks; returns the number of blocks that changed.
fn changed(
    memory: BlockMemory,
    strategy: &str,
    run: impl Fn(&Job, &Overwriting, &Path) -> fullbore::Result<()>,
) -> u64 {
    let (_directory, path) = fullbore_testkit::ground::temporary_file(b"a line of text\n".repeat(100_000));
    let operation = Overwriting { file: File::open_write(&path).unwrap(), memory, changed: 0.into() };
    let error = run(&Job::new().strategy(strategy).unwrap(), &operation, &path).unwrap_err();
    // The run sees at its end that the file was modified.
    assert_eq!(error.kind(), ErrorKind::Changed, "{error}");
    operation.changed.into_inner()
}

#[test]
fn blocks_are_mapped_only_for_operations_that_agree() {
    // SAFETY: the operation is right for any bytes.
    let mapping = unsafe { BlockMemory::mapping() };
    type Run = fn(&Job, &Overwriting, &Path) -> fullbore::Result<()>;
    let runs: [(&str, Run); 3] = [
        ("fold", |job, operation, path| job.fold(operation, path).map(drop)),
        ("search", |job, operation, path| {
            job.search(operation, path, |()| Ok(ControlFlow::Continue(()))).map(drop)
        }),
        ("transform", |job, operation, path| {
            job.transform(operation, path, path.with_extension("out")).map(drop)
        }),
    ];
    for (name, run) in runs {
        for strategy in
            ["method=mmap,request=64K", "method=mmap,request=64K,workers=2", "read=mmap,request=64K"]
        {
            assert_eq!(changed(BlockMemory::BUFFER, strategy, run), 0, "{name} by {strategy}");
            assert!(changed(mapping, strategy, run) > 5, "{name} by {strategy}");
        }
        assert_eq!(changed(mapping, "method=buffered,request=64K", run), 0, "{name}");
    }
}
