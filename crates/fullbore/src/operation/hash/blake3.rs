//! blake3: a tree over chunks of 1,024 bytes, so a file can be cut at any chunk and the parts hashed separately.
//!
//! The state of a part is the list of the chaining values of the complete subtrees it covers (O'Connor, Aumasson, Neves
//! and Wilcox-O'Hearn, "BLAKE3", 2020, section 2.1: a left subtree is complete, its size a power of two, and as large
//! as possible). Such subtrees start at multiples of their own size, so they can be found in a run without the rest of
//! the file. Two siblings are merged when later data shows that they are not the two halves of the root.

use blake3::hazmat::{self, ChainingValue, HasherExt};
use blake3::{CHUNK_LEN, OutputReader};

use super::hasher::{Hasher, same};

/// Mode of blake3.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Blake3Mode {
    /// A hash without a key.
    Plain,
    /// A keyed hash, which can be computed or verified only with the key.
    Keyed([u8; 32]),
    /// A key derived from the bytes, for the context with this key; [`derive`](Self::derive) computes it.
    Derive([u8; 32]),
}

impl Blake3Mode {
    /// Creates the mode that derives keys for a context: a text that is constant in the program, and unique to this use.
    pub fn derive(context: &str) -> Self {
        Self::Derive(hazmat::hash_derive_key_context(context))
    }

    fn hasher(&self) -> blake3::Hasher {
        match self {
            Self::Plain => blake3::Hasher::new(),
            Self::Keyed(key) => blake3::Hasher::new_keyed(key),
            Self::Derive(context) => blake3::Hasher::new_from_context_key(context),
        }
    }

    fn mode(&self) -> hazmat::Mode<'_> {
        match self {
            Self::Plain => hazmat::Mode::Hash,
            Self::Keyed(key) => hazmat::Mode::KeyedHash(key),
            Self::Derive(context) => hazmat::Mode::DeriveKeyMaterial(context),
        }
    }
}

pub(super) fn begin(mode: Blake3Mode, seek: u64, len: usize) -> Box<dyn Hasher> {
    Box::new(Part { mode, seek, len, seen: None, tail: Vec::new(), nodes: Vec::new() })
}

/// A subtree with a known position in the tree that is not its root.
struct Node {
    /// Number of the first chunk.
    first: u64,
    /// The subtree has two to this power of chunks, or fewer at the end of the file.
    level: u32,
    value: ChainingValue,
}

/// State of a run of chunks.
struct Part {
    mode: Blake3Mode,
    seek: u64,
    len: usize,
    /// Start and end of the run in bytes; `None` if it is empty.
    seen: Option<(u64, u64)>,
    /// The last chunk if it is not full, or the file's first: alone it is the root, which has a different value.
    tail: Vec<u8>,
    /// The subtrees, from left to right. Two siblings stay apart until more follows: they may be the root's halves.
    nodes: Vec<Node>,
}

impl Part {
    /// Adds the subtree after all others.
    fn push(&mut self, node: Node) {
        while let [.., left, right] = &self.nodes[..]
            && left.level == right.level
            && (left.first >> left.level) & 1 == 0
            && left.first + (1 << left.level) == right.first
        {
            let value = hazmat::merge_subtrees_non_root(&left.value, &right.value, self.mode.mode());
            let joined = Node { first: left.first, level: left.level + 1, value };
            self.nodes.truncate(self.nodes.len() - 2);
            self.nodes.push(joined);
        }
        self.nodes.push(node);
    }

    /// Hashes a run that is one subtree.
    fn subtree(&mut self, offset: u64, bytes: &[u8]) {
        let chunks = bytes.len().div_ceil(CHUNK_LEN) as u64;
        let mut hasher = self.mode.hasher();
        hasher.set_input_offset(offset);
        hasher.update(bytes);
        let value = hasher.finalize_non_root();
        self.push(Node { first: offset / CHUNK_LEN as u64, level: chunks.ilog2(), value });
    }

    /// Hashes the last chunk, when something follows it or it is not the root.
    fn close(&mut self) {
        if let Some((_, end)) = self.seen
            && !self.tail.is_empty()
        {
            let tail = std::mem::take(&mut self.tail);
            self.subtree(end - tail.len() as u64, &tail);
        }
    }

    fn output(&self) -> OutputReader {
        let Some((last, before)) = self.nodes.split_last() else {
            return self.mode.hasher().update(&self.tail).finalize_xof();
        };
        let mut value = last.value;
        let (root, between) = before.split_first().expect("what begins the file is never one subtree alone");
        for left in between.iter().rev() {
            value = hazmat::merge_subtrees_non_root(&left.value, &value, self.mode.mode());
        }
        hazmat::merge_subtrees_root_xof(&root.value, &value, self.mode.mode())
    }
}

impl Hasher for Part {
    fn update(&mut self, mut offset: u64, mut bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        let (_, end) = self.seen.get_or_insert((offset, offset));
        assert_eq!(*end, offset, "a gap before this block");
        if !self.tail.is_empty() {
            let (fill, rest) = bytes.split_at(bytes.len().min(CHUNK_LEN - self.tail.len()));
            self.tail.extend_from_slice(fill);
            offset += fill.len() as u64;
            *end = offset;
            bytes = rest;
            if bytes.is_empty() {
                return;
            }
            self.close();
        }
        assert!(offset.is_multiple_of(CHUNK_LEN as u64), "the part begins within a chunk, at {offset}");
        self.seen = self.seen.map(|(start, _)| (start, offset + bytes.len() as u64));
        while bytes.len() > CHUNK_LEN || bytes.len() == CHUNK_LEN && offset > 0 {
            let chunk = offset / CHUNK_LEN as u64;
            let level = (bytes.len() / CHUNK_LEN).ilog2().min(chunk.trailing_zeros());
            let mut take = CHUNK_LEN << level;
            if offset == 0 && take == bytes.len() {
                // It may be the whole file; the root is then made of its halves.
                take /= 2;
            }
            let (subtree, rest) = bytes.split_at(take);
            self.subtree(offset, subtree);
            offset += take as u64;
            bytes = rest;
        }
        self.tail.extend_from_slice(bytes);
    }

    fn append(&mut self, right: Box<dyn Hasher>) {
        let right = *same::<Self>(right);
        let Some((start, end)) = right.seen else { return };
        let Some((before, middle)) = self.seen else {
            *self = right;
            return;
        };
        assert_eq!(middle, start, "a gap between the parts");
        assert!(start.is_multiple_of(CHUNK_LEN as u64), "the parts were cut within a chunk, at {start}");
        self.close();
        self.seen = Some((before, end));
        right.nodes.into_iter().for_each(|node| self.push(node));
        self.tail = right.tail;
    }

    fn finish(mut self: Box<Self>) -> Vec<u8> {
        if !self.nodes.is_empty() {
            self.close();
        }
        debug_assert!(self.seen.is_none_or(|(start, _)| start == 0), "it is of the end of a file only");
        let mut output = self.output();
        output.set_position(self.seek);
        let mut sum = vec![0; self.len];
        output.fill(&mut sum);
        sum
    }
}
