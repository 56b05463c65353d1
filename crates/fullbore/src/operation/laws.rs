//! Laws of every operation: its definition, the split law, and equal results of both kernels.

use super::{Kernel, Split, Transform, parse, registry};
use proptest::prelude::*;

const KERNELS: [Kernel; 2] = [Kernel::Simd, Kernel::Scalar];
const SMALL: &str = "abcdefghijklmnopqrstuvwxyz";
const LARGE: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
const DIGITS: &str = "0123456789";

fn operation(spec: &str, kernel: Kernel) -> Box<dyn Transform> {
    parse(spec, kernel).unwrap_or_else(|error| panic!("{error}"))
}

fn applied(operation: &dyn Transform, offset: u64, source: &[u8]) -> Vec<u8> {
    let mut target = vec![0xaa; source.len()];
    operation.apply(offset, source, &mut target);
    target
}

/// Every byte value, several vectors long and with a tail shorter than one.
fn every_byte() -> Vec<u8> {
    (0..=255u8).cycle().take(256 * 3 + 77).collect()
}

/// Compares a byte-wise operation with its definition for one byte.
fn check_bytes(spec: &str, definition: impl Fn(u8) -> u8) {
    let source = every_byte();
    let expected: Vec<u8> = source.iter().map(|&byte| definition(byte)).collect();
    for kernel in KERNELS {
        assert_eq!(applied(&*operation(spec, kernel), 12_345, &source), expected, "{spec} {kernel:?}");
    }
}

/// Result of `tr FROM TO` for a byte.
fn tr(byte: u8, from: &str, to: &str) -> u8 {
    from.find(byte as char).map_or(byte, |place| to.as_bytes()[place])
}

#[test]
fn shift_adds_modulo_256() {
    for number in (-300i128..=300).chain([i128::MAX, i128::MIN, 1 << 64, -(1 << 64) - 5]) {
        let step = number.rem_euclid(256);
        check_bytes(&format!("shift:{number}"), |byte| ((i128::from(byte) + step) % 256) as u8);
    }
}

#[test]
fn caesar_moves_within_each_class() {
    for number in (-140i128..=140).chain([i128::MAX, i128::MIN]) {
        check_bytes(&format!("caesar:{number}"), |byte| {
            for class in [SMALL, LARGE, DIGITS] {
                if let Some(place) = class.find(byte as char) {
                    let size = class.len() as i128;
                    return class.as_bytes()
                        [((place as i128 + number.rem_euclid(size)).rem_euclid(size)) as usize];
                }
            }
            byte
        });
    }
}

#[test]
fn rot13_upper_and_lower_are_what_tr_does() {
    let from = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let to = "NOPQRSTUVWXYZABCDEFGHIJKLMnopqrstuvwxyzabcdefghijklm";
    check_bytes("rot13", |byte| tr(byte, from, to));
    check_bytes("upper", |byte| tr(byte, SMALL, LARGE));
    check_bytes("lower", |byte| tr(byte, LARGE, SMALL));
}

#[test]
fn none_changes_nothing() {
    check_bytes("none", |byte| byte);
    assert!(operation("none", Kernel::Simd).changes_nothing());
    assert!(!operation("upper", Kernel::Simd).changes_nothing());
}

#[test]
fn swab_swaps_pairs_and_leaves_an_odd_last_byte() {
    for kernel in KERNELS {
        for length in 0..400usize {
            let source: Vec<u8> = every_byte()[..length].to_vec();
            let expected: Vec<u8> = (0..length)
                .map(|place| if place == length & !1 { source[place] } else { source[place ^ 1] })
                .collect();
            assert_eq!(applied(&*operation("swab", kernel), 0, &source), expected, "{length} {kernel:?}");
        }
    }
}

#[test]
fn every_operation_is_held_to_the_laws() {
    let drawn = SPECS.iter().map(|spec| spec.split(':').next().unwrap());
    for operation in registry() {
        assert!(drawn.clone().any(|name| name == operation.name()), "{} is not in SPECS", operation.name());
    }
}

/// One specification per operation; `N` and `HEX` are replaced by random values.
const SPECS: [&str; 8] = ["shift:N", "xor:HEX", "caesar:N", "rot13", "upper", "lower", "swab", "none"];

fn hex(key: &[u8]) -> String {
    key.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn any_key() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        8 => proptest::collection::vec(any::<u8>(), 1..70),
        1 => proptest::collection::vec(any::<u8>(), 4000..4200),
        1 => proptest::collection::vec(any::<u8>(), 9000..9100),
    ]
}

fn any_spec() -> impl Strategy<Value = String> {
    (proptest::sample::select(&SPECS), any::<i128>(), any_key())
        .prop_map(|(spec, number, key)| spec.replace("HEX", &hex(&key)).replace('N', &number.to_string()))
}

fn any_data() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        3 => proptest::collection::vec(any::<u8>(), 0..300),
        1 => proptest::collection::vec(any::<u8>(), 4000..13_000),
    ]
}

/// The nearest offset at or below `place` where `split` allows a cut.
fn allowed_cut(split: Split, place: u64) -> u64 {
    place - place % split.unit() as u64
}

proptest! {
    #[test]
    fn both_kernels_and_both_forms_agree_at_any_alignment(
        spec in any_spec(),
        data in any_data(),
        offset: u64,
        skips in (0usize..64, 0usize..64),
    ) {
        let simd = operation(&spec, Kernel::Simd);
        let scalar = operation(&spec, Kernel::Scalar);
        let offset = allowed_cut(simd.split(), offset);
        let source = &data[skips.0.min(data.len())..];
        let expected = applied(&*scalar, offset, source);

        for operation in [&simd, &scalar] {
            // Frames around the run reveal writes outside it.
            let mut target = vec![0x55; skips.1 + source.len() + 64];
            operation.apply(offset, source, &mut target[skips.1..][..source.len()]);
            prop_assert_eq!(&target[skips.1..][..source.len()], &expected);
            prop_assert!(target[..skips.1].iter().chain(&target[skips.1 + source.len()..]).all(|&b| b == 0x55));

            target[skips.1..][..source.len()].copy_from_slice(source);
            operation.apply_in_place(offset, &mut target[skips.1..][..source.len()]);
            prop_assert_eq!(&target[skips.1..][..source.len()], &expected);
            prop_assert!(target[..skips.1].iter().chain(&target[skips.1 + source.len()..]).all(|&b| b == 0x55));
        }
    }

    #[test]
    fn any_allowed_cut_gives_the_same_bytes(
        spec in any_spec(),
        data in any_data(),
        offset in 0..u64::MAX / 2,
        cuts in proptest::collection::vec(any::<proptest::sample::Index>(), 0..8),
        kernel in proptest::sample::select(&KERNELS),
    ) {
        let operation = operation(&spec, kernel);
        let offset = allowed_cut(operation.split(), offset);
        let whole = applied(&*operation, offset, &data);
        let mut places: Vec<usize> = cuts
            .iter()
            .map(|cut| allowed_cut(operation.split(), cut.index(data.len() + 1) as u64) as usize)
            .chain([0, data.len()])
            .collect();
        places.sort_unstable();
        let mut parts = Vec::new();
        for place in places.windows(2) {
            parts.extend(applied(&*operation, offset + place[0] as u64, &data[place[0]..place[1]]));
        }
        prop_assert_eq!(parts, whole);
    }

    #[test]
    fn xor_is_the_key_repeated_from_the_first_byte_of_the_file(
        key in any_key(), data in any_data(), offset: u64,
    ) {
        let expected: Vec<u8> = data
            .iter()
            .enumerate()
            .map(|(place, byte)| {
                byte ^ key[((u128::from(offset) + place as u128) % key.len() as u128) as usize]
            })
            .collect();
        // A file does not exceed 2^64 bytes.
        prop_assume!(offset.checked_add(data.len() as u64).is_some());
        for kernel in KERNELS {
            let operation = operation(&format!("xor:{}", hex(&key)), kernel);
            prop_assert_eq!(&applied(&*operation, offset, &data), &expected);
        }
    }
}
