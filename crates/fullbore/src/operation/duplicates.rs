//! Groups files that have the same content, in steps of increasing cost.
//!
//! The steps compare the length, which costs nothing, then a hash of both ends, then a hash of the whole content. A file
//! without an equal after a step is left out of the next. The caller reads the files; this module only groups them.
//!
//! ```
//! use fullbore::operation::duplicates::{alike, inodes};
//! let files = [("a", 1, 10), ("b", 2, 10), ("also a", 1, 10), ("c", 3, 99)];
//! let inodes = inodes(files.map(|(name, inode, len)| (name.into(), (0, inode), len)));
//! assert_eq!(inodes.len(), 3, "two names of one file");
//! let groups = alike(vec![inodes], |inode| Some(inode.len));
//! assert_eq!(groups[0].iter().map(|inode| inode.identity.1).collect::<Vec<_>>(), [1, 2]);
//! ```
#![forbid(unsafe_code)]

use std::collections::BTreeMap;
use std::path::PathBuf;

/// A file with all names that lead to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inode {
    /// The device and inode numbers.
    pub identity: (u64, u64),
    /// Length in bytes.
    pub len: u64,
    /// The names of the file, sorted; hard links to one file are not duplicates.
    pub names: Vec<PathBuf>,
}

/// Groups names, with identity and length, by file, in the order of first names. A repeated name counts once.
pub fn inodes(found: impl IntoIterator<Item = (PathBuf, (u64, u64), u64)>) -> Vec<Inode> {
    let mut found: Vec<_> = found.into_iter().collect();
    found.sort_unstable_by(|a, b| (a.1, &a.0).cmp(&(b.1, &b.0)));
    let mut inodes: Vec<Inode> = Vec::new();
    for (name, identity, len) in found {
        match inodes.last_mut() {
            Some(last) if last.identity == identity => {
                if last.names.last() != Some(&name) {
                    last.names.push(name);
                }
            }
            _ => inodes.push(Inode { identity, len, names: vec![name] }),
        }
    }
    inodes.sort_by(|a, b| a.names[0].cmp(&b.names[0]));
    inodes
}

/// Splits groups by key, in order; leaves out elements without a key and elements whose key no other has.
pub fn alike<T, K: Ord>(groups: Vec<Vec<T>>, key: impl Fn(&T) -> Option<K>) -> Vec<Vec<T>> {
    let mut result = Vec::new();
    for group in groups {
        let mut classes: BTreeMap<K, Vec<T>> = BTreeMap::new();
        for one in group {
            if let Some(key) = key(&one) {
                classes.entry(key).or_default().push(one);
            }
        }
        result.extend(classes.into_values().filter(|class| class.len() > 1));
    }
    result
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_repeated_name_counts_once() {
        let found = inodes([("b".into(), (8, 1), 5), ("a".into(), (8, 1), 5), ("a".into(), (8, 1), 5)]);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].names, ["a", "b"].map(PathBuf::from));
    }

    proptest! {
        #[test]
        fn groups_have_all_elements_of_a_key_and_no_others(
            keys in proptest::collection::vec(proptest::option::of(0u8..6), 0..40),
        ) {
            let groups = alike(vec![(0..keys.len()).collect()], |&place| keys[place]);
            let mut seen = 0;
            for group in &groups {
                prop_assert!(group.len() > 1 && group.is_sorted());
                prop_assert!(group.iter().all(|&place| keys[place].is_some() && keys[place] == keys[group[0]]));
                seen += group.len();
            }
            let many = |key: u8| keys.iter().filter(|&&other| other == Some(key)).count();
            let wanted: usize = (0..6).map(many).filter(|&count| count > 1).sum();
            prop_assert_eq!(seen, wanted);
        }
    }
}
