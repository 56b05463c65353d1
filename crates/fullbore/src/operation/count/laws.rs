//! Laws of counting: for every cut and on every processor, the result equals that of wc's own loop over characters.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

use super::character::{Characters, Class, Decoded, decode, length};
use super::lanes::Processor;
use super::{Count, CountState, Counts, Encoding};
use crate::operation::Fold;

/// Counts one character after the other: the reference.
fn slowly(count: &Count, bytes: &[u8]) -> Counts {
    let mut counts = Counts { bytes: bytes.len() as u64, ..Counts::default() };
    let (mut inside, mut column, mut at) = (false, 0, 0);
    let mut space = |inside: &mut bool| counts.words += u64::from(std::mem::take(inside));
    while let Some(&byte) = bytes.get(at) {
        at += 1;
        counts.characters += 1;
        match byte {
            b'\n' | b'\r' | 0x0c => {
                counts.lines += u64::from(byte == b'\n');
                counts.columns = counts.columns.max(std::mem::take(&mut column));
                space(&mut inside);
            }
            b'\t' => {
                column += 8 - column % 8;
                space(&mut inside);
            }
            b' ' => {
                column += 1;
                space(&mut inside);
            }
            0x0b => space(&mut inside),
            b'!'..=b'~' => {
                column += 1;
                inside = true;
            }
            0xc0.. if count.encoding == Encoding::Utf8 => match decode(&bytes[at - 1..]) {
                Decoded::Whole(code) => {
                    at += length(byte) - 1;
                    let character = count.characters.lookup(code);
                    column += character.width;
                    match character.class {
                        Class::Space => space(&mut inside),
                        Class::Word => inside = true,
                        Class::Unseen => {}
                    }
                }
                Decoded::Cut | Decoded::Broken => counts.characters -= 1,
            },
            0x80.. if count.encoding == Encoding::Utf8 => counts.characters -= 1,
            _ => {}
        }
    }
    counts.words += u64::from(inside);
    counts.columns = counts.columns.max(column);
    if !count.columns {
        counts.columns = 0;
    }
    if !count.words {
        counts.words = 0;
        counts.characters = if count.encoding == Encoding::Bytes { counts.bytes } else { 0 };
    }
    counts
}

fn every_count() -> impl Iterator<Item = Count> {
    let one = |encoding| {
        let count = Count::new(encoding);
        [
            count.clone().lines_only(),
            count.clone().with_columns(),
            count.clone().posixly_correct(),
            count.clone().posixly_correct().with_columns(),
            count,
        ]
    };
    [Encoding::Bytes, Encoding::Utf8].into_iter().flat_map(one)
}

fn any_count() -> impl Strategy<Value = Count> {
    (select(every_count().collect::<Vec<_>>()), select(Processor::all()))
        .prop_map(|(count, processor)| Count { processor, ..count })
}

/// Text with all difficulties: words, spaces, controls, wide and zero-width characters, whole, cut and broken.
fn any_text() -> impl Strategy<Value = Vec<u8>> {
    let character = |code: u32| char::from_u32(code).unwrap_or('?').to_string().into_bytes();
    let spaces = [
        0x20, 9, 10, 11, 12, 13, 0x85, 0xa0, 0x1680, 0x2000, 0x2007, 0x2028, 0x202f, 0x205f, 0x2060, 0x3000,
        0xfeff, 0x200b, 0,
    ];
    let piece = prop_oneof![
        6 => "[a-zA-Z]{1,12}".prop_map(String::into_bytes),
        4 => select(spaces.to_vec()).prop_map(character),
        2 => "[äöüéßжщя中文字カナ한글]{1,9}".prop_map(String::into_bytes),
        2 => any::<char>().prop_map(move |it| character(it.into())),
        1 => vec(any::<u8>(), 1..9),
        1 => vec(select(vec![0x80_u8, 0xbf, 0xc0, 0xc3, 0xe0, 0xed, 0xe4, 0xf0, 0xf4, 0xf8, 0xfc, 0xff, 0x20]), 1..9),
        1 => (any::<char>(), 0..4_usize).prop_map(move |(it, cut)| {
            let bytes = character(it.into());
            bytes[..cut.min(bytes.len())].to_vec()
        }),
        1 => (0x80..=0xbf_u8, 1..140_usize).prop_map(|(byte, times)| vec![byte; times]),
        1 => "[ -~\t-\r]{200,700}".prop_map(String::into_bytes),
        1 => (select(b" \tx\n\0".to_vec()), 1..140_usize).prop_map(|(byte, times)| vec![byte; times]),
    ];
    vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

/// State of `bytes` cut at `places`, one state per part, merged in the order that `left_first` chooses.
fn cut(count: &Count, bytes: &[u8], places: &[usize], left_first: &dyn Fn(usize) -> bool) -> CountState {
    match places {
        [] => {
            let mut state = count.identity();
            count.block(&mut state, 0, bytes);
            state
        }
        _ => {
            let middle = if left_first(places.len()) { places.len() - 1 } else { places.len() / 2 };
            let place = places[middle];
            let behind: Vec<_> = places[middle + 1..].iter().map(|other| other - place).collect();
            let mut left = cut(count, &bytes[..place], &places[..middle], left_first);
            count.merge(&mut left, cut(count, &bytes[place..], &behind, left_first));
            left
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn counts_equal_those_of_one_character_at_a_time(
        count in any_count(), text in any_text(), skip in 0..70_usize,
    ) {
        let text = &text[skip.min(text.len())..];
        prop_assert_eq!(count.of(text), slowly(&count, text));
    }

    #[test]
    fn any_cuts_merged_in_any_order_give_the_same(
        count in any_count(), text in any_text(), cuts in vec(any::<Index>(), 0..12), order: u16,
    ) {
        let mut places: Vec<_> = cuts.iter().map(|cut| cut.index(text.len() + 1)).collect();
        places.sort_unstable();
        let state = cut(&count, &text, &places, &|depth| order >> (depth % 16) & 1 == 1);
        prop_assert_eq!(count.counts(&state), slowly(&count, &text));
        prop_assert_eq!(&state, &cut(&count, &text, &[], &|_| true), "the state itself");
    }

    #[test]
    fn stripes_of_every_size_give_the_same(count in any_count(), text in any_text(), stripe in 1..80_usize) {
        let mut left = count.identity();
        text.chunks(stripe).for_each(|part| count.block(&mut left, 0, part));
        let mut right = count.identity();
        for part in text.chunks(stripe).rev() {
            let mut state = count.identity();
            count.block(&mut state, 0, part);
            count.merge(&mut state, right);
            right = state;
        }
        prop_assert_eq!(&left, &right);
        prop_assert_eq!(count.counts(&left), slowly(&count, &text));
    }
}

#[test]
fn every_character_counts_alike_everywhere_in_a_block_and_across_every_cut() {
    let mut seen = std::collections::BTreeMap::<_, u32>::new();
    for code in (0..0x11_0000).filter_map(char::from_u32) {
        let mut bytes = [0; 4];
        let spelt = code.encode_utf8(&mut bytes).as_bytes();
        let kind = Characters::of(true).lookup(code.into());
        // A few of each length and kind suffice for the cuts; another test looks up all of them.
        let times = seen.entry((spelt[0], kind.width, kind.class as u8)).or_default();
        *times += 1;
        if *times > 2 {
            continue;
        }
        for (place, count) in (0..70).flat_map(|place| every_count().map(move |count| (place, count))) {
            let text = [&b"x "[..], &b"y".repeat(place), spelt, b"z\tw"].concat();
            let wanted = slowly(&count, &text);
            assert_eq!(count.of(&text), wanted, "{code:?} at {place}");
            for cut in place + 2..place + 2 + spelt.len() {
                let mut state = count.identity();
                count.block(&mut state, 0, &text[..cut]);
                count.block(&mut state, 0, &text[cut..]);
                assert_eq!(count.counts(&state), wanted, "{code:?} cut at {cut}");
            }
        }
    }
}

#[test]
fn every_byte_counts_alike_everywhere_in_printable_ascii() {
    let text = b"A line of words,\ttwice  spaced\r\n".repeat(24);
    for count in every_count()
        .flat_map(|count| Processor::all().iter().map(move |&processor| Count { processor, ..count.clone() }))
    {
        for (byte, place) in
            (0..=u8::MAX).flat_map(|byte| (60..400).step_by(17).map(move |place| (byte, place)))
        {
            let mut text = text.clone();
            text[place] = byte;
            assert_eq!(count.of(&text), slowly(&count, &text), "{byte:#x} at {place}: {count:?}");
        }
    }
}
