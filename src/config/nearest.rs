//! "Did you mean": the nearest of a list of names.

/// Likeness from which a name is taken for a slip; 1 is equality.
const LIKE: f64 = 0.66;

/// "; did you mean `x`?" where one of the names is like the given one.
pub fn did_you_mean<'a>(given: &str, names: impl Iterator<Item = &'a str>) -> Option<String> {
    nearest(given, names).map(|name| format!("; did you mean {name}?"))
}

/// The name most like the given one, if it is like it at all. Upper and lower case, `-` and `_` count as the same.
pub fn nearest<'a>(given: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    // Likeness costs the product of the lengths; what is typed by mistake is short.
    if given.len() > 200 {
        return None;
    }
    let plain = |text: &str| text.to_lowercase().replace('_', "-");
    let given = plain(given);
    names
        .map(|name| (strsim::normalized_damerau_levenshtein(&given, &plain(name)), name))
        .filter(|(likeness, _)| *likeness >= LIKE)
        .max_by(|(one, _), (other, _)| one.total_cmp(other))
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_recognised_and_other_words_are_not() {
        let names = ["mnist", "dna", "bars-and-stripes", "model.hidden"];
        for (given, expected) in [
            ("mnits", Some("mnist")),
            ("DNA", Some("dna")),
            ("bars_and_stripes", Some("bars-and-stripes")),
            ("model.hiden", Some("model.hidden")),
            ("imagenet", None),
            ("", None),
        ] {
            assert_eq!(nearest(given, names.into_iter()), expected, "{given}");
        }
    }
}
