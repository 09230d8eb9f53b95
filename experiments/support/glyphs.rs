//! Pictures of 8 x 8 pixels: the ten digits, drawn on 5 x 7 pixels, shifted and with flipped pixels.

use ztrack::data::{Dataset, ImageShape, Splits, Values};
use ztrack::engine::BitMatrix;
use ztrack::engine::random::{Purpose, Streams};

const SIDE: usize = 8;
/// Probability that a pixel is flipped.
const NOISE: f64 = 0.03;
/// The rows of each digit from the top, the most significant of 5 bits on the left.
const DIGITS: [[u8; 7]; 10] = [
    [0b01110, 0b10001, 0b10011, 0b10101, 0b11001, 0b10001, 0b01110],
    [0b00100, 0b01100, 0b00100, 0b00100, 0b00100, 0b00100, 0b01110],
    [0b01110, 0b10001, 0b00001, 0b00110, 0b01000, 0b10000, 0b11111],
    [0b11110, 0b00001, 0b00001, 0b01110, 0b00001, 0b00001, 0b11110],
    [0b00010, 0b00110, 0b01010, 0b10010, 0b11111, 0b00010, 0b00010],
    [0b11111, 0b10000, 0b11110, 0b00001, 0b00001, 0b10001, 0b01110],
    [0b00110, 0b01000, 0b10000, 0b11110, 0b10001, 0b10001, 0b01110],
    [0b11111, 0b00001, 0b00010, 0b00100, 0b00100, 0b01000, 0b01000],
    [0b01110, 0b10001, 0b10001, 0b01110, 0b10001, 0b10001, 0b01110],
    [0b01110, 0b10001, 0b10001, 0b01111, 0b00001, 0b00010, 0b01100],
];

/// `rows` pictures: seven tenths to train on, a tenth to validate, a fifth to test.
pub fn splits(rows: usize) -> Splits {
    let part = |name: &str, range: std::ops::Range<usize>| {
        let pictures: Vec<_> = range.map(picture).collect();
        let bits = BitMatrix::from_fn(pictures.len(), SIDE * SIDE, |row, i| pictures[row][i]);
        let image = Some(ImageShape { height: SIDE, width: SIDE });
        Dataset::new(name, Values::Binary(bits), None, image).unwrap()
    };
    let (train, validation) = (rows * 7 / 10, rows / 10);
    Splits {
        train: part("train", 0..train),
        validation: Some(part("validation", train..train + validation)),
        test: Some(part("test", train + validation..rows)),
    }
}

fn picture(row: usize) -> [bool; SIDE * SIDE] {
    let mut stream = Streams::new(13, Purpose::Generator, 4).row(row as u32);
    let mut draw = |n: usize| (stream.uniform() * n as f64) as usize;
    let (digit, left, top) = (DIGITS[draw(10)], draw(4), draw(2));
    std::array::from_fn(|cell| {
        let (y, x) = (cell / SIDE, cell % SIDE);
        let inside = (top..top + 7).contains(&y) && (left..left + 5).contains(&x);
        let ink = inside && digit[y - top] >> (4 - (x - left)) & 1 == 1;
        ink != (stream.uniform() < NOISE)
    })
}
