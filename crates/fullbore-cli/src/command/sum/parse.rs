//! Parses the lines of checksum lists: those of sha256sum, b3sum, xxhsum, `openssl dgst`, and BSD format.

use std::ffi::OsString;
use std::path::PathBuf;

use base64::Engine;
use fullbore::operation::hash::{Algorithm, Digest, algorithms};
use fullbore::sys::OsStringExt;

use super::lines::{BASE64, prefix, unescape};

/// Maximum length of a line in bytes; longer ones are malformed: paths have at most 4,096.
const LONGEST: usize = 64 << 10;

/// Algorithms of lines without a tag, unless others were requested: those of widespread tools.
const UNTAGGED: &[&str] =
    &["blake3", "sha256", "sha512", "sha1", "md5", "xxh3", "crc32c", "sha224", "sha384", "blake2b"];

#[derive(Debug, PartialEq, Eq)]
pub(super) struct ChecksumLine {
    /// The algorithms that can have produced the sum.
    pub(super) algorithms: Vec<&'static Algorithm>,
    pub(super) sum: Vec<u8>,
    pub(super) name: PathBuf,
    /// The name as written in the line, with the backslash before the line if there is one.
    pub(super) written: Vec<u8>,
}

/// A parser of the lines of all lists of a run.
#[derive(Debug)]
pub(super) struct Parser {
    /// The requested algorithms; empty: all.
    requested: Vec<&'static Algorithm>,
    /// True if sum and name are separated by one blank, as in old BSD tools. The first line decides, so that a name
    /// with a leading blank cannot be turned into another name.
    one_blank: Option<bool>,
    /// True for lists of `cksum`: without `-a` lines need tags, and a sum of blake3 may have any length.
    cksum: bool,
    base64: bool,
    /// Algorithm of the last tagged line.
    tag: Option<&'static Algorithm>,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum ParsedLine {
    /// An empty line, or a comment.
    Nothing,
    ChecksumLine(ChecksumLine),
    Malformed,
}

impl Parser {
    pub(super) fn new(requested: Vec<&'static Algorithm>) -> Self {
        Self { requested, one_blank: None, cksum: false, base64: true, tag: None }
    }

    /// Sets the rules of the tool `called`.
    pub(super) fn like(self, called: Option<&str>) -> Self {
        Self { cksum: called == Some("cksum"), base64: matches!(called, None | Some("cksum")), ..self }
    }

    /// Returns the algorithm of the last line that begins with a tag.
    pub(super) fn tag(&self) -> Option<&'static Algorithm> {
        self.tag
    }

    /// Parses a line, with or without its line ending.
    pub(super) fn line(&mut self, line: &[u8]) -> ParsedLine {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.is_empty() || line[0] == b'#' {
            return ParsedLine::Nothing;
        }
        if line.len() > LONGEST {
            return ParsedLine::Malformed;
        }
        let line = line.trim_ascii_start();
        let (escaped, rest) = match line.strip_prefix(b"\\") {
            Some(rest) => (true, rest),
            None => (false, line),
        };
        let found = match self.tagged(rest) {
            None if self.cksum && self.requested.is_empty() => None,
            None => self.plain(rest),
            found => found,
        };
        let Some((algorithms, sum, written)) = found else {
            return ParsedLine::Malformed;
        };
        let name = if escaped { unescape(written) } else { Some(written.to_vec()) };
        match name {
            Some(name) if !name.contains(&0) => {
                let written = if escaped { [b"\\", written].concat() } else { written.to_vec() };
                ParsedLine::ChecksumLine(ChecksumLine {
                    algorithms,
                    sum,
                    name: OsString::from_vec(name).into(),
                    written,
                })
            }
            _ => ParsedLine::Malformed,
        }
    }

    fn allowed(&self, algorithm: &Algorithm) -> bool {
        self.requested.is_empty() || self.requested.contains(&algorithm)
    }

    /// Parses `ALGORITHM (NAME) = HEX`, and `ALGORITHM(NAME)= HEX` of `openssl dgst`.
    fn tagged<'l>(&mut self, line: &'l [u8]) -> Option<(Vec<&'static Algorithm>, Vec<u8>, &'l [u8])> {
        let base64 = self.base64;
        let mut tag = self.tag;
        let found = algorithms().iter().filter(|algorithm| self.allowed(algorithm)).find_map(|algorithm| {
            let rest = other_tag(algorithm, line).or_else(|| line.strip_prefix(algorithm.tag.as_bytes()))?;
            let (len, rest) = shortened(algorithm, rest)?;
            let rest = rest.strip_prefix(b" ").unwrap_or(rest).strip_prefix(b"(")?;
            tag = Some(algorithm);
            // No digit is a parenthesis, so the last one ends the name.
            let end = rest.iter().rposition(|&byte| byte == b')')?;
            let digits = rest[end + 1..].trim_ascii_start().strip_prefix(b"=")?.trim_ascii_start();
            let fits = |sum: &Vec<u8>| sum.len() == len;
            let plain = unhex(digits).filter(fits);
            let sum = plain.or_else(|| unbase64(digits).filter(|sum| base64 && fits(sum)))?;
            Some((vec![algorithm], sum, &rest[..end]))
        });
        self.tag = tag;
        found
    }

    /// Parses `HEX  NAME` or `HEX *NAME`, or `HEX NAME` if the first line has that form.
    fn plain<'l>(&mut self, line: &'l [u8]) -> Option<(Vec<&'static Algorithm>, Vec<u8>, &'l [u8])> {
        let candidates = algorithms().iter().filter(|algorithm| match self.requested.is_empty() {
            true => UNTAGGED.contains(&algorithm.name),
            false => self.allowed(algorithm),
        });
        let end = line.iter().position(|byte| matches!(byte, b' ' | b'\t'))?;
        let (token, behind) = line.split_at(end);
        let base64 = self.base64 && !self.requested.is_empty();
        let candidates: Vec<_> = candidates.collect();
        let (mut found, mut sum) = (Vec::new(), Vec::new());
        // Digits that form a sum in hexadecimal are not tried as a base64 sum of another length.
        for hexadecimal in [true, false].into_iter().take(if base64 { 2 } else { 1 }) {
            let decode: fn(&[u8]) -> _ = if hexadecimal { unhex } else { unbase64 };
            let whole = decode(token);
            for &algorithm in &candidates {
                let prefixed = token.strip_prefix(prefix(algorithm).as_bytes());
                let prefixed = prefixed.filter(|digits| digits.len() < token.len()).map(decode);
                let decoded = prefixed.as_ref().unwrap_or(&whole).as_ref();
                // The number of hexadecimal digits is the length of a blake2b or blake3 sum, unless another algorithm is
                // possible. Every word of four letters is base64.
                let any = match algorithm.name {
                    "blake2b" => 1..=64,
                    "blake3" if self.cksum => 1..=LONGEST,
                    _ => algorithm.len..=algorithm.len,
                };
                let any_length = hexadecimal && self.requested.len() == 1;
                let fits = |len| len == algorithm.len || any_length && any.contains(&len);
                if let Some(decoded) = decoded.filter(|sum| fits(sum.len())) {
                    found.push(algorithm);
                    sum.clone_from(decoded);
                }
            }
            if !found.is_empty() {
                break;
            }
        }
        if found.is_empty() {
            return None;
        }
        let name = behind.strip_prefix(b" ").or_else(|| behind.strip_prefix(b"\t"))?;
        // A line without a name says nothing about the others.
        if name.is_empty() {
            return None;
        }
        let name = match name.split_first() {
            Some((b' ' | b'*', rest)) if !rest.is_empty() => {
                let one = *self.one_blank.get_or_insert(false);
                if one { name } else { rest }
            }
            _ => {
                if !*self.one_blank.get_or_insert(true) {
                    return None;
                }
                name
            }
        };
        Some((found, sum, name))
    }
}

/// Parses the length of a sum after its tag, and returns it with the rest. A shortened blake2b has one, and cksum
/// writes one for blake3.
fn shortened<'l>(algorithm: &Algorithm, line: &'l [u8]) -> Option<(usize, &'l [u8])> {
    let longest = match algorithm.name {
        "blake2b" => 512,
        "blake3" => 8 * LONGEST,
        _ => 0,
    };
    let Some(bits) = line.strip_prefix(b"-").filter(|_| longest > 0) else {
        return Some((algorithm.len, line));
    };
    let end = bits.iter().position(|byte| !byte.is_ascii_digit())?;
    let len: usize = std::str::from_utf8(&bits[..end]).ok()?.parse().ok()?;
    ((8..=longest).contains(&len) && len.is_multiple_of(8)).then_some((len / 8, &bits[end..]))
}

/// Returns the rest after another tag of the algorithm: SHA2-256, which later coreutils accept besides SHA256, and the tags of
/// blake2b that openssl writes.
fn other_tag<'l>(algorithm: &Algorithm, line: &'l [u8]) -> Option<&'l [u8]> {
    if algorithm.name == "blake2b" {
        return [&b"BLAKE2B-512"[..], b"BLAKE2b512"].iter().find_map(|tag| line.strip_prefix(*tag));
    }
    let bits = algorithm.name.strip_prefix("sha").filter(|bits| bits.len() == 3)?;
    line.strip_prefix(b"SHA2-")?.strip_prefix(bits.as_bytes())
}

fn unbase64(digits: &[u8]) -> Option<Vec<u8>> {
    BASE64.decode(digits).ok()
}

fn unhex(digits: &[u8]) -> Option<Vec<u8>> {
    std::str::from_utf8(digits).ok()?.parse::<Digest>().ok().map(Vec::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MD5: &str = "900150983cd24fb0d6963f7d28e17f72";
    const SHA256: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    fn checksum_line(line: &str) -> Option<(Vec<&'static str>, String)> {
        claim_after(&mut Parser::new(Vec::new()), line)
    }

    fn claim_after(parser: &mut Parser, line: &str) -> Option<(Vec<&'static str>, String)> {
        match parser.line(line.as_bytes()) {
            ParsedLine::ChecksumLine(expected) => Some((
                expected.algorithms.iter().map(|algorithm| algorithm.name).collect(),
                expected.name.to_str().unwrap().to_owned(),
            )),
            _ => None,
        }
    }

    #[test]
    fn every_shape_is_read() {
        for (line, names, name) in [
            (format!("{MD5}  a b\n"), &["md5"][..], "a b"),
            (format!("{MD5} *a\r\n"), &["md5"], "a"),
            (format!("  \t{MD5}  a"), &["md5"], "a"),
            (format!("SM3 (a) = {SHA256}"), &["sm3"], "a"),
            (format!("SHA3-256(a)= {SHA256}"), &["sha3-256"], "a"),
            (format!("BLAKE2b-128 (a) = {MD5}"), &["blake2b"], "a"),
            (format!("BLAKE2B-512(a)= {SHA256}{SHA256}"), &["blake2b"], "a"),
            (format!("BLAKE2b512(a)= {SHA256}{SHA256}"), &["blake2b"], "a"),
            (format!("BLAKE3-128 (a) = {MD5}"), &["blake3"], "a"),
            (format!("SHA2-256 (a) = {SHA256}"), &["sha256"], "a"),
            ("MD5 (a) = kAFQmDzST7DWlj99KOF/cg==".into(), &["md5"], "a"),
            ("BLAKE2b-48 (a) = fc1f97C4".into(), &["blake2b"], "a"),
            (format!("{SHA256}  a"), &["blake3", "sha256"], "a"),
            (format!("{}  a", SHA256.to_uppercase()), &["blake3", "sha256"], "a"),
            (format!("\\{MD5}  a\\nb\\\\"), &["md5"], "a\nb\\"),
            (format!("SHA256 (a) b) = {SHA256}"), &["sha256"], "a) b"),
            (format!("SHA256(a)= {SHA256}"), &["sha256"], "a"),
            (format!("SHA256 () = {SHA256}"), &["sha256"], ""),
            (format!("BLAKE3 (a) = {SHA256}"), &["blake3"], "a"),
            (format!("\\MD5 (a\\\\) = {MD5}"), &["md5"], "a\\"),
            ("XXH3_2d06800538d394c2  a".into(), &["xxh3"], "a"),
            ("2d06800538d394c2  a".into(), &["xxh3"], "a"),
            ("e3069283  a".into(), &["crc32c"], "a"),
        ] {
            assert_eq!(checksum_line(&line), Some((names.to_vec(), name.to_owned())), "{line:?}");
        }
    }

    #[test]
    fn malformed_lines_are_rejected() {
        for line in [
            "junk",
            "x",
            "\\",
            MD5,
            &format!("{MD5} "),
            &format!("{MD5}x  a"),
            &format!("\\{MD5}  a\\t"),
            &format!("\\{MD5}  a\\"),
            &format!("{MD5}  a\0b"),
            &format!("SHA256 (a) = {MD5}"),
            &format!("SHA256 (a = {SHA256}"),
            &format!("SHA256 (a) {SHA256}"),
            &format!("SHA256-256 (a) = {SHA256}"),
            &format!("BLAKE2b-128 (a) = {SHA256}"),
            &format!("BLAKE2b-130 (a) = {SHA256}"),
            &format!("{}  a", &MD5[1..]),
            &format!("{MD5}  {}", "a".repeat(70_000)),
        ] {
            assert_eq!(Parser::new(Vec::new()).line(line.as_bytes()), ParsedLine::Malformed, "{line:?}");
        }
        for line in ["", "\n", "\r\n", "# comment"] {
            assert_eq!(Parser::new(Vec::new()).line(line.as_bytes()), ParsedLine::Nothing, "{line:?}");
        }
    }

    #[test]
    fn first_line_sets_the_blank_count() {
        let mut parser = Parser::new(Vec::new());
        // A line without a name does not count.
        assert_eq!(claim_after(&mut parser, &format!("{MD5} ")), None);
        assert_eq!(claim_after(&mut parser, &format!("{MD5} a")).unwrap().1, "a");
        assert_eq!(claim_after(&mut parser, &format!("{MD5}  b")).unwrap().1, " b");
        let mut parser = Parser::new(Vec::new());
        assert_eq!(claim_after(&mut parser, &format!("{MD5}  a")).unwrap().1, "a");
        assert_eq!(claim_after(&mut parser, &format!("{MD5} b")), None);
    }

    #[test]
    fn cksum_has_lists_of_its_own() {
        let family = |prefix: &str| -> Vec<_> {
            algorithms().iter().filter(|algorithm| algorithm.name.starts_with(prefix)).collect()
        };
        let base64 = "kAFQmDzST7DWlj99KOF/cg==  a";
        let cksum =
            |prefix: Option<&str>| Parser::new(prefix.map(family).unwrap_or_default()).like(Some("cksum"));
        // Without -a a line needs a tag, which also names the expected algorithm of the next malformed line.
        let mut parser = cksum(None);
        assert_eq!(claim_after(&mut parser, &format!("{SHA256}  a")), None);
        assert_eq!(parser.tag(), None);
        assert_eq!(claim_after(&mut parser, &format!("SHA256 (a) = {MD5}")), None);
        assert_eq!(parser.tag().map(|tag| tag.name), Some("sha256"));
        // 64 digits are 32 bytes, never 48 bytes in base64.
        for (prefix, name) in [("sha2", "sha256"), ("sha3", "sha3-256")] {
            let mut parser = match prefix {
                "sha2" => {
                    let names = ["sha224", "sha256", "sha384", "sha512"];
                    let requested = algorithms().iter().filter(|algorithm| names.contains(&algorithm.name));
                    Parser::new(requested.collect()).like(Some("cksum"))
                }
                _ => cksum(Some(prefix)),
            };
            match parser.line(format!("{SHA256}  a").as_bytes()) {
                ParsedLine::ChecksumLine(expected) => {
                    assert_eq!((expected.algorithms[0].name, expected.sum.len()), (name, 32))
                }
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(claim_after(&mut cksum(Some("blake3")), "04e0  a").unwrap().0, ["blake3"]);
        let blake3 = || Parser::new(family("blake3"));
        assert_eq!(claim_after(&mut blake3(), "04e0  a"), None);
        assert_eq!(claim_after(&mut cksum(Some("md5")), base64).unwrap().0, ["md5"]);
        // A word of another line is no short sum in base64, and does not set the number of blanks.
        let mut parser = cksum(Some("blake2b"));
        assert_eq!(claim_after(&mut parser, &format!("SHA1 (a) = {MD5}")), None);
        assert_eq!(claim_after(&mut parser, &format!("{SHA256}{SHA256}  a")).unwrap().1, "a");
        assert_eq!(claim_after(&mut Parser::new(family("md5")).like(Some("md5sum")), base64), None);
        assert_eq!(claim_after(&mut Parser::new(Vec::new()), base64), None);
    }

    #[test]
    fn only_requested_algorithms_are_parsed() {
        let sha256: Vec<_> = algorithms().iter().filter(|algorithm| algorithm.name == "sha256").collect();
        let mut parser = Parser::new(sha256);
        assert_eq!(claim_after(&mut parser, &format!("{SHA256}  a")).unwrap().0, ["sha256"]);
        assert_eq!(claim_after(&mut parser, &format!("BLAKE3 (a) = {SHA256}")), None);
        assert_eq!(claim_after(&mut parser, &format!("{MD5}  a")), None);
    }
}
