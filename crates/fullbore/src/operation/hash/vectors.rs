//! Published sums, and the split law at every cut.

use proptest::prelude::*;

use super::*;

fn sum(name: &str, bytes: &[u8]) -> String {
    hex(&Hash::named(name).unwrap().of(bytes))
}

/// The input of blake3's test vectors: 0 to 250, repeated.
fn pattern(len: usize) -> Vec<u8> {
    (0..len).map(|place| (place % 251) as u8).collect()
}

/// Folds `bytes` cut at `cuts`, each part in two blocks, the parts merged in the order that `order` chooses.
fn folded(hash: &Hash, bytes: &[u8], unit: usize, cuts: &[usize], order: &[usize]) -> Vec<u8> {
    let units = bytes.len() / unit;
    let mut places: Vec<usize> = cuts.iter().map(|cut| cut % (units + 1) * unit).collect();
    places.extend([0, bytes.len()]);
    places.sort_unstable();
    let mut states: Vec<_> = places
        .windows(2)
        .map(|pair| {
            let mut state = hash.identity();
            let half = pair[0].midpoint(pair[1]).next_multiple_of(unit).min(pair[1]);
            hash.block(&mut state, pair[0] as u64, &bytes[pair[0]..half]);
            hash.block(&mut state, half as u64, &bytes[half..pair[1]]);
            state
        })
        .collect();
    let mut order = order.iter().cycle();
    while states.len() > 1 {
        let at = order.next().unwrap() % (states.len() - 1);
        let right = states.remove(at + 1);
        hash.merge(&mut states[at], right);
    }
    states.pop().unwrap().finish()
}

/// FIPS 180-4's examples (NIST, "Example Values"), RFC 1321 and RFC 3174, and NIST's million times "a".
#[test]
fn published_sums_of_the_sequential_hashes() {
    let two_blocks: &[u8] = b"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
    let million = vec![b'a'; 1_000_000];
    for (name, bytes, wanted) in [
        ("sha256", &b""[..], "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        ("sha256", b"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        ("sha256", two_blocks, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"),
        ("sha256", &million, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"),
        (
            "sha512",
            b"",
            "cf83e1357eefb8bdf1542850d66d8007d620e4050b5715dc83f4a921d36ce9ce\
             47d0d13c5d85f2b0ff8318d2877eec2f63b931bd47417a81a538327af927da3e",
        ),
        (
            "sha512",
            b"abc",
            "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a\
             2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f",
        ),
        (
            "sha512",
            &million,
            "e718483d0ce769644e2e42c7bc15b4638e1f98b13b2044285632a803afa973eb\
             de0ff244877ea60a4cb0432ce577c31beb009c5c2c49aa2e4eadb217ad8cc09b",
        ),
        ("sha1", b"", "da39a3ee5e6b4b0d3255bfef95601890afd80709"),
        ("sha1", b"abc", "a9993e364706816aba3e25717850c26c9cd0d89d"),
        ("sha1", two_blocks, "84983e441c3bd26ebaae4aa1f95129e5e54670f1"),
        ("sha1", &million, "34aa973cd4c4daa4f61eeb2bdbad27316534016f"),
        ("md5", b"", "d41d8cd98f00b204e9800998ecf8427e"),
        ("md5", b"abc", "900150983cd24fb0d6963f7d28e17f72"),
        ("md5", b"message digest", "f96b697d7cb7938d525a2f31aaf161d0"),
        ("md5", b"abcdefghijklmnopqrstuvwxyz", "c3fcd3d76192e4007dfb496cca67e13b"),
        (
            "md5",
            b"12345678901234567890123456789012345678901234567890123456789012345678901234567890",
            "57edf4a22be3c955ac49da2e2107b67a",
        ),
    ] {
        assert_eq!(sum(name, bytes), wanted, "{name} of {} bytes", bytes.len());
    }
}

/// RFC 3720, appendix B.4; Cook's catalogue for the check value.
#[test]
fn published_sums_of_crc32c() {
    assert_eq!(sum("crc32c", b""), "00000000");
    assert_eq!(sum("crc32c", b"123456789"), "e3069283");
    // The RFC prints the bytes in wire order, the last first.
    assert_eq!(sum("crc32c", &[0; 32]), "8a9136aa");
    assert_eq!(sum("crc32c", &[0xff; 32]), "62a8ab43");
    let (up, down): (Vec<u8>, Vec<u8>) = ((0..32).collect(), (0..32).rev().collect());
    assert_eq!(sum("crc32c", &up), "46dd794e");
    assert_eq!(sum("crc32c", &down), "113fdb5c");
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

/// By length: plain, keyed, derived (the BLAKE3 team's `test_vectors.json`, the first 32 bytes of each).
const BLAKE3_CASES: &[(usize, &str, &str, &str)] = &[
    (
        0,
        "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262",
        "92b2b75604ed3c761f9d6f62392c8a9227ad0ea3f09573e783f1498a4ed60d26",
        "2cc39783c223154fea8dfb7c1b1660f2ac2dcbd1c1de8277b0b0dd39b7e50d7d",
    ),
    (
        1,
        "2d3adedff11b61f14c886e35afa036736dcd87a74d27b5c1510225d0f592e213",
        "6d7878dfff2f485635d39013278ae14f1454b8c0a3a2d34bc1ab38228a80c95b",
        "b3e2e340a117a499c6cf2398a19ee0d29cca2bb7404c73063382693bf66cb06c",
    ),
    (
        2,
        "7b7015bb92cf0b318037702a6cdd81dee41224f734684c2c122cd6359cb1ee63",
        "5392ddae0e0a69d5f40160462cbd9bd889375082ff224ac9c758802b7a6fd20a",
        "1f166565a7df0098ee65922d7fea425fb18b9943f19d6161e2d17939356168e6",
    ),
    (
        3,
        "e1be4d7a8ab5560aa4199eea339849ba8e293d55ca0a81006726d184519e647f",
        "39e67b76b5a007d4921969779fe666da67b5213b096084ab674742f0d5ec62b9",
        "440aba35cb006b61fc17c0529255de438efc06a8c9ebf3f2ddac3b5a86705797",
    ),
    (
        4,
        "f30f5ab28fe047904037f77b6da4fea1e27241c5d132638d8bedce9d40494f32",
        "7671dde590c95d5ac9616651ff5aa0a27bee5913a348e053b8aa9108917fe070",
        "f46085c8190d69022369ce1a18880e9b369c135eb93f3c63550d3e7630e91060",
    ),
    (
        5,
        "b40b44dfd97e7a84a996a91af8b85188c66c126940ba7aad2e7ae6b385402aa2",
        "73ac69eecf286894d8102018a6fc729f4b1f4247d3703f69bdc6a5fe3e0c8461",
        "1f24eda69dbcb752847ec3ebb5dd42836d86e58500c7c98d906ecd82ed9ae47f",
    ),
    (
        6,
        "06c4e8ffb6872fad96f9aaca5eee1553eb62aed0ad7198cef42e87f6a616c844",
        "82d3199d0013035682cc7f2a399d4c212544376a839aa863a0f4c91220ca7a6d",
        "be96b30b37919fe4379dfbe752ae77b4f7e2ab92f7ff27435f76f2f065f6a5f4",
    ),
    (
        7,
        "3f8770f387faad08faa9d8414e9f449ac68e6ff0417f673f602a646a891419fe",
        "af0a7ec382aedc0cfd626e49e7628bc7a353a4cb108855541a5651bf64fbb28a",
        "dc3b6485f9d94935329442916b0d059685ba815a1fa2a14107217453a7fc9f0e",
    ),
    (
        8,
        "2351207d04fc16ade43ccab08600939c7c1fa70a5c0aaca76063d04c3228eaeb",
        "be2f5495c61cba1bb348a34948c004045e3bd4dae8f0fe82bf44d0da245a0600",
        "2b166978cef14d9d438046c720519d8b1cad707e199746f1562d0c87fbd32940",
    ),
    (
        63,
        "e9bc37a594daad83be9470df7f7b3798297c3d834ce80ba85d6e207627b7db7b",
        "bb1eb5d4afa793c1ebdd9fb08def6c36d10096986ae0cfe148cd101170ce37ae",
        "b6451e30b953c206e34644c6803724e9d2725e0893039cfc49584f991f451af3",
    ),
    (
        64,
        "4eed7141ea4a5cd4b788606bd23f46e212af9cacebacdc7d1f4c6dc7f2511b98",
        "ba8ced36f327700d213f120b1a207a3b8c04330528586f414d09f2f7d9ccb7e6",
        "a5c4a7053fa86b64746d4bb688d06ad1f02a18fce9afd3e818fefaa7126bf73e",
    ),
    (
        65,
        "de1e5fa0be70df6d2be8fffd0e99ceaa8eb6e8c93a63f2d8d1c30ecb6b263dee",
        "c0a4edefa2d2accb9277c371ac12fcdbb52988a86edc54f0716e1591b4326e72",
        "51fd05c3c1cfbc8ed67d139ad76f5cf8236cd2acd26627a30c104dfd9d3ff8a8",
    ),
    (
        127,
        "d81293fda863f008c09e92fc382a81f5a0b4a1251cba1634016a0f86a6bd640d",
        "c64200ae7dfaf35577ac5a9521c47863fb71514a3bcad18819218b818de85818",
        "c91c090ceee3a3ac81902da31838012625bbcd73fcb92e7d7e56f78deba4f0c3",
    ),
    (
        128,
        "f17e570564b26578c33bb7f44643f539624b05df1a76c81f30acd548c44b45ef",
        "b04fe15577457267ff3b6f3c947d93be581e7e3a4b018679125eaf86f6a628ec",
        "81720f34452f58a0120a58b6b4608384b5c51d11f39ce97161a0c0e442ca0225",
    ),
    (
        129,
        "683aaae9f3c5ba37eaaf072aed0f9e30bac0865137bae68b1fde4ca2aebdcb12",
        "d4a64dae6cdccbac1e5287f54f17c5f985105457c1a2ec1878ebd4b57e20d38f",
        "938d2d4435be30eafdbb2b7031f7857c98b04881227391dc40db3c7b21f41fc1",
    ),
    (
        1023,
        "10108970eeda3eb932baac1428c7a2163b0e924c9a9e25b35bba72b28f70bd11",
        "c951ecdf03288d0fcc96ee3413563d8a6d3589547f2c2fb36d9786470f1b9d6e",
        "74a16c1c3d44368a86e1ca6df64be6a2f64cce8f09220787450722d85725dea5",
    ),
    (
        1024,
        "42214739f095a406f3fc83deb889744ac00df831c10daa55189b5d121c855af7",
        "75c46f6f3d9eb4f55ecaaee480db732e6c2105546f1e675003687c31719c7ba4",
        "7356cd7720d5b66b6d0697eb3177d9f8d73a4a5c5e968896eb6a689684302706",
    ),
    (
        1025,
        "d00278ae47eb27b34faecf67b4fe263f82d5412916c1ffd97c8cb7fb814b8444",
        "357dc55de0c7e382c900fd6e320acc04146be01db6a8ce7210b7189bd664ea69",
        "effaa245f065fbf82ac186839a249707c3bddf6d3fdda22d1b95a3c970379bcb",
    ),
    (
        2048,
        "e776b6028c7cd22a4d0ba182a8bf62205d2ef576467e838ed6f2529b85fba24a",
        "879cf1fa2ea0e79126cb1063617a05b6ad9d0b696d0d757cf053439f60a99dd1",
        "7b2945cb4fef70885cc5d78a87bf6f6207dd901ff239201351ffac04e1088a23",
    ),
    (
        2049,
        "5f4d72f40d7a5f82b15ca2b2e44b1de3c2ef86c426c95c1af0b6879522563030",
        "9f29700902f7c86e514ddc4df1e3049f258b2472b6dd5267f61bf13983b78dd5",
        "2ea477c5515cc3dd606512ee72bb3e0e758cfae7232826f35fb98ca1bcbdf273",
    ),
    (
        3072,
        "b98cb0ff3623be03326b373de6b9095218513e64f1ee2edd2525c7ad1e5cffd2",
        "044a0e7b172a312dc02a4c9a818c036ffa2776368d7f528268d2e6b5df191770",
        "050df97f8c2ead654d9bb3ab8c9178edcd902a32f8495949feadcc1e0480c46b",
    ),
    (
        3073,
        "7124b49501012f81cc7f11ca069ec9226cecb8a2c850cfe644e327d22d3e1cd3",
        "68dede9bef00ba89e43f31a6825f4cf433389fedae75c04ee9f0cf16a427c95a",
        "72613c9ec9ff7e40f8f5c173784c532ad852e827dba2bf85b2ab4b76f7079081",
    ),
    (
        4096,
        "015094013f57a5277b59d8475c0501042c0b642e531b0a1c8f58d2163229e969",
        "befc660aea2f1718884cd8deb9902811d332f4fc4a38cf7c7300d597a081bfc0",
        "1e0d7f3db8c414c97c6307cbda6cd27ac3b030949da8e23be1a1a924ad2f25b9",
    ),
    (
        4097,
        "9b4052b38f1c5fc8b1f9ff7ac7b27cd242487b3d890d15c96a1c25b8aa0fb995",
        "00df940cd36bb9fa7cbbc3556744e0dbc8191401afe70520ba292ee3ca80abbc",
        "aca51029626b55fda7117b42a7c211f8c6e9ba4fe5b7a8ca922f34299500ead8",
    ),
    (
        5120,
        "9cadc15fed8b5d854562b26a9536d9707cadeda9b143978f319ab34230535833",
        "2c493e48e9b9bf31e0553a22b23503c0a3388f035cece68eb438d22fa1943e20",
        "7a7acac8a02adcf3038d74cdd1d34527de8a0fcc0ee3399d1262397ce5817f60",
    ),
    (
        5121,
        "628bd2cb2004694adaab7bbd778a25df25c47b9d4155a55f8fbd79f2fe154cff",
        "6ccf1c34753e7a044db80798ecd0782a8f76f33563accaddbfbb2e0ea4b2d024",
        "b07f01e518e702f7ccb44a267e9e112d403a7b3f4883a47ffbed4b48339b3c34",
    ),
    (
        6144,
        "3e2e5b74e048f3add6d21faab3f83aa44d3b2278afb83b80b3c35164ebeca205",
        "3d6b6d21281d0ade5b2b016ae4034c5dec10ca7e475f90f76eac7138e9bc8f1d",
        "2a95beae63ddce523762355cf4b9c1d8f131465780a391286a5d01abb5683a15",
    ),
    (
        6145,
        "f1323a8631446cc50536a9f705ee5cb619424d46887f3c376c695b70e0f0507f",
        "9ac301e9e39e45e3250a7e3b3df701aa0fb6889fbd80eeecf28dbc6300fbc539",
        "379bcc61d0051dd489f686c13de00d5b14c505245103dc040d9e4dd1facab8e5",
    ),
    (
        7168,
        "61da957ec2499a95d6b8023e2b0e604ec7f6b50e80a9678b89d2628e99ada77a",
        "b42835e40e9d4a7f42ad8cc04f85a963a76e18198377ed84adddeaecacc6f3fc",
        "11c37a112765370c94a51415d0d651190c288566e295d505defdad895dae2237",
    ),
    (
        7169,
        "a003fc7a51754a9b3c7fae0367ab3d782dccf28855a03d435f8cfe74605e7817",
        "ed9b1a922c046fdb3d423ae34e143b05ca1bf28b710432857bf738bcedbfa511",
        "554b0a5efea9ef183f2f9b931b7497995d9eb26f5c5c6dad2b97d62fc5ac31d9",
    ),
    (
        8192,
        "aae792484c8efe4f19e2ca7d371d8c467ffb10748d8a5a1ae579948f718a2a63",
        "dc9637c8845a770b4cbf76b8daec0eebf7dc2eac11498517f08d44c8fc00d58a",
        "ad01d7ae4ad059b0d33baa3c01319dcf8088094d0359e5fd45d6aeaa8b2d0c3d",
    ),
    (
        8193,
        "bab6c09cb8ce8cf459261398d2e7aef35700bf488116ceb94a36d0f5f1b7bc3b",
        "954a2a75420c8d6547e3ba5b98d963e6fa6491addc8c023189cc519821b4a1f5",
        "af1e0346e389b17c23200270a64aa4e1ead98c61695d917de7d5b00491c9b0f1",
    ),
    (
        16_384,
        "f875d6646de28985646f34ee13be9a576fd515f76b5b0a26bb324735041ddde4",
        "9e9fc4eb7cf081ea7c47d1807790ed211bfec56aa25bb7037784c13c4b707b0d",
        "160e18b5878cd0df1c3af85eb25a0db5344d43a6fbd7a8ef4ed98d0714c3f7e1",
    ),
    (
        31_744,
        "62b6960e1a44bcc1eb1a611a8d6235b6b4b78f32e7abc4fb4c6cdcce94895c47",
        "efa53b389ab67c593dba624d898d0f7353ab99e4ac9d42302ee64cbf9939a419",
        "39772aef80e0ebe60596361e45b061e8f417429d529171b6764468c22928e28e",
    ),
    (
        102_400,
        "bc3e3d41a1146b069abffad3c0d44860cf664390afce4d9661f7902e7943e085",
        "1c35d1a5811083fd7119f5d5d1ba027b4d01c0c6c49fb6ff2cf75393ea5db4a7",
        "4652cff7a3f385a6103b5c260fc1593e13c778dbe608efb092fe7ee69df6e9c6",
    ),
];

const BLAKE3_KEY: &[u8; 32] = b"whats the Elvish word for friend";
const BLAKE3_CONTEXT: &str = "BLAKE3 2019-12-27 16:29:52 test vectors context";

#[test]
fn published_sums_of_blake3() {
    let keyed = Hash::blake3(Blake3Mode::Keyed(*BLAKE3_KEY), 0, 32);
    let derive = Hash::blake3(Blake3Mode::Derive(derive_context(BLAKE3_CONTEXT)), 0, 32);
    for &(len, plain, key, derived) in BLAKE3_CASES {
        let bytes = pattern(len);
        for (hash, wanted) in [(&Hash::default(), plain), (&keyed, key), (&derive, derived)] {
            assert_eq!(hex(&hash.of(&bytes)), wanted, "{len} bytes at once");
            // Every chunk separately, merged from the left and from the right.
            let every: Vec<usize> = (0..len.div_ceil(1024)).collect();
            for order in [0, usize::MAX / 2] {
                assert_eq!(
                    hex(&folded(hash, &bytes, 1024, &every, &[order])),
                    wanted,
                    "{len} bytes in chunks"
                );
            }
        }
    }
}

#[test]
fn longer_output_of_blake3_is_the_published_one() {
    let wanted = "62b6960e1a44bcc1eb1a611a8d6235b6b4b78f32e7abc4fb4c6cdcce94895c47860cc51f2b0c28a7b77304bd55fe73af663c02d3f52ea053ba43431ca5bab7bfea2f5e9d7121770d88f70ae9649ea713087d1914f7f312147e247f87eb2d4ffef0ac978bf7b6579d57d533355aa20b8b77b13fd09748728a5cc327a8ec470f4013226f";
    let bytes = pattern(31_744);
    assert_eq!(hex(&Hash::blake3(Blake3Mode::Plain, 0, 131).of(&bytes)), wanted);
    assert_eq!(hex(&Hash::blake3(Blake3Mode::Plain, 60, 10).of(&bytes)), wanted[120..140]);
    assert_eq!(hex(&Hash::blake3(Blake3Mode::Plain, 0, 0).of(&bytes)), "");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn blake3_may_be_cut_at_any_chunks(
        len in 0usize..40_000, cuts in proptest::collection::vec(any::<usize>(), 0..12),
        order in proptest::collection::vec(any::<usize>(), 1..6),
    ) {
        let bytes = pattern(len);
        let wanted = ::blake3::hash(&bytes);
        prop_assert_eq!(folded(&Hash::default(), &bytes, 1024, &cuts, &order), wanted.as_bytes());
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
        prop_assert_eq!(sum.finish(), wanted.as_bytes());
    }

    #[test]
    fn crc32c_may_be_cut_anywhere(
        len in 0usize..3000, cuts in proptest::collection::vec(any::<usize>(), 0..12),
        order in proptest::collection::vec(any::<usize>(), 1..6),
    ) {
        let bytes = pattern(len);
        // Bit by bit, from the definition.
        let remainder = bytes.iter().fold(u32::MAX, |crc, &byte| {
            (0..8).fold(crc ^ u32::from(byte), |crc, _| (crc >> 1) ^ ((crc & 1) * 0x82f6_3b78))
        });
        let crc = Hash::named("crc32c").unwrap();
        prop_assert_eq!(folded(&crc, &bytes, 1, &cuts, &order), (!remainder).to_be_bytes());
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
            Ok::<_, ()>((offset, ()))
        };
        let (seen, sums) = PipelinedHashes::run(&hashes, workers, pass).unwrap();
        prop_assert_eq!(seen, len as u64);
        for (hash, sum) in hashes.iter().zip(sums) {
            prop_assert_eq!(hex(&sum), hex(&hash.of(&bytes)), "{}", hash);
        }
        let mut sums = MultiHash::new(&hashes).identity();
        let mut offset = 0;
        for block in bytes.chunks(request) {
            MultiHash::new(&hashes).block(&mut sums, offset, block);
            offset += block.len() as u64;
        }
        for (hash, sum) in hashes.iter().zip(sums) {
            prop_assert_eq!(hex(&sum.finish()), hex(&hash.of(&bytes)), "{} together", hash);
        }
    }
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

/// FIPS 180-4 and FIPS 202 (NIST, "Example Values"), RFC 7693, GB/T 32905-2016, and POSIX `cksum` of nothing.
#[test]
fn published_sums_of_the_algorithms_of_cksum() {
    for (name, bytes, wanted) in [
        ("sha224", &b"abc"[..], "23097d223405d8228642a477bda255b32aadbce4bda0b3f7e36c9da7"),
        (
            "sha384",
            b"abc",
            "cb00753f45a35e8bb5a03d699ac65007272c32ab0eded1631a8b605a43ff5bed8086072ba1e7cc2358baeca134c825a7",
        ),
        (
            "blake2b",
            b"abc",
            "ba80a53f981c4d0d6a2797b69f12f6e94c212f14685ac4b74b12bb6fdbffa2d1\
             7d87c5392aab792dc252d5de4533cc9518d38aa8dbf1925ab92386edd4009923",
        ),
        ("sha3-224", b"abc", "e642824c3f8cf24ad09234ee7d3c766fc9a3a5168d0c94ad73b46fdf"),
        ("sha3-256", b"abc", "3a985da74fe225b2045c172d6bd390bd855f086e3e9d525b46bfe24511431532"),
        (
            "sha3-384",
            b"abc",
            "ec01498288516fc926459f58e2c6ad8df9b473cb0fc08c2596da7cf0e49be4b298d88cea927ac7f539f1edf228376d25",
        ),
        (
            "sha3-512",
            b"abc",
            "b751850b1a57168a5693cd924b6b096e08f621827444f70d884f5d0240d2712e\
             10e116e9192af3c91a7ec57647e3934057340b4cf408d5a56592f8274eec53f0",
        ),
        ("sm3", b"abc", "66c7f0f462eeedd9d1f2d46bdc10e4e24167c4875cf2f7a2297da02b8f4ba8e0"),
        ("crc", b"", "ffffffff"),
        ("crc", b"123456789", "377a6011"),
        ("bsd", b"abc", "40ac"),
        ("sysv", b"abc", "0126"),
    ] {
        assert_eq!(sum(name, bytes), wanted, "{name} of {:?}", bytes.escape_ascii().to_string());
    }
    assert_eq!(hex(&Hash::blake2b(4).of(b"abc")), "63906248");
}

proptest! {
    #[test]
    fn checksums_may_be_cut_anywhere(
        len in 0usize..3000, cuts in proptest::collection::vec(any::<usize>(), 0..12),
        order in proptest::collection::vec(any::<usize>(), 1..6),
    ) {
        let bytes = pattern(len);
        for name in ["crc", "sysv"] {
            let hash = Hash::named(name).unwrap();
            prop_assert_eq!(folded(&hash, &bytes, 1, &cuts, &order), hash.of(&bytes), "{}", name);
        }
        // Bit by bit, from the definition of POSIX.
        let octets = (0..8).map(|place| (len >> (8 * place)) as u8);
        let octets = octets.take((usize::BITS - len.leading_zeros()).div_ceil(8) as usize);
        let remainder = bytes.iter().copied().chain(octets).fold(0u32, |crc, byte| {
            (0..8).fold(crc ^ u32::from(byte) << 24, |crc, _| (crc << 1) ^ ((crc >> 31) * 0x04c1_1db7))
        });
        prop_assert_eq!(Hash::named("crc").unwrap().of(&bytes), (!remainder).to_be_bytes());
    }
}
