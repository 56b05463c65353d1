//! Which sums are computed: the algorithms that were named, with their lengths and modes.

use std::io::{self, Read};

use fullbore::operation::hash::{Blake3Mode, Hash, UnknownAlgorithm, derive_context};
use fullbore::size;

use super::Sum;
use crate::exit::Exit;

/// Output of blake3 may be longer than a sum, but not so long that it fills the memory, in bytes.
const LONGEST: u64 = 16 << 20;

/// An algorithm as it is named.
#[derive(Debug, Clone)]
pub(super) enum Choice {
    One(Hash),
    /// sha2 or sha3: the length says which of them, as with cksum.
    Family(&'static str),
}

/// The algorithm of that name, which is not abbreviated, as with cksum.
pub(super) fn algorithm(name: &str) -> Result<Choice, UnknownAlgorithm> {
    if let Some(family) = ["sha2", "sha3"].into_iter().find(|family| *family == name) {
        return Ok(Choice::Family(family));
    }
    Hash::named(name).map(Choice::One)
}

impl Choice {
    fn hash(&self, length: Option<u64>) -> Result<Hash, Exit> {
        let family = match self {
            Self::One(hash) => return Ok(hash.clone()),
            Self::Family(family) => family,
        };
        let prefix = if *family == "sha3" { "sha3-" } else { "sha" };
        match length {
            Some(bits @ (224 | 256 | 384 | 512)) => {
                Hash::named(&format!("{prefix}{bits}")).map_err(Exit::trouble)
            }
            Some(other) => Err(Exit::trouble(format!(
                "--length: there is no {family} of {other} bits; there are 224, 256, 384 and 512"
            ))),
            None => Err(Exit::trouble(format!("--algorithm={family} needs --length 224, 256, 384 or 512"))),
        }
    }
}

impl Sum {
    /// The algorithms that were named, each once, in their usual modes.
    pub(super) fn named(&self) -> Result<Vec<Hash>, Exit> {
        let mut hashes: Vec<Hash> = Vec::new();
        for choice in &self.algorithms {
            let hash = choice.hash(self.length)?;
            if !hashes.iter().any(|known| known.algorithm() == hash.algorithm()) {
                hashes.push(hash);
            }
        }
        Ok(hashes)
    }

    /// The sums to compute, each once.
    pub(super) fn hashes(&self) -> Result<Vec<Hash>, Exit> {
        let mut hashes = self.named()?;
        if hashes.is_empty() {
            hashes.push(Hash::default());
        }
        let families = self.algorithms.iter().any(|choice| matches!(choice, Choice::Family(_)));
        let mut length = self.length;
        if let (Some(bits), Some(blake2b)) =
            (length, hashes.iter_mut().find(|hash| hash.algorithm().name == "blake2b"))
        {
            *blake2b = Hash::blake2b(blake2b_bytes(bits)?);
            length = None;
        }
        let special =
            self.keyed || self.derive_key.is_some() || length.is_some() && !families || self.seek > 0;
        if !special {
            return Ok(hashes);
        }
        let Some(blake3) = hashes.iter_mut().find(|hash| hash.algorithm().name == "blake3") else {
            return Err(Exit::trouble(
                "--length, --seek, --keyed and --derive-key are of blake3; ask for it too (--length also of blake2b, sha2 and sha3)",
            ));
        };
        let len = length.unwrap_or(blake3.algorithm().len as u64);
        if len > LONGEST {
            let (asked, most) = (size::human(len), size::human(LONGEST));
            return Err(Exit::trouble(format!(
                "--length: {asked} of output are more than the {most} there may be"
            )));
        }
        let mode = match &self.derive_key {
            _ if self.keyed => Blake3Mode::Keyed(read_key()?),
            Some(context) => Blake3Mode::Derive(derive_context(context)),
            None => Blake3Mode::Plain,
        };
        *blake3 = Hash::blake3(mode, self.seek, len as usize);
        Ok(hashes)
    }
}

/// The length of a sum of blake2b in bytes; 0 bits stand for all.
fn blake2b_bytes(bits: u64) -> Result<usize, Exit> {
    match bits {
        0 => Ok(64),
        8..=512 if bits.is_multiple_of(8) => Ok(bits as usize / 8),
        _ if bits.is_multiple_of(8) => Err(Exit::trouble(format!(
            "invalid length: '{bits}'\nmaximum digest length for 'BLAKE2b' is 512 bits"
        ))),
        _ => Err(Exit::trouble(format!("invalid length: '{bits}'\nlength is not a multiple of 8"))),
    }
}

/// The key of the keyed mode: standard input, all of it.
fn read_key() -> Result<[u8; 32], Exit> {
    let mut key = Vec::with_capacity(33);
    let read = io::stdin().lock().take(33).read_to_end(&mut key);
    read.map_err(|error| Exit::trouble(format!("--keyed: standard input: {error}")))?;
    key.as_slice().try_into().map_err(|_| {
        let found = if key.len() > 32 { "more".into() } else { key.len().to_string() };
        Exit::trouble(format!("--keyed: the key has 32 bytes; there are {found} key bytes on standard input"))
    })
}
