//! The table of keys against the sections, short forms, and defaults that depend on what else is given.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use toml::{Table, Value};

use super::keys::{self, LeftOut, Takes};
use super::*;
use crate::data::{Alphabet, Binarization, Column, Columns, Files, Separator, Source, generators};
use crate::training::update::{AdamConfig, RmsSpectralConfig, SgdConfig, UpdateRuleConfig};
use crate::training::{EarlyStoppingConfig, LearningRate, Schedule};

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

/// A new source, or field of one, does not compile until it is here.
fn sources_with_everything() -> Vec<Source> {
    let path = || Some(PathBuf::from("x"));
    let sources = vec![
        Source::BarsAndStripes(generators::BarsAndStripes::default()),
        Source::DnaLike(generators::DnaLike::default()),
        Source::Dna {},
        Source::Mnist {},
        Source::BinarizedMnist {},
        Source::Files(Files {
            train: "x".into(),
            validation: path(),
            test: path(),
            columns: Some(Columns::Count(3)),
            label: Some(Column::Number(1)),
            separator: Some(Separator::Tab),
        }),
    ];
    for source in &sources {
        match source {
            Source::BarsAndStripes(_) | Source::DnaLike(_) | Source::Files(_) => {}
            Source::Dna {} | Source::Mnist {} | Source::BinarizedMnist {} => {}
        }
    }
    sources
}

/// Configurations in which every field of every section is there. A new kind or field does not compile until it is here.
fn with_everything() -> Vec<Config> {
    let gradients = [
        GradientConfig::Cd { sweeps: 1 },
        GradientConfig::Pcd { sweeps: 1, particles: 1 },
        GradientConfig::Tempered {},
    ];
    let schedules = [
        Schedule::Constant {},
        Schedule::Power { exponent: 0.5, warm: 10 },
        Schedule::LinearToZero {},
    ];
    let rules = [
        UpdateRuleConfig::Sgd(SgdConfig::default()),
        UpdateRuleConfig::Adam(AdamConfig::default()),
        UpdateRuleConfig::RmsSpectral(RmsSpectralConfig::default()),
        UpdateRuleConfig::Ssd {},
    ];
    let priors = [PriorConfig::Exponential(1.0), PriorConfig::Given(vec![1.0, 2.0])];
    let whole = parse(FULL, &[]);
    let at = |list: usize, i: usize| i % list;
    (sources_with_everything().into_iter().enumerate())
        .map(|(i, source)| {
            let mut config = whole.clone();
            config.data.source = source;
            config.data.folder = Some(PathBuf::from("x"));
            config.data.variables = Some("3+".into());
            config.data.similarity = Some(0.8);
            config.data.weights = Some(Column::Number(1));
            config.data.alphabet = Some(Alphabet::Dna);
            config.data.binarization = Binarization::Threshold(0.5);
            config.training.epochs = Some(3);
            config.training.gradient = gradients[at(3, i)];
            config.training.learning_rate =
                LearningRate { initial: 0.1, schedule: schedules[at(3, i)] };
            config.training.update = rules[at(4, i)];
            config.training.pretraining = Some(PretrainingConfig::default());
            config.training.early_stopping = Some(EarlyStoppingConfig::default());
            config.tempering.betas = Some(vec![0.0, 1.0]);
            config.tempering.prior = priors[at(2, i)].clone();
            config.tempering.beta_update = BetaUpdateConfig::Joint(2);
            config.tempering.base = Base::Given(vec![0.0]);
            config.tempering.smoothing = SmoothingConfig::Alpha(0.5);
            config
        })
        .collect()
}

/// Dotted names of all keys of a configuration as it is written, sections included, with their values.
fn written(config: &Config) -> BTreeMap<String, Value> {
    fn walk(table: &Table, prefix: &str, out: &mut BTreeMap<String, Value>) {
        for (name, value) in table {
            let name = format!("{prefix}{name}");
            if let Value::Table(inner) = value {
                walk(inner, &format!("{name}."), out);
            }
            out.insert(name, value.clone());
        }
    }
    let mut out = BTreeMap::new();
    walk(&toml::from_str(&config.to_toml().unwrap()).unwrap(), "", &mut out);
    out
}

#[test]
fn the_table_has_exactly_the_keys_that_are_written() {
    let mut written: BTreeSet<_> =
        with_everything().iter().flat_map(|config| written(config).into_keys()).collect();
    // What a preset fills in is written in its stead.
    assert!(written.insert("training.preset".into()));
    let table: BTreeSet<_> = keys::all().map(|key| key.name.to_string()).collect();
    assert_eq!(keys::all().count(), table.len(), "a key twice");
    assert_eq!(written, table);
}

#[test]
fn the_table_tells_the_defaults_of_the_sections() {
    let mut checked = 0;
    // A configuration for every kind, in which nothing is given that need not be.
    for settings in [
        &[][..],
        &["data.source=bars-and-stripes"],
        &["training.gradient=cd"],
        &["training.update=sgd"],
        &["training.update=adam"],
        &["training.update=rmsspectral"],
        &["training.early_stopping=true", "data.validation_fraction=0.1"],
        &["training.pretraining=true"],
    ] {
        let config = parse(FULL, settings);
        let written = written(&config);
        for key in keys::all() {
            let given = FULL.contains(&format!("{} =", key.last()))
                || settings.iter().any(|setting| setting.starts_with(key.name));
            if given || matches!(key.last(), "kind" | "name" | "rule") {
                continue;
            }
            match (key.default, written.get(key.name)) {
                (LeftOut::Is(text), Some(value)) if !matches!(key.takes, Takes::Section(_)) => {
                    let default: Table = toml::from_str(&format!("value = {text}")).unwrap();
                    assert_eq!(&default["value"], value, "{}", key.name);
                    checked += 1;
                }
                (LeftOut::Auto(_), value) => {
                    assert_eq!(value.and_then(Value::as_str), Some("auto"), "{}", key.name);
                }
                (LeftOut::Nothing(_), Some(value)) => {
                    assert!(value.is_table(), "{}: {value}", key.name);
                }
                _ => {}
            }
        }
    }
    assert!(checked > 200, "{checked}");
}

#[test]
fn every_example_can_be_set() {
    for key in keys::all() {
        if matches!(key.name, "data" | "training.epochs") {
            continue;
        }
        let kind = key.of.first().map(|kind| match key.section() {
            "data.source" if *kind == "files" => "data.source=x.csv".to_string(),
            section => format!("{section}={kind}"),
        });
        let power = "training.learning_rate.schedule={ kind = 'power', exponent = 1, warm = 1 }";
        let setting = format!("{}={}", key.name, key.example);
        let mut settings: Vec<&str> = kind.as_deref().into_iter().collect();
        if key.of == ["power"] {
            settings = vec![power];
        }
        // A ladder of as many temperatures as the example of a prior has.
        if key.name == "tempering.prior.given" {
            settings.push("tempering.temperatures=4");
        }
        if key.name == "tempering.every" {
            settings.push("training.gradient=pcd");
        }
        settings.push(&setting);
        parse(SHORT, &settings);
    }
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
    // A range that is checked later has its place too.
    let error = refused(FULL, &["training.weight_decay=-1"]);
    assert_eq!(error, "--set training.weight_decay=-1: -1 is not a number of at least 0");
}

#[test]
fn the_documentation_is_up_to_date() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/configuration.md");
    let found = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        found == markdown(),
        "docs/configuration.md is out of date; make it anew by: {REGENERATE}"
    );
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
