//! What a sweep varies: a key of the configuration and its values.

/// More runs are a typing mistake.
pub const MOST_RUNS: usize = 10_000;

/// A key and its values.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// The key.
    pub key: String,
    /// Its values, as for `--set`.
    pub values: Vec<String>,
}

/// Reads KEY=VALUES; commas inside of brackets and quotes belong to a value.
pub fn axis(text: &str) -> Result<Axis, String> {
    let Some((key, list)) =
        text.split_once('=').filter(|(key, list)| !key.is_empty() && !list.is_empty())
    else {
        return Err(
            "a key and its values are expected, as in seed=1..5 or model.hidden=16,64".into()
        );
    };
    let (mut values, mut depth, mut quoted) = (vec![String::new()], 0i32, false);
    for letter in list.chars() {
        quoted ^= letter == '"';
        depth += i32::from(matches!(letter, '[' | '{')) - i32::from(matches!(letter, ']' | '}'));
        match (letter, values.last_mut()) {
            (',', _) if depth == 0 && !quoted => values.push(String::new()),
            (_, Some(value)) => value.push(letter),
            _ => {}
        }
    }
    let mut all = Vec::new();
    for value in values.iter().map(|value| value.trim()) {
        let ends = value.split_once("..");
        match ends.map(|(from, to)| (from.parse::<u64>(), to.parse::<u64>())) {
            _ if value.is_empty() => return Err("a value is empty".into()),
            Some((Ok(from), Ok(to))) if from <= to && to - from < MOST_RUNS as u64 => {
                all.extend((from..=to).map(|number| number.to_string()));
            }
            Some((Ok(from), Ok(to))) if from <= to => {
                return Err(format!("`{value}` has more than {MOST_RUNS} values"));
            }
            Some(_) => return Err(format!("`{value}` is no range: 1..5 is 1, 2, 3, 4 and 5")),
            None => all.push(value.into()),
        }
    }
    Ok(Axis { key: key.trim().into(), values: all })
}

impl Axis {
    /// A key and its values.
    pub fn of(key: &str, values: impl Iterator<Item = impl ToString>) -> Self {
        Self { key: key.into(), values: values.map(|value| value.to_string()).collect() }
    }

    /// The end of the key, for names.
    pub fn name(&self) -> &str {
        self.key.rsplit('.').next().unwrap_or(&self.key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_lists_and_ranges() {
        let values = |text: &str| axis(text).map(|axis| axis.values);
        assert_eq!(values("seed=1..4").unwrap(), ["1", "2", "3", "4"]);
        assert_eq!(values("model.hidden=16, 64").unwrap(), ["16", "64"]);
        assert_eq!(values("a.b=1..2,7").unwrap(), ["1", "2", "7"]);
        let tables = values("training.gradient={ kind = \"cd\", sweeps = 1 },\"pcd\"").unwrap();
        assert_eq!(tables, ["{ kind = \"cd\", sweeps = 1 }", "\"pcd\""]);
        assert_eq!(values("tempering.betas=[0,1],[0,0.5,1]").unwrap().len(), 2);
        for bad in ["seed", "seed=", "=1", "seed=1,,2", "seed=5..1", "seed=1..x"] {
            assert!(axis(bad).is_err(), "{bad}");
        }
    }
}
