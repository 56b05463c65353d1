//! Published sums, and the split law at every cut.

use proptest::prelude::*;

use super::*;
use crate::operation::Fold;
use crate::operation::folded::folded;

fn sum(name: &str, bytes: &[u8]) -> String {
    Hash::named(name).unwrap().of(bytes).to_string()
}

/// The input of blake3's test vectors: 0 to 250, repeated.
fn pattern(len: usize) -> Vec<u8> {
    (0..len).map(|place| (place % 251) as u8).collect()
}

/// Algorithm, input and sum: FIPS 180-4 and FIPS 202 (NIST, "Example Values"), RFC 1321, RFC 3174, RFC 7693, GB/T 32905-2016,
/// POSIX `cksum` of nothing; for crc32c RFC 3720, appendix B.4, which prints the bytes in wire order, the last first, and Cook's
/// catalogue for the check value.
const PUBLISHED: &str = "\
sha256 <nothing> e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
sha256 abc ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad
sha256 abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq 248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1
sha256 <million> cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0
sha512 <nothing> cf83e1357eefb8bdf1542850d66d8007d620e4050b5715dc83f4a921d36ce9ce47d0d13c5d85f2b0ff8318d2877eec2f63b931bd47417a81a538327af927da3e
sha512 abc ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f
sha512 <million> e718483d0ce769644e2e42c7bc15b4638e1f98b13b2044285632a803afa973ebde0ff244877ea60a4cb0432ce577c31beb009c5c2c49aa2e4eadb217ad8cc09b
sha1 <nothing> da39a3ee5e6b4b0d3255bfef95601890afd80709
sha1 abc a9993e364706816aba3e25717850c26c9cd0d89d
sha1 abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq 84983e441c3bd26ebaae4aa1f95129e5e54670f1
sha1 <million> 34aa973cd4c4daa4f61eeb2bdbad27316534016f
md5 <nothing> d41d8cd98f00b204e9800998ecf8427e
md5 abc 900150983cd24fb0d6963f7d28e17f72
md5 message_digest f96b697d7cb7938d525a2f31aaf161d0
md5 abcdefghijklmnopqrstuvwxyz c3fcd3d76192e4007dfb496cca67e13b
md5 12345678901234567890123456789012345678901234567890123456789012345678901234567890 57edf4a22be3c955ac49da2e2107b67a
crc32c <nothing> 00000000
crc32c 123456789 e3069283
crc32c <zeros> 8a9136aa
crc32c <ones> 62a8ab43
crc32c <up> 46dd794e
crc32c <down> 113fdb5c
sha224 abc 23097d223405d8228642a477bda255b32aadbce4bda0b3f7e36c9da7
sha384 abc cb00753f45a35e8bb5a03d699ac65007272c32ab0eded1631a8b605a43ff5bed8086072ba1e7cc2358baeca134c825a7
blake2b abc ba80a53f981c4d0d6a2797b69f12f6e94c212f14685ac4b74b12bb6fdbffa2d17d87c5392aab792dc252d5de4533cc9518d38aa8dbf1925ab92386edd4009923
sha3-224 abc e642824c3f8cf24ad09234ee7d3c766fc9a3a5168d0c94ad73b46fdf
sha3-256 abc 3a985da74fe225b2045c172d6bd390bd855f086e3e9d525b46bfe24511431532
sha3-384 abc ec01498288516fc926459f58e2c6ad8df9b473cb0fc08c2596da7cf0e49be4b298d88cea927ac7f539f1edf228376d25
sha3-512 abc b751850b1a57168a5693cd924b6b096e08f621827444f70d884f5d0240d2712e10e116e9192af3c91a7ec57647e3934057340b4cf408d5a56592f8274eec53f0
sm3 abc 66c7f0f462eeedd9d1f2d46bdc10e4e24167c4875cf2f7a2297da02b8f4ba8e0
crc <nothing> ffffffff
crc 123456789 377a6011
bsd abc 40ac
sysv abc 0126
";

#[test]
fn sums_are_the_published_ones() {
    for line in PUBLISHED.lines() {
        let [name, input, wanted] = line.split(' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
        let bytes = match input {
            "<nothing>" => Vec::new(),
            "<million>" => vec![b'a'; 1_000_000],
            "<zeros>" => vec![0; 32],
            "<ones>" => vec![0xff; 32],
            "<up>" => (0..32).collect(),
            "<down>" => (0..32).rev().collect(),
            text => text.replace('_', " ").into_bytes(),
        };
        assert_eq!(sum(name, &bytes), wanted, "{name} of {input}");
    }
    assert_eq!(Hash::blake2b(4).unwrap().of(b"abc").to_string(), "63906248");
}

/// The sanity buffer of xxHash: the high bytes of a product with a 32-bit prime, with the results of its self-test.
#[test]
fn published_sums_of_xxh3() {
    let mut generator = 2_654_435_761_u64;
    let buffer: Vec<u8> = std::iter::repeat_with(|| {
        let byte = (generator >> 56) as u8;
        generator = generator.wrapping_mul(11_400_714_785_074_694_797);
        byte
    })
    .take(2367)
    .collect();
    for (len, wanted) in [
        (0, "2d06800538d394c2"),
        (1, "c44bdff4074eecdb"),
        (6, "27b56a84cd2d7325"),
        (12, "a713daf0dfbb77e7"),
        (24, "a3fe70bf9d3510eb"),
        (48, "397da259ecba1f11"),
        (80, "bcdefbbb2c47c90a"),
        (195, "cd94217ee362ec3a"),
        (403, "cdeb804d65c6dea4"),
        (512, "617e49599013cb6b"),
        (2048, "dd59e2c3a5f038e0"),
        (2240, "6e73a90539cf2948"),
        (2367, "cb37aeb9e5d361ed"),
    ] {
        assert_eq!(sum("xxh3", &buffer[..len]), wanted, "{len} bytes");
    }
}

/// Lengths of the inputs, key and context of the BLAKE3 team's `test_vectors.json`.
const BLAKE3_LENGTHS: [usize; 35] = [
    0, 1, 2, 3, 4, 5, 6, 7, 8, 63, 64, 65, 127, 128, 129, 1023, 1024, 1025, 2048, 2049, 3072, 3073, 4096,
    4097, 5120, 5121, 6144, 6145, 7168, 7169, 8192, 8193, 16_384, 31_744, 102_400,
];
const BLAKE3_KEY: &[u8; 32] = b"whats the Elvish word for friend";
const BLAKE3_CONTEXT: &str = "BLAKE3 2019-12-27 16:29:52 test vectors context";

/// The first 32 bytes of the sums of 65 bytes, the shortest input of several blocks, and of 102,400 bytes: plain, with the
/// key, and derived for the context.
const BLAKE3_SUMS: [[&str; 2]; 3] = [
    [
        "de1e5fa0be70df6d2be8fffd0e99ceaa8eb6e8c93a63f2d8d1c30ecb6b263dee",
        "bc3e3d41a1146b069abffad3c0d44860cf664390afce4d9661f7902e7943e085",
    ],
    [
        "c0a4edefa2d2accb9277c371ac12fcdbb52988a86edc54f0716e1591b4326e72",
        "1c35d1a5811083fd7119f5d5d1ba027b4d01c0c6c49fb6ff2cf75393ea5db4a7",
    ],
    [
        "51fd05c3c1cfbc8ed67d139ad76f5cf8236cd2acd26627a30c104dfd9d3ff8a8",
        "4652cff7a3f385a6103b5c260fc1593e13c778dbe608efb092fe7ee69df6e9c6",
    ],
];

#[test]
fn sums_of_blake3_are_the_published_ones() {
    let modes = [
        (Blake3Mode::Plain, ::blake3::Hasher::new()),
        (Blake3Mode::Keyed(*BLAKE3_KEY), ::blake3::Hasher::new_keyed(BLAKE3_KEY)),
        (Blake3Mode::derive(BLAKE3_CONTEXT), ::blake3::Hasher::new_derive_key(BLAKE3_CONTEXT)),
    ];
    for ((mode, reference), published) in modes.into_iter().zip(BLAKE3_SUMS) {
        let hash = Hash::blake3(mode, 0, 32);
        for (len, wanted) in [65, 102_400].into_iter().zip(published) {
            assert_eq!(hash.of(&pattern(len)).to_string(), wanted, "{len} bytes");
        }
        for len in BLAKE3_LENGTHS {
            let bytes = pattern(len);
            let wanted = *reference.clone().update(&bytes).finalize().as_bytes();
            assert_eq!(hash.of(&bytes).as_bytes(), wanted, "{len} bytes at once");
            // Every chunk separately, merged from the left and from the right.
            let every: Vec<usize> = (0..len.div_ceil(1024)).collect();
            for order in [0, usize::MAX / 2] {
                assert_eq!(
                    folded(&hash, &bytes, 1024, &every, &[order]).digest().as_bytes(),
                    wanted,
                    "{len} in chunks"
                );
            }
        }
    }
}

#[test]
fn longer_output_of_blake3_is_the_published_one() {
    let wanted = "62b6960e1a44bcc1eb1a611a8d6235b6b4b78f32e7abc4fb4c6cdcce94895c47860cc51f2b0c28a7b77304bd55fe73af663c02d3f52ea053ba43431ca5bab7bfea2f5e9d7121770d88f70ae9649ea713087d1914f7f312147e247f87eb2d4ffef0ac978bf7b6579d57d533355aa20b8b77b13fd09748728a5cc327a8ec470f4013226f";
    let bytes = pattern(31_744);
    assert_eq!(Hash::blake3(Blake3Mode::Plain, 0, 131).of(&bytes).to_string(), wanted);
    assert_eq!(Hash::blake3(Blake3Mode::Plain, 60, 10).of(&bytes).to_string(), wanted[120..140]);
    assert_eq!(Hash::blake3(Blake3Mode::Plain, 0, 0).of(&bytes).to_string(), "");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn hashes_may_be_cut_as_they_allow(
        len in 0usize..40_000, cuts in proptest::collection::vec(any::<usize>(), 0..12),
        order in proptest::collection::vec(any::<usize>(), 1..6),
    ) {
        let bytes = pattern(len);
        let cut = |name: &str, bytes: &[u8], unit| folded(&Hash::named(name).unwrap(), bytes, unit, &cuts, &order).digest().as_bytes().to_vec();
        let wanted = ::blake3::hash(&bytes);
        prop_assert_eq!(cut("blake3", &bytes, 1024), wanted.as_bytes());
        let bytes = &bytes[..len % 3000];
        // Bit by bit, from the definition.
        let remainder = bytes.iter().fold(u32::MAX, |crc, &byte| {
            (0..8).fold(crc ^ u32::from(byte), |crc, _| (crc >> 1) ^ ((crc & 1) * 0x82f6_3b78))
        });
        prop_assert_eq!(cut("crc32c", bytes, 1), (!remainder).to_be_bytes());
        // Bit by bit, from the definition of POSIX.
        let octets = (0..8).map(|place| (bytes.len() >> (8 * place)) as u8);
        let octets = octets.take((usize::BITS - bytes.len().leading_zeros()).div_ceil(8) as usize);
        let remainder = bytes.iter().copied().chain(octets).fold(0u32, |crc, byte| {
            (0..8).fold(crc ^ u32::from(byte) << 24, |crc, _| (crc << 1) ^ ((crc >> 31) * 0x04c1_1db7))
        });
        prop_assert_eq!(cut("crc", bytes, 1), (!remainder).to_be_bytes());
        prop_assert_eq!(cut("sysv", bytes, 1), Vec::from(Hash::named("sysv").unwrap().of(bytes)));
    }

    #[test]
    fn blake3_goes_forward_in_any_steps(len in 0usize..10_000, step in 1usize..3000) {
        let bytes = pattern(len);
        let mut sum = Hash::default().identity();
        let mut offset = 0;
        for part in bytes.chunks(step) {
            sum.update(offset, part);
            offset += part.len() as u64;
        }
        let wanted = ::blake3::hash(&bytes);
        prop_assert_eq!(Vec::from(sum.digest()), wanted.as_bytes());
    }

    #[test]
    fn pipelined_hashes_equal_separate_ones_for_any_blocks_and_helpers(
        len in 0usize..800_000, request in 500usize..200_000, workers in 1usize..9, count in 1usize..8,
    ) {
        let bytes = pattern(len);
        let hashes: Vec<Hash> = algorithms().iter().rev().take(count).map(Hash::from).collect();
        let pass = |pipeline: &PipelinedHashes| {
            let mut offset = 0;
            for block in bytes.chunks(request) {
                pipeline.block(&mut (), offset, block);
                offset += block.len() as u64;
            }
            Ok::<_, ()>(((), offset))
        };
        PipelinedHashes::run(&[], workers, pass).unwrap();
        let (sums, seen) = PipelinedHashes::run(&hashes, workers, pass).unwrap();
        prop_assert_eq!(seen, len as u64);
        for (hash, sum) in hashes.iter().zip(sums) {
            prop_assert_eq!(sum, hash.of(&bytes), "{}", hash);
        }
        let mut sums = MultiHash::new(&hashes).identity();
        let mut offset = 0;
        for block in bytes.chunks(request) {
            MultiHash::new(&hashes).block(&mut sums, offset, block);
            offset += block.len() as u64;
        }
        for (hash, sum) in hashes.iter().zip(sums) {
            prop_assert_eq!(sum.digest(), hash.of(&bytes), "{} together", hash);
        }
    }
}

#[test]
fn several_hashes_may_be_cut_if_all_may() {
    let [default, crc, md5] = ["blake3", "crc32c", "md5"].map(|name| Hash::named(name).unwrap());
    assert!(MultiHash::new(&[default.clone(), crc]).may_be_cut());
    assert!(!MultiHash::new(&[default, md5]).may_be_cut());
}

#[test]
fn a_failed_pass_ends_the_pipeline_at_once() {
    let hashes = [Hash::default(), Hash::named("md5").unwrap()];
    let pass = |pipeline: &PipelinedHashes| {
        pipeline.block(&mut (), 0, &pattern(3 << 20));
        Err::<((), ()), _>("it failed")
    };
    for workers in 1..5 {
        assert_eq!(PipelinedHashes::run(&hashes, workers, pass).unwrap_err(), "it failed");
    }
}

#[test]
#[should_panic(expected = "cannot be joined")]
fn parts_of_a_sequential_hash_are_not_joined() {
    let md5 = Hash::named("md5").unwrap();
    let (mut left, mut right) = (md5.identity(), md5.identity());
    left.update(0, b"a");
    right.update(1, b"b");
    md5.merge(&mut left, right);
}
