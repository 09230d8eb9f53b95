//! The keys as a JSON schema, with which editors complete, explain and check a configuration: configs/schema.json.

use std::ops::Bound::{Excluded, Included, Unbounded};

use serde_json::{Map, Value, json};

use super::table::below;
use crate::keys::{Key, LARGEST, LeftOut, Short, Takes};

/// Where `ztrack init` says that the schema lies, beside the configuration.
pub const SCHEMA_FILE: &str = "ztrack.schema.json";

/// The schema, as text.
pub fn schema() -> String {
    let mut root = section("");
    root["$schema"] = json!("http://json-schema.org/draft-07/schema#");
    root["title"] = json!("Configuration of ztrack");
    format!("{root:#}\n")
}

/// The keys of a section, those of all its kinds.
fn section(name: &str) -> Value {
    let mut properties = Map::new();
    for key in below(name) {
        properties.entry(key.last()).or_insert_with(|| property(key));
    }
    json!({ "type": "object", "additionalProperties": false, "properties": properties })
}

fn property(key: &Key) -> Value {
    let mut forms = forms(key);
    if let LeftOut::Auto(_) = key.default {
        forms.push(json!({ "const": "auto" }));
    }
    let mut schema = match forms.len() {
        1 => forms.remove(0),
        _ => json!({ "anyOf": forms }),
    };
    let mut text = format!("{} Default: {}.", key.meaning, key.default_text());
    if !key.unit.is_empty() {
        text += &format!(" Unit: {}.", key.unit);
    }
    if !key.of.is_empty() {
        text += &format!(" Only with {}.", key.of.join(", "));
    }
    schema["description"] = json!(text);
    schema
}

/// What may stand behind a key: one of these.
fn forms(key: &Key) -> Vec<Value> {
    let keys = |more: Vec<Value>| [more, vec![section(&key.name)]].concat();
    match &key.takes {
        Takes::Whole { least, most } => {
            let mut number = json!({ "type": "integer", "minimum": least });
            if *most <= LARGEST {
                number["maximum"] = json!(most);
            }
            vec![number]
        }
        Takes::Number(low, high) => {
            let mut number = json!({ "type": "number" });
            for (bound, inclusive, exclusive) in
                [(low, "minimum", "exclusiveMinimum"), (high, "maximum", "exclusiveMaximum")]
            {
                match bound {
                    Included(bound) => number[inclusive] = json!(bound),
                    Excluded(bound) => number[exclusive] = json!(bound),
                    Unbounded => {}
                }
            }
            vec![number]
        }
        Takes::Flag => vec![json!({ "type": "boolean" })],
        Takes::Text => vec![json!({ "type": "string" })],
        Takes::Seed => vec![json!({ "type": ["integer", "string"], "minimum": 0 })],
        Takes::Numbers => vec![json!({ "type": "array", "items": { "type": "number" } })],
        Takes::Word(words) => vec![json!({ "enum": words })],
        Takes::Other { .. } => vec![json!({})],
        Takes::Section(Short::Nothing) => vec![section(&key.name)],
        Takes::Section(Short::Optional) => keys(vec![json!({ "type": "boolean" })]),
        Takes::Section(Short::Off(_)) => keys(vec![json!({ "const": false })]),
        Takes::Section(Short::Value(_)) => keys(vec![json!({ "type": "number" })]),
        Takes::Section(Short::Choice { words, .. }) => keys(vec![json!({ "enum": words })]),
        Takes::Section(Short::Worded(words)) => {
            let number = words.iter().any(|known| known.usual.is_some());
            let number = number.then(|| json!({ "type": "number" }));
            let words: Vec<_> = words.iter().map(|known| known.word).collect();
            keys([vec![json!({ "enum": words })], number.into_iter().collect()].concat())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::tests::{bounds, parse};
    use crate::config::{SHIPPED, all_keys};

    /// Whether a value fits a part of the schema: the few words of JSON schema that are used.
    fn fits(schema: &Value, value: &Value) -> bool {
        let bound = |name: &str| schema.get(name).and_then(Value::as_f64);
        let number = value.as_f64().unwrap_or(0.0);
        let kind = |kind: &str| match kind {
            "integer" => value.is_i64(),
            "number" => value.is_number(),
            "string" => value.is_string(),
            "boolean" => value.is_boolean(),
            "array" => value.is_array(),
            _ => value.is_object(),
        };
        let kinds = match &schema["type"] {
            Value::String(one) => vec![&one[..]],
            Value::Array(several) => several.iter().filter_map(Value::as_str).collect(),
            _ => vec![],
        };
        let properties = || {
            value.as_object().into_iter().flatten().all(|(name, value)| {
                schema["properties"].get(name).is_some_and(|schema| fits(schema, value))
            })
        };
        (kinds.is_empty() || kinds.into_iter().any(kind))
            && schema["anyOf"]
                .as_array()
                .is_none_or(|any| any.iter().any(|schema| fits(schema, value)))
            && schema["enum"].as_array().is_none_or(|words| words.contains(value))
            && schema.get("const").is_none_or(|constant| constant == value)
            && bound("minimum").is_none_or(|least| number >= least)
            && bound("maximum").is_none_or(|most| number <= most)
            && bound("exclusiveMinimum").is_none_or(|least| number > least)
            && bound("exclusiveMaximum").is_none_or(|most| number < most)
            && (schema.get("properties").is_none() || properties())
    }

    /// An editor takes what the program takes, and marks what it refuses.
    #[test]
    fn the_schema_accepts_what_is_accepted() {
        let schema: Value = serde_json::from_str(&schema()).unwrap();
        let fits = |text: &str| fits(&schema, &toml::from_str(text).unwrap());
        for shipped in SHIPPED {
            assert!(fits(shipped.text), "{}", shipped.name);
            let written = parse(shipped.text, &[]).to_toml().unwrap();
            assert!(fits(&written), "{written}");
        }
        for key in all_keys() {
            let text = |value: &str| format!("{} = {value}", key.name);
            assert!(fits(&text(&key.example)), "{}", text(&key.example));
            for (value, inside) in
                bounds(key).into_iter().filter(|(value, _)| value != "nan" && value != "inf")
            {
                assert_eq!(fits(&text(&value)), inside, "{}", text(&value));
            }
        }
        for bad in ["model.hiden = 3", "training.gradient = 'pdc'", "training.centering = 'yes'"] {
            assert!(!fits(bad), "{bad}");
        }
    }
}
