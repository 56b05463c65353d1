//! Difficult files for tools that read files, each with a name and a description.
//!
//! [`Corpus::new`] makes the cheap ones, [`long_line`] and [`huge`] the expensive ones. Tests run a tool and its peer
//! over each.

use crate::support::*;
use std::fs::Permissions;

/// The uses of a file of the corpus.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileClass {
    /// At most a few MB, readable repeatedly.
    Plain,
    /// Unreadable without privileges.
    Unreadable,
    /// A directory with one file.
    Directory,
    /// A dangling link.
    Dangling,
    /// Delivers [`PIPED`] if it is written at the same time.
    Fifo,
    /// Outside the directory: a system file with a reported length of zero, or a device.
    System,
    /// A hole of a TB: reading it takes minutes.
    Huge,
}

#[derive(Debug, Clone)]
pub(crate) struct CorpusFile {
    /// Name within the directory; the full path for files outside it.
    pub(crate) name: OsString,
    /// Path of the file.
    pub(crate) path: PathBuf,
    /// Description of the difficulty.
    pub(crate) what: &'static str,
    /// Uses of the file.
    pub(crate) sort: FileClass,
}

/// The content of the fifo.
pub(crate) const PIPED: &[u8] = b"one line\nand another,\nthe last without end";

/// Offsets at which readers are likely to cut a file: powers of two, and buffer sizes of old tools.
const CUTS: [usize; 6] = [4096, 16 << 10, 32 << 10, 64 << 10, 256 << 10, 1 << 20];

/// Characters that Unicode classifies as white space, the non-breaking ones included.
const SPACES: &str = "\t\u{b}\u{c}\r \u{85}\u{a0}\u{1680}\u{2000}\u{2001}\u{2002}\u{2003}\u{2004}\u{2005}\u{2006}\
    \u{2007}\u{2008}\u{2009}\u{200a}\u{2028}\u{2029}\u{202f}\u{205f}\u{3000}\u{1c}\u{1f}";

/// Characters of zero width, or documented as such: joiners, direction marks, fillers, combining accents.
const ZERO_WIDTH: &str = "\u{ad}\u{300}\u{301}\u{34f}\u{483}\u{591}\u{61c}\u{115f}\u{1160}\u{17b4}\u{17b5}\u{180e}\
    \u{200b}\u{200c}\u{200d}\u{200e}\u{200f}\u{202a}\u{202e}\u{2060}\u{2061}\u{2064}\u{2066}\u{206f}\u{20d0}\u{3164}\
    \u{fe00}\u{fe0f}\u{feff}\u{ffa0}\u{fffc}\u{e0001}\u{e0100}";

/// Invalid UTF-8, and one valid sequence at the limit of each range.
const BROKEN: [&[u8]; 14] = [
    b"\x80",
    b"\xbf\xbf",
    b"\xc0\x80",
    b"\xc1\xbf",
    b"\xc3",
    b"\xe2\x82",
    b"\xed\xa0\x80",
    b"\xed\xbf\xbf",
    b"\xf0\x9f\x98",
    b"\xf4\x90\x80\x80",
    b"\xf8\x88\x80\x80\x80",
    b"\xfe\xff",
    b"\xf4\x8f\xbf\xbf",
    b"\xef\xbf\xbf",
];

/// The files, in a directory.
pub(crate) struct Corpus {
    dir: PathBuf,
    /// All files.
    files: Vec<CorpusFile>,
}

impl Corpus {
    pub(crate) fn new(dir: &Path) -> Self {
        let mut corpus = Self { dir: dir.to_owned(), files: Vec::new() };
        corpus.lines();
        corpus.characters();
        corpus.cut();
        corpus.names();
        corpus.sorts();
        corpus
    }

    /// Returns the files that can be read repeatedly.
    pub(crate) fn plain(&self) -> impl Iterator<Item = &CorpusFile> + Clone {
        self.files.iter().filter(|file| file.sort == FileClass::Plain)
    }

    /// Returns every file that can be read to its end in reasonable time by some user.
    pub(crate) fn readable(&self) -> impl Iterator<Item = &CorpusFile> {
        self.files.iter().filter(|file| file.sort != FileClass::Unreadable)
    }

    pub(crate) fn named(&self, name: &str) -> &CorpusFile {
        self.files.iter().find(|file| file.name == name).unwrap()
    }

    /// Returns the file that is unreadable without privileges.
    pub(crate) fn unreadable(&self) -> &CorpusFile {
        self.named("unreadable")
    }

    pub(crate) fn add(
        &mut self,
        name: impl AsRef<OsStr>,
        what: &'static str,
        content: impl AsRef<[u8]>,
    ) -> PathBuf {
        let path = self.dir.join(name.as_ref());
        fs::write(&path, content).unwrap();
        self.note(name, what, FileClass::Plain);
        path
    }

    fn note(&mut self, name: impl AsRef<OsStr>, what: &'static str, sort: FileClass) {
        let (name, path) = (name.as_ref().to_owned(), self.dir.join(name.as_ref()));
        self.files.push(CorpusFile { name, path, what, sort });
    }

    fn lines(&mut self) {
        self.add("empty", "zero bytes", "");
        self.add("newline", "a single newline", "\n");
        self.add("newlines", "empty lines only", "\n".repeat(1000));
        self.add("byte", "one letter", "x");
        self.add("endless", "no newline at the end", "one\ntwo\nthe last of them");
        self.add("crlf", "lines with CR LF", "one\r\ntwo words\r\n\r\nthe end\r\n");
        self.add("cr", "lines with CR", "one\rtwo words\r\rthe end\r");
        self.add("mixed", "every kind of line end", "one\ntwo\r\nthree\rfour\n\rfive\u{85}six\u{2028}seven");
        self.add("nul", "a NUL among letters", b"some\0text\nthe next line\n");
        self.add(
            "nul-late",
            "a NUL far from the start",
            [b"the text\n".repeat(20_000), b"a\0b\n".to_vec()].concat(),
        );
        self.add("nuls", "only NULs", [0; 70_000]);
        self.add("tabs", "tabs, for widths", "\ta\tbb\t\tccc\n12345678\t9\n\t\n");
        self.add("controls", "every control character", (0..32).chain([127]).collect::<Vec<u8>>());
        self.add("bytes", "every byte", (0..=255).collect::<Vec<u8>>());
        self.add("random", "bytes at random", bytes(300_000, 7));
        self.add(
            "long",
            "a line of 200,000 bytes, then a short one",
            "word and ".repeat(22_222) + "\nthe short\n",
        );
        self.add("solid", "one word of 300,000 letters", "x".repeat(300_000));
        self.add(
            "text",
            "ordinary lines",
            "The sun was setting, and singing birds\nwent home to the wood.\n".repeat(2000),
        );
        let other =
            "The sun was setting, and singing birds\nwent home to the wood.\n".repeat(1999) + "The sun!";
        self.add("text-other", "the ordinary lines with another end", other);
        self.add(
            "text-short",
            "the beginning of the ordinary lines",
            "The sun was setting, and singing birds\nwe",
        );
    }

    fn characters(&mut self) {
        let between =
            |characters: &str| characters.chars().flat_map(|c| ['a', c, 'b', ' ']).collect::<String>();
        let on_lines = |characters: &str| {
            characters.chars().flat_map(|c| ['a', c, c, '\n', c, '\n']).collect::<String>()
        };
        self.add("spaces", "every white space of Unicode between letters", between(SPACES));
        self.add("spaces-lines", "each of them on lines of its own", on_lines(SPACES));
        self.add("zero-width", "every zero-width character between letters", between(ZERO_WIDTH));
        self.add("zero-width-lines", "each of them on lines of its own", on_lines(ZERO_WIDTH));
        self.add(
            "wide",
            "characters of two columns, and emoji of several code points",
            "漢字 かな ＡＢ\n👩‍👩‍👧‍👦 🇩🇪 e\u{301}\n한글 ﷽\n",
        );
        self.add(
            "greek",
            "letters without one-to-one case: final sigma, dotless i, long s",
            "ΣΑΣ σας ſ ı İ ß ẞ\n",
        );
        self.add(
            "planes",
            "the last character of each plane",
            (0..=16).filter_map(|n| char::from_u32((n << 16) | 0xfffd)).collect::<String>(),
        );
        let broken: Vec<u8> =
            BROKEN.iter().flat_map(|bytes| [b"a ", *bytes, b" b", *bytes, b"\n"].concat()).collect();
        self.add("broken", "invalid UTF-8 between words and before newlines", &broken);
        self.add("broken-last", "half a character at the end", b"the end \xe2\x82");
        self.add("latin-1", "ISO 8859-1", b"Stra\xdfe caf\xe9\n\xa0na\xefve\xa0\n");
        self.add("bom", "a byte order mark", "\u{feff}the line\nthe next\n");
        let sixteen = |order: fn(u16) -> [u8; 2]| {
            "\u{feff}the line\nzażółć\n".encode_utf16().flat_map(order).collect::<Vec<u8>>()
        };
        self.add("utf-16le", "little-endian UTF-16 with its mark", sixteen(u16::to_le_bytes));
        self.add("utf-16be", "big-endian UTF-16 with its mark", sixteen(u16::to_be_bytes));
    }

    /// Files in which a piece crosses every cut and is incomplete on both sides.
    fn cut(&mut self) {
        let pieces: [(&str, &str, &[u8]); 7] = [
            ("cut-wide", "a character of three bytes across every cut", "語".as_bytes()),
            ("cut-emoji", "a character of four bytes across every cut", "🙂".as_bytes()),
            ("cut-broken", "half a character before every cut", b"\xe8\xaa "),
            ("cut-crlf", "carriage return and newline across every cut", b"\r\n"),
            ("cut-space", "a space of three bytes across every cut", "\u{2003}".as_bytes()),
            ("cut-word", "a search word across every cut", b" singing "),
            ("cut-newline", "a newline before every cut", b"\nx"),
        ];
        for (name, what, piece) in pieces {
            self.add(name, what, across(piece));
        }
    }

    fn names(&mut self) {
        let text = "the text\n";
        self.add("new\nline", "a newline in the name", text);
        self.add(OsStr::from_bytes(b"broken\xff\xe2\x82name"), "a name that is not UTF-8", text);
        self.add("-dash", "a name like a flag", text);
        self.add(" space  ", "spaces around the name", text);
        self.add("quote'\"", "quotes in the name", text);
        self.add("back\\slash", "a backslash in the name", text);
        self.add("*?[", "a name that shells would expand", text);
        self.add("tab\tbell\x07", "control characters in the name", text);
        self.add("名前é\u{301}", "a name in non-Latin letters", text);
        self.add("n".repeat(255), "the longest name", text);
    }

    fn sorts(&mut self) {
        let sparse = self.add("sparse", "4 MB of hole with a line in the middle", "");
        let file = File::options().write(true).open(&sparse).unwrap();
        file.set_len(4 << 20).unwrap();
        file.write_all_at(b"\nthe line\n", 9 << 18).unwrap();
        let hole = self.add("hole", "only a hole", "");
        File::options().write(true).open(hole).unwrap().set_len(1_000_001).unwrap();

        symlink("text", self.dir.join("link")).unwrap();
        self.note("link", "a symbolic link", FileClass::Plain);
        symlink("nowhere", self.dir.join("dangling")).unwrap();
        self.note("dangling", "a dangling symbolic link", FileClass::Dangling);
        fs::create_dir(self.dir.join("directory")).unwrap();
        fs::write(self.dir.join("directory/file"), "the text\n").unwrap();
        self.note("directory", "a directory", FileClass::Directory);
        let unreadable = self.add("unreadable", "readable by root only", "the secret\n");
        fs::set_permissions(unreadable, Permissions::from_mode(0o000)).unwrap();
        self.files.last_mut().unwrap().sort = FileClass::Unreadable;
        fifo(&self.dir.join("fifo"));
        self.note("fifo", "a named pipe", FileClass::Fifo);
        self.note("/proc/version", "reports a length of zero but has content", FileClass::System);
        self.note("/proc/filesystems", "reports a length of zero but has lines", FileClass::System);
        self.note("/dev/null", "a device without content", FileClass::System);
    }
}

/// Returns words in which `piece` crosses each of [`CUTS`], at each of its bytes in turn.
fn across(piece: &[u8]) -> Vec<u8> {
    let len = CUTS[CUTS.len() - 1] + 10_000;
    let mut text: Vec<u8> = b"some words of text \n".iter().copied().cycle().take(len).collect();
    for (turn, cut) in CUTS.iter().enumerate() {
        for (multiple, at) in (*cut..len).step_by((*cut).max(64 << 10)).enumerate() {
            let before = 1 + (turn + multiple) % (piece.len() - 1).max(1);
            text[at - before..][..piece.len()].copy_from_slice(piece);
        }
    }
    text
}

/// Creates a file with a line of 100 MB between two short ones.
pub(crate) fn long_line(dir: &Path) -> CorpusFile {
    let path = dir.join("line-of-100-MB");
    let mut file = File::create_new(&path).unwrap();
    file.write_all(b"the first\n").unwrap();
    let block = b"words and more words ".repeat(50_000);
    for _ in 0..100_000_000 / block.len() {
        file.write_all(&block).unwrap();
    }
    file.write_all(b"singing \nthe last\n").unwrap();
    CorpusFile { name: "line-of-100-MB".into(), path, what: "a line of 100 MB", sort: FileClass::Plain }
}

/// Creates a file of 1 TB that is a hole except for a line in its middle; `None`, with the reason printed, if the file
/// system does not support such lengths.
pub(crate) fn huge(dir: &Path) -> Option<CorpusFile> {
    let path = dir.join("huge");
    let file = File::create_new(&path).unwrap();
    let made = file.set_len(1 << 40).and_then(|()| file.write_all_at(b"\nthe line\n", 1 << 39));
    or_skip("a file of 1 TB", made)?;
    Some(CorpusFile {
        name: "huge".into(),
        path,
        what: "a hole of 1 TB with a line in its middle",
        sort: FileClass::Huge,
    })
}
