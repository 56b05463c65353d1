//! Globs over the ids of cells, for `--only`.

use std::fmt;

/// A pattern over whole ids: `*` matches any run of characters, slashes included, `?` any one character.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Glob(Vec<char>);

impl Glob {
    /// Parses a pattern. Every text is valid.
    pub fn new(text: &str) -> Self {
        Self(text.chars().collect())
    }

    /// True if the pattern matches all of `id`.
    pub fn matches(&self, id: &str) -> bool {
        let id: Vec<char> = id.chars().collect();
        let (mut at, mut place) = (0, 0);
        // The last star, and the position at which the rest is tried next.
        let mut star: Option<(usize, usize)> = None;
        while place < id.len() {
            match self.0.get(at) {
                Some('*') => {
                    star = Some((at, place));
                    at += 1;
                }
                Some(&c) if c == '?' || c == id[place] => {
                    at += 1;
                    place += 1;
                }
                _ => {
                    // The star matches one character more.
                    let Some((star_at, from)) = star else { return false };
                    star = Some((star_at, from + 1));
                    at = star_at + 1;
                    place = from + 1;
                }
            }
        }
        self.0[at..].iter().all(|&c| c == '*')
    }
}

impl fmt::Display for Glob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.iter().collect::<String>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The definition, by exhaustive search.
    fn brute(pattern: &[char], text: &[char]) -> bool {
        match pattern.split_first() {
            None => text.is_empty(),
            Some((&'*', rest)) => (0..=text.len()).any(|taken| brute(rest, &text[taken..])),
            Some((&c, rest)) => text.first().is_some_and(|&t| c == '?' || c == t) && brute(rest, &text[1..]),
        }
    }

    /// All texts of up to `longest` letters.
    fn texts(letters: &[char], longest: usize) -> Vec<Vec<char>> {
        let mut all = vec![Vec::new()];
        let mut last = all.clone();
        for _ in 0..longest {
            last = last
                .iter()
                .flat_map(|text| letters.iter().map(move |&c| text.iter().copied().chain([c]).collect()))
                .collect();
            all.extend(last.iter().cloned());
        }
        all
    }

    #[test]
    fn matches_like_a_reference_glob() {
        for pattern in texts(&['a', 'b', '*', '?'], 4) {
            let glob = Glob(pattern.clone());
            for text in texts(&['a', 'b', '/'], 4) {
                let word: String = text.iter().collect();
                assert_eq!(glob.matches(&word), brute(&pattern, &text), "{glob} {word}");
            }
        }
    }

    #[test]
    fn whole_ids_with_slashes() {
        assert!(Glob::new("read/*/cold").matches("read/read/method=direct,request=4K/cold"));
        assert!(!Glob::new("read").matches("read/read/x"));
    }
}
