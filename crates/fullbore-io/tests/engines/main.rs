//! The conformance suite of the engines, on every available file system.

mod cases;
#[path = "../drivers/mod.rs"]
mod drivers;
mod faults;
mod transfers;
mod windows_rules;

use std::fs;
use std::path::Path;

use fullbore_io::buf::{ALIGNMENT, Pool};
use fullbore_io::engine::{self, Availability, CachePolicy, EngineConfig, IoQueue, METHODS, Method};
use fullbore_io::error::{Error, ErrorKind, Result};
use fullbore_io::fault::{Fault, Plan};
use fullbore_io::file::File;
use fullbore_testkit::ground::{bytes, everywhere, supported_or_skip, write_file};

/// Calls `test` on every file system for every transferring method and cache policy that works there.
fn each(test: impl Fn(&Path, &'static Method, CachePolicy) + Sync) {
    everywhere(|directory| each_in(directory, |method, cache| test(directory, method, cache)));
}

/// Calls `test` for every transferring method and cache policy that works in a directory; prints the reason for each combination
/// skipped.
fn each_in(directory: &Path, mut test: impl FnMut(&'static Method, CachePolicy)) {
    let path = write_file(directory, "probe", bytes(3 * ALIGNMENT, 1));
    let file = File::open_write(&path).unwrap();
    let mut tested = 0;
    for &method in METHODS.iter().filter(|method| method.capabilities.transfers && method.name != "null") {
        for cache in policies(method) {
            let what = format!("{} with cache={cache}", method.name);
            let works = engine::probe(method, &file, None, true, cache);
            let bypasses = cache != CachePolicy::Keep;
            let Some(()) = supported_or_skip(directory, bypasses, &what, works) else { continue };
            tested += 1;
            test(method, cache);
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

/// Writes `content` by a method, in requests of `request` bytes, `depth` of which are in flight if the method can.
fn write(
    method: &Method,
    cache: CachePolicy,
    file: &File,
    content: &[u8],
    (depth, request): (usize, usize),
) -> Result<()> {
    let depth = depth.min(method.capabilities.depth);
    let mut pool = Pool::new(depth, request).unwrap();
    let mut queue = queue(method, cache, file, true, depth, &pool, None)?;
    for (index, part) in content.chunks(request).enumerate() {
        let mut buf = loop {
            match pool.take() {
                Some(buf) => break buf,
                None => pool.put(queue.next()?.unwrap().buf),
            }
        };
        let offset = (index * request) as u64;
        buf.place(offset, part.len());
        buf.data_mut().copy_from_slice(part);
        queue.write(index as u64, offset, buf)?;
    }
    while queue.next()?.is_some() {}
    queue.flush()?;
    drop(queue);
    // Direct methods may have written a whole last block.
    if file.len()? != content.len() as u64 {
        file.set_len(content.len() as u64)?;
    }
    Ok(())
}

/// Reads the first `len` bytes by a method, in such requests.
fn read(
    method: &Method,
    cache: CachePolicy,
    file: &File,
    len: usize,
    (depth, request): (usize, usize),
) -> Result<Vec<u8>> {
    let depth = depth.min(method.capabilities.depth);
    let mut pool = Pool::new(depth, request).unwrap();
    let mut queue = queue(method, cache, file, false, depth, &pool, Some(len as u64))?;
    let (mut found, mut offset) = (vec![0; len], 0);
    while offset < len || queue.in_flight() > 0 {
        if offset < len
            && let Some(buf) = pool.take()
        {
            let part = request.min(len - offset);
            queue.read((offset / request) as u64, offset as u64, part, buf)?;
            offset += part;
        } else if let Some(done) = queue.next()? {
            assert_eq!(done.token * request as u64, done.offset);
            found[done.offset as usize..][..done.buf.len()].copy_from_slice(done.buf.data());
            pool.put(done.buf);
        }
    }
    // Requests of whole blocks move no bytes around them.
    assert!(!request.is_multiple_of(ALIGNMENT) || queue.stats().bytes == len as u64);
    Ok(found)
}
