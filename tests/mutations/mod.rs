//! Inputs that are almost right.

use rand::{Rng, RngExt};

/// Some bytes changed, cut, repeated or put in.
pub fn mutated(seed: &[u8], stream: &mut impl Rng) -> Vec<u8> {
    const TOKENS: [&[u8]; 16] = [
        b"\x1b[2J",
        b"\0",
        b"-1",
        b"9999999999999999999",
        b"nan",
        b"1e308",
        b"\xff\xff\xff\xff",
        b"\"",
        b"[[[[",
        b",,,,",
        b"1048576:1",
        b"\n",
        b"{}",
        b"\xc2\x9b",
        b"\xe2\x80\xae",
        b"18446744073709551615",
    ];
    let mut bytes = seed.to_vec();
    for _ in 0..stream.random_range(1..4) {
        if bytes.is_empty() {
            break;
        }
        let at = stream.random_range(0..bytes.len());
        let end = (at + stream.random_range(1..20)).min(bytes.len());
        match stream.random_range(0..7) {
            0 => bytes[at] ^= 1 << stream.random_range(0..8),
            1 => bytes[at] = stream.random_range(0..=255),
            2 => bytes.truncate(at),
            3 => drop(bytes.drain(at..end)),
            4 => bytes.extend_from_within(at..end),
            5 => {
                let token = TOKENS[stream.random_range(0..TOKENS.len())];
                drop(bytes.splice(at..at, token.iter().copied()));
            }
            _ => {
                let piece = bytes[at..end].repeat(stream.random_range(1..50));
                drop(bytes.splice(at..end, piece));
            }
        }
    }
    bytes
}
