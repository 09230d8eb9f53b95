//! The table of keys against the sections, short forms, and defaults that depend on what else is given.

use std::ops::Bound::{Excluded, Included};

use super::*;
use crate::data::{Column, Separator, Source};
use crate::keys::{LeftOut, Takes};
use crate::training::update::{SgdConfig, UpdateRuleConfig};
use crate::training::{LearningRate, Schedule};

/// Everything is given, so that nothing of the table is filled in.
const FULL: &str = r#"
[data]
source = { name = "bars-and-stripes", side = 3 }
[model]
hidden = 4
[training]
updates = 10
batch = 5
gradient = { kind = "pcd" }
learning_rate = { initial = 0.1 }
"#;
pub(super) const SHORT: &str = "[data]\nsource = \"dna\"\n[model]\nhidden = 4\n";

pub(super) fn parse(text: &str, settings: &[&str]) -> Config {
    let settings: Vec<_> = settings.iter().map(ToString::to_string).collect();
    Config::parse(text, &settings).unwrap_or_else(|error| panic!("{settings:?}: {error}"))
}

pub(super) fn refused(text: &str, settings: &[&str]) -> String {
    let settings: Vec<_> = settings.iter().map(ToString::to_string).collect();
    Config::parse(text, &settings).unwrap_err().to_string()
}

/// Settings under which a key exists.
fn under(key: &Key) -> Vec<String> {
    let settings = match (key.section(), key.of.first()) {
        ("data.source", Some(&"files")) => "data.source=x.csv".into(),
        (_, Some(&"power")) => {
            "training.learning_rate.schedule={ kind = 'power', exponent = 1, warm = 1 }".into()
        }
        (section, Some(kind)) => format!("{section}={kind}"),
        // A ladder of as many temperatures as the example of a prior has.
        _ => "tempering.temperatures=4".into(),
    };
    vec![settings]
}

fn set(key: &Key, value: &str) -> crate::Result<Config> {
    Config::parse(SHORT, &[under(key), vec![format!("{}={value}", key.name)]].concat())
}

#[test]
fn every_example_can_be_set_and_every_key_is_explained() {
    for key in all_keys() {
        assert!(!key.meaning.is_empty() && !key.example.is_empty(), "{key:?}");
        if !matches!(&key.name[..], "data" | "training.epochs") {
            set(key, &key.example).unwrap_or_else(|error| panic!("{key:?}: {error}"));
        }
    }
}

/// The numbers nearest to the bounds of a key: with each, whether it is inside.
pub(super) fn bounds(key: &Key) -> Vec<(String, bool)> {
    let mut bounds = vec![];
    match key.takes {
        Takes::Whole { least, most } => {
            bounds.push((least.to_string(), true));
            bounds.push(((least as i64 - 1).to_string(), false));
            if most < i64::MAX as u64 {
                bounds.push(((most + 1).to_string(), false));
            }
        }
        Takes::Number(low, high) => {
            for (bound, outwards) in [(low, -1e-9), (high, 1e-9)] {
                if let Included(bound) | Excluded(bound) = bound {
                    bounds.push((
                        format!("{bound:.9}"),
                        matches!(low, Included(x) if x == bound)
                            || matches!(high, Included(x) if x == bound),
                    ));
                    bounds.push((format!("{:.9}", bound + outwards), false));
                }
            }
            bounds.push(("nan".into(), false));
            bounds.push(("inf".into(), false));
        }
        _ => {}
    }
    bounds
}

#[test]
fn bounds_are_kept_and_told() {
    let mut checked = 0;
    for key in all_keys() {
        for (value, inside) in bounds(key) {
            match (set(key, &value), inside) {
                (Ok(config), true) => config.check().unwrap(),
                (Err(error), false) => {
                    let (error, place) = (error.to_string(), format!("--set {}=", key.name));
                    assert!(error.starts_with(&place) && error.contains(" is "), "{error}");
                }
                // More than one key is wrong then.
                (Err(error), true) if key.name.ends_with(".every") => {
                    assert!(error.to_string().contains("is not"), "{error}");
                }
                // Without tracking there is no early stopping.
                (Err(error), true) if key.name == "tempering.share" => {
                    assert!(error.to_string().contains("is no tracking"), "{error}");
                }
                (result, _) => panic!("{} = {value}: {result:?}", key.name),
            }
            checked += 1;
        }
    }
    assert!(checked > 150, "{checked}");
}

/// What is changed in Rust is checked as what is read.
#[test]
fn configurations_made_by_hand_are_checked() {
    let mut config = parse(FULL, &[]);
    config.check().unwrap();
    config.tempering.chains = 1;
    let error = config.check().unwrap_err().to_string();
    assert!(error.contains("tempering.chains: 1 is not a whole number of at least 2"), "{error}");
    config.tempering.chains = 2;
    config.training.update =
        UpdateRuleConfig::Sgd(SgdConfig { momentum: f64::NAN, nesterov: false });
    let error = config.check().unwrap_err().to_string();
    assert!(error.contains("training.update.momentum: nan is not a number in [0, 1)"), "{error}");
}

/// Kinds of a section share a key only where it is the same for them.
#[test]
fn keys_of_several_kinds_have_the_default_of_their_kind() {
    let rows: Vec<_> = all_keys().filter(|key| key.name == "data.source.rows").collect();
    let defaults: Vec<_> = rows.iter().map(|key| (key.of[0], key.default_text())).collect();
    assert_eq!(defaults, [("bars-and-stripes", "0".to_string()), ("dna-like", "2000".to_string())]);
    assert_eq!(find_key("training.gradient.sweeps").unwrap().of, ["cd", "pcd"]);
    let kind = find_key("training.gradient.kind").unwrap();
    assert_eq!(kind.default, LeftOut::Is("pcd".into()));
}

#[test]
fn short_forms_stand_for_sections() {
    for (short, long) in [
        ("training.gradient=pcd", "training.gradient={ kind = 'pcd' }"),
        ("training.learning_rate=0.2", "training.learning_rate={ initial = 0.2 }"),
        ("training.learning_rate=1", "training.learning_rate={ initial = 1.0 }"),
        (
            "training.learning_rate.schedule=linear-to-zero",
            "training.learning_rate.schedule={ kind = 'linear-to-zero' }",
        ),
        ("training.update=adam", "training.update={ rule = 'adam' }"),
        ("training.update.beta1=0.5", "training.update={ rule = 'adam', beta1 = 0.5 }"),
        ("training.update.momentum=0.5", "training.update={ rule = 'sgd', momentum = 0.5 }"),
        ("training.early_stopping=true", "training.early_stopping={}"),
        ("data.source=mnist", "data.source={ name = 'mnist' }"),
        ("data.source=bars-and-stripes", "data.source={ name = 'bars-and-stripes', side = 4 }"),
        ("data.source=a/my.csv", "data.source={ name = 'files', train = 'a/my.csv' }"),
        ("data.source=./plain", "data.source={ name = 'files', train = './plain' }"),
        ("data.binarization=0.3", "data.binarization={ threshold = 0.3 }"),
        ("data.binarization=threshold", "data.binarization={ threshold = 0.5 }"),
        ("tempering.prior=exponential", "tempering.prior={ exponential = 2.0 }"),
        ("tempering.smoothing=alpha", "tempering.smoothing={ alpha = 0.2 }"),
        ("tempering.smoothing=0.3", "tempering.smoothing={ alpha = 0.3 }"),
        ("tempering.beta_update=joint", "tempering.beta_update={ joint = 1 }"),
        ("tempering.beta_update=3", "tempering.beta_update={ joint = 3 }"),
        ("averaging=false", "averaging={ window = 0 }"),
        ("audit=false", "audit.every=0"),
        ("tempering.settling=false", "tempering.settling.sweeps=0"),
    ] {
        assert_eq!(parse(FULL, &[short]), parse(FULL, &[long]), "{short}");
        let (key, value) = short.split_once('=').unwrap();
        let quoted = match value.parse::<f64>().is_ok() || value == "true" || value == "false" {
            true => value.to_string(),
            false => format!("'{value}'"),
        };
        // In a file as on the command line.
        let at_top = key.split('.').next().unwrap();
        if !FULL.contains(&format!("[{at_top}]")) {
            let text = format!("{key} = {quoted}\n{FULL}");
            assert_eq!(parse(&text, &[]), parse(FULL, &[long]), "{short}");
        }
    }
}

#[test]
fn sections_are_switched_off_and_partly_set() {
    let on = FULL.to_string()
        + "[training.early_stopping]\npatience = 3\n[training.pretraining]\nbatch = 3\n[audit]\nchains = 7\n";
    let config =
        parse(&on, &["training.early_stopping=false", "training.pretraining=false", "audit=false"]);
    assert_eq!((config.training.early_stopping, config.training.pretraining), (None, None));
    assert_eq!(
        (config.audit.every, config.audit.chains),
        (0, 7),
        "the last audit keeps its settings"
    );
    // A number changes the rate and leaves its schedule alone.
    let falling =
        FULL.replace("{ initial = 0.1 }", "{ initial = 0.1, schedule = 'linear-to-zero' }");
    let rate = parse(&falling, &["training.learning_rate=0.3"]).training.learning_rate;
    assert_eq!(rate, LearningRate { initial: 0.3, schedule: Schedule::LinearToZero {} });
    let rate = parse(FULL, &["training.gradient.sweeps=4", "training.gradient.particles=9"]);
    assert_eq!(rate.training.gradient, GradientConfig::Pcd { sweeps: 4, particles: 9 });
}

#[test]
fn data_and_hidden_are_a_complete_configuration() {
    let config = parse(SHORT, &[]);
    let training = &config.training;
    assert!(training.early_stopping.is_some() && training.updates.is_some());
    assert!(training.centering && config.data.validation_fraction > 0.0);
    let again = parse(&config.to_toml().unwrap(), &[]);
    assert_eq!(again, config, "what is written means the same");
    // Switched off, or another length.
    assert_eq!(parse(SHORT, &["training.early_stopping=false"]).training.early_stopping, None);
    let epochs = parse(SHORT, &["training.epochs=3"]);
    assert_eq!((epochs.training.updates, epochs.training.epochs), (None, Some(3)));
    assert_eq!(epochs.training.early_stopping, None);
    // A rate that is given belongs to the rule that is given, or to plain ascent.
    let given = parse(SHORT, &["training.learning_rate=0.1"]).training;
    assert_eq!(given.update, UpdateRuleConfig::Sgd(SgdConfig::default()));
    assert!(!given.centering);
}

#[test]
fn configurations_that_give_everything_mean_what_they_meant() {
    let config = parse(FULL, &[]);
    let training = &config.training;
    assert_eq!(training.gradient, GradientConfig::Pcd { sweeps: 1, particles: 0 });
    assert_eq!(training.learning_rate, LearningRate::constant(0.1));
    assert_eq!(training.update, UpdateRuleConfig::default());
    assert_eq!((training.early_stopping, training.centering), (None, false));
    assert_eq!((config.data.validation_fraction, training.updates), (0.0, Some(10)));
}

#[test]
fn messages_tell_place_key_value_and_remedy() {
    for (line, expected) in [
        (
            "hidden = -4",
            "line 5: model.hidden: -4 is not a whole number of at least 1; example: hidden = 64",
        ),
        ("hiden = 4", "line 5: model.hiden: there is no such key; did you mean model.hidden?"),
        ("hidden 4", "line 5: `hidden 4` is no TOML"),
        ("hidden = 4\nseed = 2", "line 6: model.seed: there is no such key; did you mean"),
    ] {
        let error = refused(&FULL.replace("hidden = 4", line), &[]);
        assert!(error.contains(expected), "{line}: {error}");
        assert!(!error.contains('\n'), "{error}");
    }
    let (setting, below) = ("training.gradient={ kind = \"pcd\", sweeps = 0 }", "sweeps: 0 is not");
    let error = refused(FULL, &[setting]);
    assert!(error.starts_with(&format!("--set {setting}: training.gradient.{below}")), "{error}");
    let error = refused(FULL, &["training.weight_decay=-1"]);
    assert_eq!(
        error,
        "--set training.weight_decay=-1: -1 is not a number of at least 0; example: weight_decay = 0.0001"
    );
}

#[test]
fn the_documentation_and_the_schema_are_up_to_date() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let schema_command = "ztrack config schema > configs/schema.json";
    for (file, text, command) in [
        ("docs/configuration.md", markdown(), REGENERATE),
        ("configs/schema.json", schema(), schema_command),
    ] {
        let found = std::fs::read_to_string(root.join(file)).unwrap_or_default();
        assert!(found == text, "{file} is out of date; make it anew by: {command}");
    }
}

/// A most that is given alone is kept to, by the sweeps chosen too.
#[test]
fn settling_never_sweeps_more_than_its_most() {
    let settling = |sweeps, most| {
        let settling = SettlingConfig { sweeps, most }.or(60, 2000);
        (settling.sweeps, settling.most)
    };
    let (auto, given) = (Automatic::Auto, Automatic::Given);
    assert_eq!(settling(auto, auto), (60, 2000));
    assert_eq!(settling(auto, given(30)), (30, 30));
    assert_eq!(settling(auto, given(100)), (60, 100));
    assert_eq!(settling(given(0), auto), (0, 2000));
    assert_eq!(settling(given(5000), auto), (5000, 5000));
}

#[test]
fn mistakes_in_sources_are_told_with_what_was_meant() {
    let read = |source: &str| {
        let text = format!("[data]\nsource = {source}\n[model]\nhidden = 4\n");
        Config::parse(&text, &[]).map(|config| config.data.source)
    };
    let files =
        r#"{ name = "files", train = "a", label = "class", columns = "2-", separator = ";" }"#;
    let Source::Files(files) = read(files).unwrap() else { panic!("other data") };
    assert_eq!(files.label, Some(Column::Text("class".into())));
    assert_eq!(files.separator, Some(Separator::Semicolon));
    for (text, expected) in [
        (r#"{ name = "files", train = "a", valdation = "b" }"#, "mean data.source.validation?"),
        (r#"{ name = "files", train = "a", colums = 3 }"#, "mean data.source.columns?"),
        (
            r#"{ name = "files", train = "a", rows = 3 }"#,
            "name = \"files\" has no such key; it has",
        ),
        (r#"{ name = "files" }"#, "data.source.train: missing: File of the training rows"),
        (r#"{ name = "files", train = "a", separator = "|" }"#, "not one of \"comma\", \"semi"),
        (r#"{ name = "files", train = "a", label = 0 }"#, "0 is not the name of a column or its"),
        (r#"{ name = "dna", rows = 100 }"#, "name = \"dna\" has no such key; it has name"),
        (r#"{ name = "bars-and-stripes", sides = 3 }"#, "did you mean data.source.side?"),
        (r#"{ name = "nmist" }"#, "data.source.name: \"nmist\" is not one of"),
        (r#"{ name = "nmist" }"#, "did you mean mnist?"),
        (r#"{ train = "a" }"#, "data.source.name: missing"),
        ("3", "3 is not one of \"bars-and-stripes\""),
        ("\"csv\"", "a file is given by its path, as in \"./my.csv\""),
    ] {
        let message = read(text).unwrap_err().to_string();
        assert!(message.contains(expected), "{text}: {message}");
    }
}

#[test]
fn the_kernel_of_earlier_run_folders_is_read_and_no_other() {
    let named =
        |kernel: &str| FULL.replace("hidden = 4", &format!("hidden = 4\nkernel = \"{kernel}\""));
    assert_eq!(parse(&named("fused"), &[]), parse(FULL, &[]));
    assert!(refused(&named("composed"), &[]).contains("model.kernel"));
}
