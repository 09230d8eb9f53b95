//! Elementary functions as branch-free polynomials that the compiler vectorises.
//!
//! No fused multiply-add anywhere: the same bits come out on every instruction set.

/// exp(x) for f32, relative error below 2e-7; x is clamped to [-87, 88].
#[inline(always)]
pub fn exp_f32(x: f32) -> f32 {
    const MAGIC: f32 = 12_582_912.0; // 1.5 x 2^23: adding it rounds to the nearest integer
    let x = x.clamp(-87.0, 88.0);
    let shifted = x * std::f32::consts::LOG2_E + MAGIC;
    let n = shifted - MAGIC;
    // ln 2 in two parts, the first with few bits so that n * hi is exact (Cody and Waite 1980).
    let r = x - n * 0.693_359_4 - n * -2.121_944_4e-4;
    let p = 1.987_569_1e-4;
    let p = p * r + 1.398_2e-3;
    let p = p * r + 8.333_452e-3;
    let p = p * r + 4.166_579_6e-2;
    let p = p * r + 1.666_666_5e-1;
    let p = p * r + 5e-1;
    let y = p * r * r + r + 1.0;
    let power = f32::from_bits(shifted.to_bits().wrapping_add(127) << 23);
    y * power
}

/// exp(x) for f64, relative error below 1e-13; x is clamped to [-700, 700].
#[inline(always)]
pub fn exp_f64(x: f64) -> f64 {
    const MAGIC: f64 = 6_755_399_441_055_744.0; // 1.5 x 2^52
    let x = x.clamp(-700.0, 700.0);
    let shifted = x * std::f64::consts::LOG2_E + MAGIC;
    let n = shifted - MAGIC;
    let r = x - n * 0.693_147_180_369_123_8 - n * 1.908_214_929_270_587_7e-10;
    // Taylor polynomial of degree 11 on |r| <= ln(2)/2: remainder below 1e-14.
    let mut p = 1.0 / 39_916_800.0;
    p = p * r + 1.0 / 3_628_800.0;
    p = p * r + 1.0 / 362_880.0;
    p = p * r + 1.0 / 40_320.0;
    p = p * r + 1.0 / 5_040.0;
    p = p * r + 1.0 / 720.0;
    p = p * r + 1.0 / 120.0;
    p = p * r + 1.0 / 24.0;
    p = p * r + 1.0 / 6.0;
    p = p * r + 0.5;
    let y = p * r * r + r + 1.0;
    y * f64::from_bits(shifted.to_bits().wrapping_add(1023) << 52)
}

/// ln(x) for positive normal f64, absolute error below 1e-13 + 1e-16 |ln x|.
#[inline(always)]
pub fn ln_f64(x: f64) -> f64 {
    // x = 2^e m with m in [1/sqrt 2, sqrt 2); ln m = 2 artanh((m - 1)/(m + 1)).
    let bits = x.to_bits().wrapping_sub(0x3FE6_A09E_667F_3BCD);
    let exponent = (bits as i64) >> 52;
    let m = f64::from_bits((bits & 0x000F_FFFF_FFFF_FFFF).wrapping_add(0x3FE6_A09E_667F_3BCD));
    let s = (m - 1.0) / (m + 1.0);
    let z = s * s;
    let mut p = 1.0 / 17.0;
    p = p * z + 1.0 / 15.0;
    p = p * z + 1.0 / 13.0;
    p = p * z + 1.0 / 11.0;
    p = p * z + 1.0 / 9.0;
    p = p * z + 1.0 / 7.0;
    p = p * z + 1.0 / 5.0;
    p = p * z + 1.0 / 3.0;
    2.0 * s * (1.0 + z * p) + exponent as f64 * std::f64::consts::LN_2
}

/// ln(x) for positive normal f32, absolute error below 1e-7 + 1.8e-7 |ln x| (three roundings); as [`ln_f64`].
#[inline(always)]
pub fn ln_f32(x: f32) -> f32 {
    let bits = x.to_bits().wrapping_sub(0x3F35_04F3);
    let m = f32::from_bits((bits & 0x007F_FFFF).wrapping_add(0x3F35_04F3));
    let s = (m - 1.0) / (m + 1.0);
    let z = s * s;
    let p = ((z / 9.0 + 1.0 / 7.0) * z + 0.2) * z + 1.0 / 3.0;
    2.0 * s * (1.0 + z * p) + ((bits as i32) >> 23) as f32 * std::f32::consts::LN_2
}

/// Of |x| <= pi/4, absolute error below 4e-7.
#[inline(always)]
pub fn sine_and_cosine(x: f32) -> (f32, f32) {
    let z = x * x;
    let sine = ((z / -5040.0 + 1.0 / 120.0) * z - 1.0 / 6.0) * z;
    let cosine = (((z / 40_320.0 - 1.0 / 720.0) * z + 1.0 / 24.0) * z - 0.5) * z;
    (x + x * sine, 1.0 + cosine)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_of_f32_agree_with_libm() {
        for i in -8000..=8000 {
            let y = (f64::from(i) * 0.003).exp() as f32;
            let (found, exact) = (f64::from(ln_f32(y)), f64::from(y).ln());
            assert!((found - exact).abs() < 1e-7 + 1.8e-7 * exact.abs(), "ln_f32({y}): {found}");
            let x = i as f32 / 8000.0 * std::f32::consts::FRAC_PI_4;
            let (sine, cosine) = sine_and_cosine(x);
            let (exact, other) = f64::from(x).sin_cos();
            assert!((f64::from(sine) - exact).abs() < 3.5e-7, "sine of {x}");
            assert!((f64::from(cosine) - other).abs() < 2e-7, "cosine of {x}");
        }
    }

    #[test]
    fn exp_and_ln_agree_with_libm() {
        for i in -8000..=8000 {
            let x = i as f32 * 0.01;
            let exact = f64::from(x).exp();
            assert!((f64::from(exp_f32(x)) / exact - 1.0).abs() < 2e-7, "exp_f32({x})");
            let wide = f64::from(x) * 8.0;
            assert!((exp_f64(wide) / wide.exp() - 1.0).abs() < 1e-13, "exp_f64({wide})");
            let y = wide.exp();
            assert!((ln_f64(y) - y.ln()).abs() < 2e-13, "ln_f64({y})");
        }
        assert_eq!(exp_f32(0.0), 1.0);
        assert!(exp_f32(-1e30) < 2e-38 && exp_f64(-1e300) > 0.0);
    }
}
