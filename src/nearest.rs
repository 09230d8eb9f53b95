//! "Did you mean": the known word nearest to an unknown one.

/// The known word of which `word` may be a typing mistake: at most a third of its letters differ, ignoring case.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_ascii_lowercase();
    let most = (word.chars().count() / 3).max(1);
    known
        .into_iter()
        .map(|candidate| {
            (strsim::damerau_levenshtein(&word, &candidate.to_ascii_lowercase()), candidate)
        })
        .filter(|(distance, _)| *distance <= most)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// The end of a message on an unknown word: a question, if a known one is near.
pub fn meant<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(word, known).map_or(String::new(), |known| format!("; did you mean {known}?"))
}

/// The end of a message on an unknown word: a suggestion, and the known words.
#[cfg(any(test, feature = "cli"))]
pub fn did_you_mean(word: &str, known: &[&str]) -> String {
    let meant = nearest(word, known.iter().copied());
    let meant = meant.map_or(String::new(), |meant| format!("did you mean `{meant}`? "));
    format!("{meant}Known are {}", known.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_recognised_and_other_words_are_not() {
        let known = ["train", "validation", "test", "columns"];
        for (word, expected) in [
            ("valdation", Some("validation")),
            ("Colums", Some("columns")),
            ("tets", Some("test")),
            ("rows", None),
            ("", None),
        ] {
            assert_eq!(nearest(word, known), expected, "{word}");
        }
        assert_eq!(
            did_you_mean("tset", &known),
            "did you mean `test`? Known are train, validation, test, columns"
        );
    }
}
