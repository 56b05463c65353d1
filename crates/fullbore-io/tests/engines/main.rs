//! The conformance suite of the engines, on every available file system.

mod transfers;
mod windows_rules;

use std::fs;
use std::path::Path;

use fullbore_io::buf::{ALIGNMENT, Pool};
use fullbore_io::engine::{self, Availability, CachePolicy, EngineConfig, IoQueue, METHODS, Method};
use fullbore_io::error::{Error, Result};
use fullbore_io::file::File;
use fullbore_testkit::ground::{bytes, everywhere};

/// Calls `test` on every file system for every transferring method and cache policy that works there.
fn each(test: impl Fn(&Path, &'static Method, CachePolicy) + Sync) {
    everywhere(|directory| each_in(directory, |method, cache| test(directory, method, cache)));
}

/// Calls `test` for every transferring method and cache policy that works in a directory; prints the reason for each combination
/// skipped.
fn each_in(directory: &Path, mut test: impl FnMut(&'static Method, CachePolicy)) {
    let path = directory.join("probe");
    fs::write(&path, bytes(3 * ALIGNMENT, 1)).unwrap();
    let file = File::open_write(&path).unwrap();
    let mut tested = 0;
    for &method in METHODS.iter().filter(|method| method.capabilities.transfers && method.name != "null") {
        for cache in policies(method) {
            match engine::probe(method, &file, None, true, cache) {
                Ok(()) => {
                    tested += 1;
                    test(method, cache);
                }
                Err(unsupported) => {
                    let (name, path) = (method.name, path.display());
                    println!("skipped: {name} with cache={cache} in {path}: {unsupported}");
                }
            }
        }
    }
    assert!(tested >= 3, "only {tested} methods work in {}", directory.display());
    fs::remove_file(&path).unwrap();
}

fn policies(method: &Method) -> Vec<CachePolicy> {
    let capabilities = &method.capabilities;
    let mut policies = Vec::new();
    if capabilities.direct != Availability::Always && capabilities.drops != Availability::Always {
        policies.push(CachePolicy::Keep);
    }
    if capabilities.direct != Availability::Never {
        policies.push(CachePolicy::Direct);
    }
    if capabilities.drops != Availability::Never {
        policies.push(CachePolicy::DontCache);
    }
    policies
}

fn queue(
    method: &Method,
    cache: CachePolicy,
    file: &File,
    write: bool,
    depth: usize,
    pool: &Pool,
    limit: Option<u64>,
) -> Result<IoQueue> {
    let config = EngineConfig {
        write,
        cache,
        depth,
        pool: Some(pool),
        window: Some(5 * ALIGNMENT),
        ..EngineConfig::reading(file)
    };
    IoQueue::open(method, &config, limit).map_err(|error| Error::io("open", file.path(), error))
}
