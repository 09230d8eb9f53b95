//! Colours of numbers: a diverging scale for signed values, a perceptually uniform one for magnitudes.

/// Colours of curves on light and on dark background: those of Okabe and Ito, which colour-blind readers can distinguish, darker or lighter
/// where needed for contrast.
pub(super) const SERIES: [[&str; 2]; 8] = [
    ["#0072b2", "#56b4e9"],
    ["#d55e00", "#f08a3c"],
    ["#009e73", "#2fbf93"],
    ["#b65d90", "#dd99bf"],
    ["#c98a00", "#f0c040"],
    ["#3f9fd8", "#8fd0f5"],
    ["#333333", "#d6d9de"],
    ["#7a7a30", "#c0c070"],
];

/// Colour of NaN, which is in neither scale.
const NAN: [u8; 3] = [255, 0, 255];

/// Ends of the diverging scale (ColorBrewer's RdBu) around white.
const BLUE: [u8; 3] = [33, 102, 172];
const WHITE: [u8; 3] = [255, 255, 255];
const RED: [u8; 3] = [178, 24, 43];

/// Viridis (matplotlib, CC0) at 0, 1/16, ..., 1; straight lines between them stay within 6 of 255 of the original.
const VIRIDIS: [[u8; 3]; 17] = [
    [68, 1, 84],
    [72, 24, 106],
    [71, 45, 123],
    [66, 64, 134],
    [59, 82, 139],
    [51, 99, 141],
    [44, 114, 142],
    [38, 129, 142],
    [33, 144, 140],
    [31, 159, 136],
    [40, 174, 128],
    [62, 188, 116],
    [93, 201, 99],
    [130, 211, 76],
    [171, 220, 50],
    [213, 226, 26],
    [253, 231, 37],
];

/// -1 blue, 0 white, 1 red; clamped beyond.
pub(super) fn diverging(x: f64) -> [u8; 3] {
    if x.is_nan() {
        return NAN;
    }
    mix(WHITE, if x < 0.0 { BLUE } else { RED }, x.abs().min(1.0))
}

/// 0 dark violet, 1 yellow; clamped beyond.
pub(super) fn viridis(x: f64) -> [u8; 3] {
    if x.is_nan() {
        return NAN;
    }
    let last = VIRIDIS.len() - 2;
    let at = x.clamp(0.0, 1.0) * (last + 1) as f64;
    let below = (at as usize).min(last);
    mix(VIRIDIS[below], VIRIDIS[below + 1], at - below as f64)
}

fn mix(from: [u8; 3], to: [u8; 3], share: f64) -> [u8; 3] {
    std::array::from_fn(|i| {
        let (from, to) = (f64::from(from[i]), f64::from(to[i]));
        (from + share * (to - from)).round() as u8
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_meet_their_ends_and_clamp() {
        assert_eq!([-2.0, -1.0, 0.0, 1.0].map(diverging), [BLUE, BLUE, WHITE, RED]);
        assert_eq!([-1.0, 0.0, 0.5, 1.0, f64::INFINITY].map(viridis), {
            [VIRIDIS[0], VIRIDIS[0], VIRIDIS[8], VIRIDIS[16], VIRIDIS[16]]
        });
        assert_eq!([diverging(f64::NAN), viridis(f64::NAN)], [NAN; 2]);
    }

    #[test]
    fn viridis_grows_lighter_all_the_way() {
        let lightness = |[r, g, b]: [u8; 3]| {
            0.2126 * f64::from(r) + 0.7152 * f64::from(g) + 0.0722 * f64::from(b)
        };
        let steps: Vec<_> = (0..=40).map(|i| lightness(viridis(f64::from(i) / 40.0))).collect();
        assert!(steps.windows(2).all(|pair| pair[0] < pair[1]), "{steps:?}");
    }
}
