//! Offsets and lengths: a file under each cache policy is compared with bytes in memory, through every call that takes
//! an offset. Near 2^63 and 2^64, beyond the length of any file, each call returns and none panics.
#![no_main]
#![forbid(unsafe_code)]

use std::io::{IoSlice, IoSliceMut};
use std::path::Path;

use arbitrary::{Arbitrary, Unstructured};
use fullbore::error::ErrorKind;
use fullbore::file::{CachePolicy, File};
use libfuzzer_sys::fuzz_target;

/// End of the model: larger offsets and lengths stand for impossible files.
const END: usize = 1 << 17;

/// An offset or a length: mostly near blocks of the model, sometimes absurd.
#[derive(Debug, Clone, Copy)]
enum Number {
    Within(usize),
    Absurd(u64),
}

impl<'a> Arbitrary<'a> for Number {
    fn arbitrary(input: &mut Unstructured<'a>) -> arbitrary::Result<Self> {
        let near = |base: u64, shift: i8| base.wrapping_add_signed(shift.into());
        Ok(match input.int_in_range(0..=9)? {
            0..=3 => Self::Within(input.int_in_range(0..=END)?),
            4..=6 => {
                Self::Within(near(4096 * input.int_in_range(0..=32)?, input.arbitrary()?) as usize % END)
            }
            7 => Self::Within(input.int_in_range(0..=600)?),
            8 => Self::Absurd(near(1 << 63, input.arbitrary()?)),
            _ => Self::Absurd(near(0, -input.int_in_range(1..=127)?)),
        })
    }
}

impl Number {
    fn value(self) -> u64 {
        match self {
            Self::Within(value) => value as u64,
            Self::Absurd(value) => value,
        }
    }
}

#[derive(Debug, Arbitrary)]
enum Step {
    Read { at: Number, len: Number },
    Write { at: Number, len: Number, value: u8 },
    ReadVectored { at: Number, lens: Vec<u16> },
    WriteVectored { at: Number, lens: Vec<u16>, value: u8 },
    Punch { from: Number, to: Number },
    Zero { from: Number, to: Number },
    Allocate { from: Number, to: Number },
    SetLen { len: Number },
    CopyWithin { from: Number, to: Number, at: Number },
    CopyOut { from: Number, to: Number, at: Number },
    CopyIn { from: Number, to: Number, at: Number },
    Clone { from: Number, to: Number, at: Number },
    Map { from: Number, to: Number },
    Change { from: Number, to: Number, value: u8 },
    Seek { at: Number },
}

#[derive(Debug, Arbitrary)]
struct Script {
    cache: u8,
    steps: Vec<Step>,
}

/// A file and its expected content.
struct Pair {
    file: File,
    model: Vec<u8>,
}

/// Returns bytes that identify their position.
fn bytes(len: usize, value: u8) -> Vec<u8> {
    (0..len).map(|place| value.wrapping_add((place % 251) as u8)).collect()
}

/// Returns `from..to` if the model has such a range.
fn within(from: Number, to: Number) -> Option<std::ops::Range<usize>> {
    match (from, to) {
        (Number::Within(from), Number::Within(to)) if from <= to => Some(from..to),
        _ => None,
    }
}

impl Pair {
    fn new(directory: &Path, name: &str, cache: CachePolicy) -> Self {
        let file = File::create_new(directory.join(name)).expect("a new file");
        Self { file: file.with_cache(cache).0, model: Vec::new() }
    }

    /// Writes `data` at `at` of the model, with the semantics of a write.
    fn put(&mut self, at: usize, data: &[u8]) {
        if data.is_empty() {
            return;
        }
        self.model.resize(self.model.len().max(at + data.len()), 0);
        self.model[at..at + data.len()].copy_from_slice(data);
    }

    fn check(&self, what: &dyn std::fmt::Debug) {
        let len = self.file.stamp().expect("a length").len;
        assert_eq!(len, self.model.len() as u64, "the length after {what:?}");
        let mut read = vec![0xaa; self.model.len()];
        self.file.read_exact_at(&mut read, 0).expect("the whole file");
        if let Some(place) = (0..read.len()).find(|&place| read[place] != self.model[place]) {
            panic!("byte {place} is {} and not {} after {what:?}", read[place], self.model[place]);
        }
    }

    fn read(&self, at: Number, len: Number) {
        let len = (len.value() % (END as u64 + 1)) as usize;
        let mut data = vec![0x55; len];
        let result = self.file.read_exact_at(&mut data, at.value());
        let there = match at {
            Number::Within(at) => self.model.get(at..at + len),
            Number::Absurd(_) if len == 0 => Some(&[][..]),
            Number::Absurd(_) => None,
        };
        match (result, there) {
            (Ok(()), Some(there)) => assert!(data == there, "{len} bytes at {at:?}"),
            (Ok(()), None) => assert_eq!(len, 0, "read past the end at {at:?}"),
            (Err(error), Some(_)) => panic!("{error}"),
            (Err(error), None) => {
                assert!(matches!(error.kind(), ErrorKind::Changed | ErrorKind::Io), "{error}");
            }
        }
    }

    fn write(&mut self, at: Number, data: &[u8]) {
        match (at, self.file.write_all_at(data, at.value())) {
            (Number::Within(at), result) => {
                result.unwrap_or_else(|error| panic!("{error}"));
                self.put(at, data);
            }
            (Number::Absurd(_), result) => assert!(result.is_err() || data.is_empty()),
        }
    }

    fn read_vectored(&self, at: Number, lens: &[usize]) {
        let mut parts: Vec<Vec<u8>> = lens.iter().map(|&len| vec![0x55; len]).collect();
        let mut slices: Vec<IoSliceMut<'_>> = parts.iter_mut().map(|part| IoSliceMut::new(part)).collect();
        let result = self.file.read_exact_vectored_at(&mut slices, at.value());
        let len: usize = lens.iter().sum();
        let there = match at {
            Number::Within(at) => self.model.get(at..at + len),
            Number::Absurd(_) => None,
        };
        match there {
            Some(there) => {
                result.unwrap_or_else(|error| panic!("{error}"));
                assert!(parts.concat() == there, "{lens:?} at {at:?}");
            }
            None => assert!(result.is_err() || len == 0, "read past the end: {lens:?} at {at:?}"),
        }
    }

    fn write_vectored(&mut self, at: Number, parts: &[Vec<u8>]) {
        let slices: Vec<IoSlice<'_>> = parts.iter().map(|part| IoSlice::new(part)).collect();
        match (at, self.file.write_all_vectored_at(&slices, at.value())) {
            (Number::Within(at), result) => {
                result.unwrap_or_else(|error| panic!("{error}"));
                self.put(at, &parts.concat());
            }
            (Number::Absurd(_), result) => assert!(result.is_err() || parts.concat().is_empty()),
        }
    }

    /// Checks a call that writes zeros to `from..to`, and zeros that range of the model where it exists.
    fn zeroed(&mut self, from: Number, to: Number, result: fullbore::Result<()>) {
        let end = self.model.len() as u64;
        match result {
            Ok(()) => {
                assert!(from.value() <= to.value(), "{from:?} to {to:?} is not a range");
                self.model[from.value().min(end) as usize..to.value().min(end) as usize].fill(0);
            }
            Err(error) => {
                let refused = error.kind() == ErrorKind::Unsupported || within(from, to).is_none();
                assert!(refused, "{from:?} to {to:?}: {error}");
            }
        }
    }

    fn set_len(&mut self, len: Number) {
        match (len, self.file.set_len(len.value())) {
            (Number::Within(len), result) => {
                result.unwrap_or_else(|error| panic!("{error}"));
                self.model.resize(len, 0);
            }
            // The file system supports such a length: restore the length of the model.
            (_, Ok(())) => self.file.set_len(self.model.len() as u64).expect("shorter again"),
            (_, Err(_)) => {}
        }
    }

    fn map(&mut self, from: Number, to: Number, value: Option<u8>) {
        let (range, there) = (from.value()..to.value(), within(from, to));
        let there = there.filter(|there| there.end <= self.model.len());
        match (value, there) {
            (None, Some(there)) => {
                let window = self.file.map(range).unwrap_or_else(|error| panic!("{error}"));
                let mut copy = vec![0x55; there.len()];
                window.read_at(&mut copy, 0).unwrap_or_else(|error| panic!("{error}"));
                assert!(copy == self.model[there], "mapped {from:?} to {to:?}");
                assert!(window.read_at(&mut [0], usize::MAX).is_err());
                assert!(window.read_at(&mut [0], copy.len()).is_err());
            }
            (Some(value), Some(there)) => {
                let mut window = self.file.map_writable(range).unwrap_or_else(|error| panic!("{error}"));
                let data = bytes(there.len(), value);
                window.write_at(&data, 0).unwrap_or_else(|error| panic!("{error}"));
                assert!(window.write_at(&[0], usize::MAX).is_err());
                self.model[there].copy_from_slice(&data);
            }
            (None, None) => assert!(self.file.map(range).is_err(), "mapped {from:?} to {to:?}"),
            (Some(_), None) => assert!(self.file.map_writable(range).is_err(), "mapped {from:?} to {to:?}"),
        }
    }

    fn seek(&self, at: Number) {
        let (at, end) = (at.value(), self.model.len() as u64);
        let data = self.file.seek_data(at).unwrap_or_else(|error| panic!("{error}"));
        let hole = self.file.seek_hole(at).unwrap_or_else(|error| panic!("{error}"));
        assert!(data.is_none_or(|data| (at..end).contains(&data)), "data at {data:?} from {at}");
        assert_eq!(hole.is_some(), at < end, "a hole at {hole:?} from {at}");
        let skipped = at.min(end) as usize..data.unwrap_or(end).max(at.min(end)) as usize;
        assert!(self.model[skipped].iter().all(|&byte| byte == 0), "a hole with bytes from {at}");
    }
}

/// Copies between two files.
fn copy(source: &Pair, target: &mut Pair, [from, to, at]: [Number; 3], clone: bool) {
    let range = from.value()..to.value();
    let end = source.model.len();
    let there = from.value().min(end as u64) as usize..to.value().min(end as u64) as usize;
    let result = if clone {
        source.file.clone_range(range.clone(), &target.file, at.value()).map(|()| {
            assert!(range.is_empty() || range.end <= end as u64, "cloned past the end");
        })
    } else {
        source.file.copy_range(range.clone(), &target.file, at.value()).map(|report| {
            assert_eq!(report.bytes(), there.len() as u64, "{report:?}");
        })
    };
    match (result, at) {
        (Ok(()), _) if there.is_empty() => {}
        (Ok(()), Number::Within(at)) => target.put(at, &source.model[there]),
        (Ok(()), Number::Absurd(at)) => panic!("copied to {at}"),
        (Err(error), Number::Within(_)) if range.start <= range.end && matches!(from, Number::Within(_)) => {
            assert!(clone && error.kind() == ErrorKind::Unsupported, "{error}");
        }
        (Err(_), _) => {}
    }
}

fn run(script: &Script) {
    let cache =
        [CachePolicy::Keep, CachePolicy::DontCache, CachePolicy::Direct][usize::from(script.cache % 3)];
    let directory = tempfile::tempdir().expect("a directory");
    let mut pair = Pair::new(directory.path(), "file", cache);
    let mut other = Pair::new(directory.path(), "other", CachePolicy::Keep);
    other.write(Number::Within(0), &bytes(100_000, 7));
    for step in script.steps.iter().take(24) {
        match step {
            Step::Read { at, len } => pair.read(*at, *len),
            Step::Write { at, len, value } => {
                pair.write(*at, &bytes((len.value() % 70_000) as usize, *value))
            }
            Step::ReadVectored { at, lens } => {
                let lens: Vec<usize> = lens.iter().take(3000).map(|&len| usize::from(len % 5000)).collect();
                pair.read_vectored(*at, &lens);
            }
            Step::WriteVectored { at, lens, value } => {
                let part = |&len: &u16| bytes(usize::from(len % 5000), *value);
                let parts: Vec<Vec<u8>> = lens.iter().take(40).map(part).collect();
                pair.write_vectored(*at, &parts);
            }
            Step::Punch { from, to } => {
                let result = pair.file.punch_hole(from.value()..to.value());
                pair.zeroed(*from, *to, result);
            }
            Step::Zero { from, to } => {
                let result = pair.file.zero_range(from.value()..to.value());
                pair.zeroed(*from, *to, result);
            }
            Step::Allocate { from, to } => {
                if pair.file.reserve(from.value()..to.value()).is_err() {
                    // Some file systems do not support it; none may lose bytes.
                }
            }
            Step::SetLen { len } => pair.set_len(*len),
            Step::CopyWithin { from, to, at } => {
                let range = from.value()..to.value();
                if let Ok(report) = pair.file.copy_range(range.clone(), &pair.file, at.value())
                    && report.bytes() > 0
                {
                    let there = range.start as usize..(range.start + report.bytes()) as usize;
                    let data = pair.model[there].to_vec();
                    pair.put(at.value() as usize, &data);
                }
            }
            Step::CopyOut { from, to, at } => copy(&pair, &mut other, [*from, *to, *at], false),
            Step::CopyIn { from, to, at } => copy(&other, &mut pair, [*from, *to, *at], false),
            Step::Clone { from, to, at } => copy(&other, &mut pair, [*from, *to, *at], true),
            Step::Map { from, to } => pair.map(*from, *to, None),
            Step::Change { from, to, value } => pair.map(*from, *to, Some(*value)),
            Step::Seek { at } => pair.seek(*at),
        }
        pair.check(step);
        other.check(step);
    }
}

fuzz_target!(|script: Script| run(&script));
