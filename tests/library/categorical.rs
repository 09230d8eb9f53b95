//! Categorical visible units from the table to the number: log Z against enumeration, files, states, refusals.

use std::path::Path;

use ztrack::Device;
use ztrack::checkpoint::ModelFile;
use ztrack::config::Config;
use ztrack::data::{Dataset, FileOptions, Splits, Values, read_bytes};
use ztrack::engine::{BitMatrix, Host};
use ztrack::estimators::{Ais, Automatic, EstimateSettings, Known, Starting};
use ztrack::model::exact::{log_partition, log_partition_at, moments, samples};
use ztrack::model::test_systems::gaussian_parameters;
use ztrack::tempering::{BaseDistribution, Ladder, Prior};
use ztrack::training::Trainer;
use ztrack::{LogZ, Parameters, units::Variables};

use crate::common;
use crate::potts::Potts;

const VARIABLES: &str = "4*3+,3*4,2*1+";
const COLUMNS: usize = 26;

/// A model without biases, in whose samples few states are rare.
fn model(hidden: usize, scale: f64, seed: u64) -> Parameters {
    let mut model = gaussian_parameters(COLUMNS, hidden, scale, seed);
    model.visible_bias.fill(0.0);
    model.of(VARIABLES.parse().unwrap()).unwrap()
}

fn splits(rows: usize) -> Splits {
    let part = |seed| {
        let rows = Values::Binary(samples(&model(6, 0.7, 1), rows, seed).unwrap());
        Dataset::new("rows", rows, None, None).unwrap()
    };
    Splits { train: part(1), validation: Some(part(2)), test: None }
}

fn config(settings: &[&str]) -> Config {
    let text = r#"
        seed = 1
        [data]
        source = "rows.csv"
        [model]
        hidden = 8
        [training]
        updates = 600
        batch = 50
        gradient = "pcd"
        learning_rate = 0.1
        [evaluation]
        every = 50
        exact = false
        [audit]
        every = 0
    "#;
    let settings: Vec<String> = settings.iter().map(ToString::to_string).collect();
    Config::parse(text, &settings).unwrap()
}

fn device() -> Device {
    Device::Host
}

/// Both layers are enumerated: 2^6 hidden states, and the visible states that the variables allow among 2^9.
#[test]
fn enumeration_of_either_layer_agrees() {
    for kind in ["3+,4,2*1+", "3*3", "2,3+,4"] {
        let variables: Variables = kind.parse().unwrap();
        let of_hidden = gaussian_parameters(9, 6, 1.5, 3).of(variables.clone()).unwrap();
        // Ten hidden units, of which four do nothing: the visible layer is the smaller one.
        let mut of_visible = Parameters::zeros(9, 10).of(variables).unwrap();
        of_visible.visible_bias.clone_from(&of_hidden.visible_bias);
        of_visible.hidden_bias[..6].copy_from_slice(&of_hidden.hidden_bias);
        for (to, from) in of_visible.weights.chunks_mut(10).zip(of_hidden.weights.chunks(6)) {
            to[..6].copy_from_slice(from);
        }
        let idle = 4.0 * 2f64.ln();
        let logits: Vec<f64> = (0..9).map(|i| 0.3 * f64::from(i) - 1.0).collect();
        for beta in [0.0, 0.4, 1.0] {
            let [one, other] = [&of_hidden, &of_visible]
                .map(|model| log_partition_at(model, &logits, beta).unwrap());
            assert!((one + idle - other).abs() < 1e-9, "{kind}, {beta}: {one} {other}");
        }
        let [one, other] = [&of_hidden, &of_visible].map(|model| moments(model).unwrap().visible);
        assert!(one.iter().zip(&other).all(|(a, b)| (a - b).abs() < 1e-9), "{kind}");
    }
}

/// Every estimator that a model allows, by z-scores: of some 50 sound ones beyond 4 errors none, and not more than a tenth beyond 2.
#[test]
fn estimators_are_right_within_their_errors() {
    let (mut all, mut wide, mut beyond) = (0, 0, Vec::new());
    for seed in 0..6 {
        let parameters = model(9, 1.2, 20 + seed);
        let truth = log_partition(&parameters).unwrap();
        let rows = samples(&parameters, 300, seed).unwrap();
        let settings = EstimateSettings {
            methods: ["rts", "ais", "mbar", "sandwich", "auto"]
                .map(|name| name.parse().unwrap())
                .to_vec(),
            seed,
            ..EstimateSettings::default()
        };
        let found = settings
            .run(&parameters, Starting { rows: Some(&rows), ..Starting::default() }, &mut |_| ())
            .unwrap();
        for estimate in
            found.estimates.iter().filter(|it| it.trust.is_sound() && it.std_error > 0.0)
        {
            let z = (estimate.value - truth) / estimate.std_error;
            all += 1;
            wide += usize::from(z.abs() > 2.0);
            if z.abs() > 4.0 {
                beyond.push(format!("{:?} seed {seed}: {z:.1}", estimate.method));
            }
        }
        assert!(found.bound.is_none_or(|bound| bound.value < truth + 1e-6));
    }
    assert!(beyond.is_empty() && all >= 30 && wide * 10 <= all, "{wide} of {all}: {beyond:?}");
}

/// Groups are found, the tracked log Z is right within its errors, and the model finds what the rows have.
#[test]
fn training_tracks_log_z_and_learns_variables() {
    let config = config(&[]);
    let mut trainer = Trainer::new(&config, splits(2000), device()).unwrap();
    let (mut sound, mut beyond, mut last) = (0, 0, f64::NAN);
    while let Some(evaluation) = trainer.next_evaluation().unwrap() {
        let exact = log_partition(&trainer.parameters()).unwrap();
        let LogZ { value, std_error: error, trust } = evaluation.log_z;
        sound += usize::from(trust.is_sound());
        beyond += usize::from(trust.is_sound() && (value - exact).abs() > 4.0 * error);
        last = evaluation.validation.map_or(f64::NAN, |likelihood| likelihood.value);
    }
    assert_eq!(trainer.parameters().variables.to_string(), VARIABLES);
    assert!(sound >= 8 && beyond == 0, "{sound} of 12 sound, {beyond} beyond 4 errors");
    // Independent variables of the same marginals, and the entropy of the source.
    let rows = samples(&model(6, 0.7, 1), 2000, 1).unwrap();
    let source = ztrack::model::exact::mean_log_likelihood(&model(6, 0.7, 1), &rows).unwrap();
    assert!(last < source + 0.3 && last > source - 1.0, "{last} {source}");
}

#[test]
fn model_files_keep_the_variables() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    let parameters = model(3, 1.0, 5);
    ModelFile::from(parameters.clone()).save(&path).unwrap();
    let loaded = ModelFile::load(&path).unwrap();
    assert_eq!(loaded.parameters, parameters);
    assert!(loaded.metadata.is_empty(), "{:?}", loaded.metadata);
}

/// Potts models on rings and a torus as RBMs, far too large to enumerate: log Z by transfer matrices against estimates from the weights.
#[test]
fn potts_models_have_the_log_partition_of_their_transfer_matrix() {
    // By definition first: 3 sites of 2 states; all equal or two of three.
    let small = Potts { width: 1, length: 3, states: 2, coupling: 0.7 };
    let definition = (2.0 * 2.1f64.exp() + 6.0 * 0.7f64.exp()).ln();
    assert!((small.log_partition() - definition).abs() < 1e-12);
    let (model, log_z) = small.rbm().unwrap();
    assert!((log_partition(&model).unwrap() - log_z).abs() < 1e-4);
    let square = Potts { width: 2, length: 3, states: 3, coupling: 0.4 };
    let (model, log_z) = square.rbm().unwrap();
    assert!((log_partition(&model).unwrap() - log_z).abs() < 1e-4);
    for (seed, (width, length, states, coupling)) in
        [(1, 40, 4, 1.5), (1, 60, 21, 2.0), (4, 4, 3, 0.9), (4, 5, 4, 1.3)].into_iter().enumerate()
    {
        let (model, log_z) = Potts { width, length, states, coupling }.rbm().unwrap();
        let found = Automatic::new(seed as u64).unwrap();
        let found = found.run(&model, Known::default(), &mut |_| ()).unwrap().estimate;
        let z = (found.value - log_z) / found.std_error;
        assert!(found.trust.is_sound(), "{width}x{length}, {states} states: {:?}", found.trust);
        assert!(z.abs() < 4.0 && found.std_error < 0.5, "{width}x{length}, {states} states: {z}");
    }
}

/// A base of bits for a model with categorical variables, or rows that are none of its states, would give log Z of no model.
#[test]
fn estimators_refuse_a_base_and_rows_of_other_variables() {
    let variables: Variables = "2*3+,4".parse().unwrap();
    let parameters = gaussian_parameters(10, 4, 0.5, 1).of(variables).unwrap();
    let engine = Host::new(&parameters);
    let base = BaseDistribution::uniform(10);
    let ladder = Ladder::linear(10, &Prior::Uniform).unwrap();
    let ais = Ais { chains: 10, ladder: ladder.clone(), seed: 1 }.run(&engine, &base);
    let known = Known { marginals: Some(&base), ..Known::default() };
    let automatic = Automatic::new(1).unwrap().run(&parameters, known, &mut |_| ());
    for message in [ais.unwrap_err(), automatic.unwrap_err()].map(|error| error.to_string()) {
        assert!(message.contains("of 10 bits, the model of variables `2*3+,4`"), "{message}");
    }
    let rows = BitMatrix::from_fn(3, 10, |row, _| row == 1);
    let known = Known { rows: Some(&rows), ..Known::default() };
    let refused = Automatic::new(1).unwrap().run(&parameters, known, &mut |_| ()).unwrap_err();
    assert!(refused.to_string().contains("rows, row 1"), "{refused}");
}

#[test]
fn rows_that_break_a_variable_are_refused() {
    let mut bad = splits(500);
    let Some(Dataset { values: Values::Binary(rows), .. }) = &mut bad.validation else { panic!() };
    *rows =
        BitMatrix::from_fn(rows.rows(), COLUMNS, |row, i| rows.get(row, i) || (row == 6 && i < 2));
    let refused = |settings: &[&str], splits: Splits| {
        Trainer::new(&config(settings), splits, device()).map(|_| ()).unwrap_err().to_string()
    };
    let message = refused(&[], bad.clone());
    assert!(message.contains("validation rows, row 7: 2 of the columns 1 to 3"), "{message}");
    // As bits they are rows like others.
    assert!(Trainer::new(&config(&["data.groups=false"]), bad, device()).is_ok());
    for (variables, expected) in [("3*3+", "26 columns"), ("26*1+", ""), ("13*2", "row 1")] {
        let setting = format!("data.variables=\"{variables}\"");
        let made = Trainer::new(&config(&[&setting]), splits(500), device());
        match made {
            Ok(trainer) => assert!(expected.is_empty() && trainer.parameters().variables.is_bits()),
            Err(error) => assert!(!expected.is_empty() && error.to_string().contains(expected)),
        }
    }
}

const TABLE: &str = "colour,size,\"likes, much\",flag,class\nred,1,yes,0,a\nblue,2,no,1,b\ngreen,10,yes,1,a\nred,2,no,0,b\n";

fn read(text: &str, options: &FileOptions) -> ztrack::Result<Dataset> {
    read_bytes(Path::new("x.csv"), text.as_bytes().to_vec(), options)
}

/// The rows many times over, so that no value is rare.
fn table() -> String {
    let (header, rows) = TABLE.split_once('\n').unwrap();
    format!("{header}\n{}", rows.repeat(100))
}

#[test]
fn tables_of_categories_become_one_hot_units_with_names() {
    let data = read(&table(), &FileOptions::default()).unwrap();
    let categories = data.categories.clone().unwrap();
    assert_eq!(categories.variables().to_string(), "2*3,2,1+");
    let names: Vec<&str> = categories.columns().iter().map(|c| c.name.as_str()).collect();
    assert_eq!(names, ["colour", "size", "likes, much", "flag"]);
    assert_eq!(categories.columns()[1].states, ["1", "2", "10"], "numbers in their order");
    let Values::Binary(rows) = &data.values else { panic!() };
    assert_eq!((rows.rows(), rows.columns()), (400, 9));
    assert_eq!(categories.cells(rows.row(2)), ["green", "10", "yes", "1"]);
    assert_eq!(data.labels.unwrap()[..3], [0, 1, 0]);
    // Other rows with the states of these.
    let beside = FileOptions { categories: Some(categories), ..FileOptions::default() };
    let other = read("colour,size,x,flag,class\nblue,1,no,1,a\n", &beside).unwrap();
    let Values::Binary(rows) = &other.values else { panic!() };
    assert_eq!(rows.row(0)[0], 0b1_0100_1001);
    // Columns of bits beside one column of categories keep their encodings.
    let votes = "a,b\n".to_string() + &"-1,x\n1,y\n-1,z\n".repeat(50);
    let found = read(&votes, &FileOptions::default()).unwrap().categories.unwrap();
    assert_eq!(found.variables().to_string(), "1+,3");
}

#[test]
fn tables_that_are_no_categories_are_refused() {
    let categories = read(&table(), &FileOptions::default()).unwrap().categories;
    let beside = FileOptions { categories, ..FileOptions::default() };
    let decimals: String = (0..100).map(|i| format!("x{},{}.5\n", i % 3, i)).collect();
    let counts: String = (0..200).map(|i| format!("x{},{}\n", i % 3, i / 2 * 2)).collect();
    let numbered: String = (0..100).map(|i| format!("{},x{}\n", 2 * i, i % 3)).collect();
    let words: String = (0..600).map(|i| format!("0,word{}\n", i / 2)).collect();
    let names = |rows| (0..rows).map(|i| format!("0,name{i}\n")).collect::<String>();
    for (text, options, expected) in [
        (
            table() + "red,1,,0,a\nred,?,no,0,a\n",
            &FileOptions::default(),
            "2 cells are empty or missing (na, n/a, nan, null, ?, -), the first in line 402, column 3; by columns 1 in 2 (size), 1 in 3 (likes, much): fill",
        ),
        (
            table().split_once('\n').unwrap().1.to_string(),
            &FileOptions::default(),
            "looks like a row",
        ),
        (
            "a,b\n".to_string() + &decimals,
            &FileOptions::default(),
            "column 2 (b) has 100 different numbers, not all whole",
        ),
        (
            "a,b\n".to_string() + &counts,
            &FileOptions::default(),
            "column 2 (b) has 100 different numbers: put them",
        ),
        (
            "a,b\n".to_string() + &numbered,
            &FileOptions::default(),
            "column 1 (a): another value in every row, as names of rows",
        ),
        (
            "a,b\n".to_string() + &names(300),
            &FileOptions::default(),
            "column 2 (b): another value in every row",
        ),
        (
            "a,b\n".to_string() + &names(30),
            &FileOptions::default(),
            "column 2 (b): another value in every row",
        ),
        (
            "a,b\n".to_string() + &words,
            &FileOptions::default(),
            "line 514, column 2 (b): `word256` is one value more than the 256",
        ),
        (
            "a,b\n".to_string() + &"0,1\n1,1\n1,0\n".repeat(99) + "0,O\n",
            &FileOptions::default(),
            "line 299, column 2 (b): `O` is neither 0 nor 1",
        ),
        (
            "a,b\n".to_string() + &"0,1\n1,1\n1,0\n".repeat(99) + "0,7\n",
            &FileOptions::default(),
            "where cells are counts, give 1 for each that is not 0",
        ),
        (
            "c,s,l,f,class\nred,1,yes,0,a\npink,1,yes,0,a\n".into(),
            &beside,
            "line 3, column 1 (c): `pink` is no value that the training rows have",
        ),
        ("c,s,class\nred,1,a\n".into(), &beside, "2 columns are units, the training rows have 4"),
    ] {
        let message = read(&text, options).unwrap_err().to_string();
        assert!(message.contains(expected), "{message}");
    }
}

/// Spellings of one value are one state, and names with quotes come back from a table of samples.
#[test]
fn cells_that_say_the_same_are_the_same_state() {
    let numbers = "a,b\n".to_string() + &"1,x\n1.0,y\n+2,x\n3,01\n".repeat(50);
    let found = read(&numbers, &FileOptions::default()).unwrap().categories.unwrap();
    assert_eq!(found.columns()[0].states, ["1", "2", "3"]);
    assert_eq!(found.columns()[1].states, ["01", "x", "y"]);
    let quoted = "\"the \"\"a\"\"\",b\n".to_string()
        + &"\"say \"\"x\"\", ok\",u\nplain,\"v,w\"\n".repeat(50);
    let found = read(&quoted, &FileOptions::default()).unwrap().categories.unwrap();
    assert_eq!(found.columns()[0].name, "the \"a\"");
    assert_eq!(found.columns()[0].states, ["plain", "say \"x\", ok"]);
}

/// A table of grey levels is said to be one of categories.
#[test]
fn tables_of_grey_levels_are_told() {
    let rows = |most: usize| -> String {
        let line = |row: usize| {
            let cells: Vec<_> = (0..16).map(|i| ((7 * row + 3 * i) % most).to_string()).collect();
            cells.join(",") + "\n"
        };
        let names: Vec<_> = (0..16).map(|i| format!("p{i}")).collect();
        names.join(",") + "\n" + &(0..200).map(line).collect::<String>()
    };
    for (most, told) in [(17, true), (5, false)] {
        let train = read(&rows(most), &FileOptions::default()).unwrap();
        let notice = Splits { train, validation: None, test: None }.notice("--columns 1-");
        assert_eq!(notice.is_some_and(|it| it.contains("grey levels")), told, "{most}");
    }
}

/// Runs the command in a folder, where it must succeed; what it printed on both streams.
fn succeeds_in(folder: &Path, arguments: &[&str]) -> String {
    let output = common::ztrack().args(arguments).current_dir(folder).output().unwrap();
    let text = [output.stdout, output.stderr].map(|t| String::from_utf8_lossy(&t).into_owned());
    assert!(output.status.success(), "{arguments:?}: {text:?}");
    text.concat()
}

/// Train, sample in the words of the table, evaluate the samples.
#[test]
fn a_table_of_categories_goes_from_the_command_to_samples_and_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    std::fs::write(path("t.csv"), table()).unwrap();
    let ztrack = |arguments: &[&str]| succeeds_in(folder.path(), arguments);
    let said = ztrack(&[
        "train",
        "t.csv",
        "--out",
        "run",
        "--set",
        "training.updates=300",
        "--set",
        "model.hidden=4",
    ]);
    assert!(said.contains("3 categorical variables and 1 bit (2*3,2,1+)"), "{said}");
    ztrack(&["sample", "run", "--count", "50", "--out", "s.csv"]);
    let samples = std::fs::read_to_string(path("s.csv")).unwrap();
    assert!(samples.starts_with("colour,size,\"likes, much\",flag\n"), "{samples}");
    assert!(samples.lines().skip(1).all(|line| line.split(',').count() == 4));
    let said = ztrack(&["evaluate", "run", "--data", "s.csv"]);
    assert!(said.contains("50"), "{said}");
    std::fs::write(path("bad.csv"), "colour,size,\"likes, much\",flag\nred,3,yes,0\n").unwrap();
    let output = common::ztrack()
        .args(["evaluate", "run", "--data", "bad.csv"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && said.contains("line 2, column 2 (size): `3`"), "{said}");
}

#[test]
fn aligned_sequences_are_read() {
    let read = |name: &str, text: &str| {
        read_bytes(Path::new(name), text.as_bytes().to_vec(), &FileOptions::default())
    };
    let cells = |data: &Dataset, row: usize| {
        let Values::Binary(rows) = &data.values else { panic!() };
        data.categories.as_ref().unwrap().cells(rows.row(row)).concat()
    };
    let dna = read("x.fasta", ">a\nACGT\nacgn\n>b\n--GT\nA.CT\n").unwrap();
    assert_eq!(dna.categories.as_ref().unwrap().variables().to_string(), "8*5");
    assert_eq!([cells(&dna, 0), cells(&dna, 1)], ["ACGTACG-", "--GTA-CT"]);
    let rna = read("x", ">a\nACGU\n").unwrap();
    assert_eq!(cells(&rna, 0), "ACGU");
    // Insertions of A3M are left out; X is none of the twenty.
    let protein = read("x.a3m", ">a\nMKl.V-\n>b\nMXV-\n").unwrap();
    assert_eq!(protein.categories.as_ref().unwrap().variables().to_string(), "4*21");
    assert_eq!([cells(&protein, 0), cells(&protein, 1)], ["MKV-", "M-V-"]);
    for (text, expected) in [
        (
            ">a\nACGT\n>b\nACG\n",
            "sequence 2, which begins in line 3, has 3 positions, the first has 4",
        ),
        ("ACGT\n", "line 1: a sequence without a line that begins with >"),
        (">a\nAC1T\n", "line 2: `1` is no letter"),
        (">a\n", "no data"),
        ("", "is empty"),
    ] {
        let message = read("x.fasta", text).unwrap_err().to_string();
        assert!(message.contains(expected), "{message}");
    }
}

/// A model of bits of a table of categories: its file can be read, its run evaluated; samples may have several states set and are bits.
#[test]
fn a_table_of_categories_can_be_taken_as_bits() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    std::fs::write(path("t.csv"), table()).unwrap();
    let ztrack = |arguments: &[&str]| succeeds_in(folder.path(), arguments);
    for (run, setting) in [("bits", "data.groups=false"), ("given", "data.variables=\"3,3+,3*1+\"")]
    {
        let quick = ["--set", "training.updates=100", "--set", "model.hidden=2"];
        ztrack(&[&["train", "t.csv", "--out", run, "--set", setting], &quick[..]].concat());
        let file = ModelFile::load(folder.path().join(run).join("last.safetensors")).unwrap();
        assert!(file.trained_on.unwrap().categories.is_some());
        ztrack(&["evaluate", run]);
        ztrack(&["evaluate", run, "--data", "t.csv"]);
        let samples = format!("{run}.csv");
        ztrack(&["sample", run, "--count", "5", "--out", &samples]);
        for line in std::fs::read_to_string(path(&samples)).unwrap().lines() {
            let cells: Vec<&str> = line.split(',').collect();
            assert!(cells.len() == 9 && cells.iter().all(|it| matches!(*it, "0" | "1")), "{line}");
        }
    }
}

#[test]
fn the_alphabet_of_sequences_can_be_given() {
    use ztrack::data::Alphabet::{Dna, Protein, Rna};
    let read = |text: &str, alphabet| {
        let options = FileOptions { alphabet: Some(alphabet), ..FileOptions::default() };
        read_bytes(Path::new("x.fasta"), text.as_bytes().to_vec(), &options)
    };
    for (text, alphabet, expected) in
        [(">a\nACGT\n", Protein, "4*21"), (">a\nACG-\n", Rna, "4*5"), (">a\nACG-\n", Dna, "4*5")]
    {
        let categories = read(text, alphabet).unwrap().categories.unwrap();
        assert_eq!(categories.variables().to_string(), expected);
        assert_eq!(categories.columns()[0].states.contains(&"U".into()), alphabet == Rna);
    }
    let message = read(">a\nACGT\n", Rna).unwrap_err().to_string();
    assert!(message.contains("`T` is none of the letters ACGU-: correct it"), "{message}");
    let text = "[data]\nsource = \"x.fasta\"\nalphabet = \"ascii\"\n[model]\nhidden = 4\n";
    let message = Config::parse(text, &[]).unwrap_err().to_string();
    assert!(message.contains("\"dna\", \"rna\", \"protein\""), "{message}");
}

/// `data.unseen`: values that training has not are one state, from the file to samples; without it they are refused.
#[test]
fn unseen_values_can_be_a_state() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("t.csv"), table()).unwrap();
    let header = TABLE.split_once('\n').unwrap().0;
    let rows = format!("{header}\npink,1,perhaps,1,a\nred,10,no,0,b\n");
    std::fs::write(path("v.csv"), &rows).unwrap();
    let load = |unseen: bool| {
        let text = format!(
            "[data]\nunseen = {unseen}\nsource = {{ name = \"files\", train = \"t.csv\", validation = \"v.csv\" }}\n[model]\nhidden = 2\n"
        );
        Config::parse(&text, &[]).unwrap().data.load(Some(folder.path()))
    };
    let message = load(false).unwrap_err().to_string();
    let expected = "line 2, column 1 (colour): `pink` is no value that the training rows have";
    assert!(message.contains(expected) && message.contains("data.unseen = true"), "{message}");
    let splits = load(true).unwrap();
    let categories = splits.train.categories.unwrap();
    assert_eq!(categories.variables().to_string(), "2*4,3,1+");
    let Values::Binary(rows) = &splits.validation.unwrap().values else { panic!() };
    assert_eq!(categories.cells(rows.row(0)), ["(unseen)", "1", "(unseen)", "1"]);
    assert_eq!(categories.cells(rows.row(1)), ["red", "10", "no", "0"]);
    // A model of them reads other new values, and its own samples; a bit stays a bit.
    let beside = FileOptions { categories: Some(categories), ..FileOptions::default() };
    let read = |rows: &str| read(&format!("{header}\n{rows}"), &beside);
    assert!(read("(unseen),3,yes,0,a\nviolet,1,no,1,a\n").is_ok());
    assert!(read("red,1,no,7,a\n").unwrap_err().to_string().contains("column 4 (flag): `7`"));
    assert!(read("red,,no,1,a\n").unwrap_err().to_string().contains("empty or missing"));
}

#[test]
fn sequences_of_another_kind_than_the_training_rows_are_refused() {
    let read = |text: &str, options: &FileOptions| {
        read_bytes(Path::new("x.fasta"), text.as_bytes().to_vec(), options)
    };
    let beside = |text: &str| FileOptions {
        categories: read(text, &FileOptions::default()).unwrap().categories,
        ..FileOptions::default()
    };
    let (dna, protein) = (beside(">a\nACGT\n"), beside(">a\nMKVL\n"));
    for (text, options, expected) in [
        (">a\nACGT\n>b\nACGU\n", &dna, "sequence 2, position 4: `U` is none of the letters ACGT-"),
        (">a\nMKVL\n", &dna, "position 4: `L` is none of the letters"),
        (
            ">a\nACGT\n>b\nUUCA\n",
            &FileOptions::default(),
            "position 4: `T` is none of the letters ACGU-",
        ),
    ] {
        let message = match read(text, options) {
            Err(error) => error.to_string(),
            Ok(_) => panic!("{text} is read"),
        };
        assert!(message.contains(expected), "{message}");
    }
    assert!(read(">a\nNRYK\n", &dna).is_ok() && read(">a\nXBZU\n", &protein).is_ok());
    // A table with as many columns as there are positions.
    let table = "a,b\n".to_string() + &"x,u\ny,v\nz,w\n".repeat(9);
    let table =
        read_bytes(Path::new("x.csv"), table.into_bytes(), &FileOptions::default()).unwrap();
    let beside = FileOptions { categories: table.categories, ..FileOptions::default() };
    let message = read(">a\nAC\n", &beside).unwrap_err().to_string();
    assert!(message.contains("holds sequences, the training rows are a table"), "{message}");
}

/// Train on sequences, sample them, evaluate the samples; a table writes no sequences.
#[test]
fn sequences_go_from_the_command_to_samples_and_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let ztrack = |arguments: &[&str]| {
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_ztrack"))
            .args(arguments)
            .current_dir(folder.path())
            .output()
            .unwrap();
        let text = [output.stdout, output.stderr].map(|t| String::from_utf8_lossy(&t).into_owned());
        (output.status.success(), text.concat())
    };
    std::fs::write(path("s.a3m"), ">a\nACaGT-\n>b\nAC-TA\n>c\nTTGTA\n".repeat(100)).unwrap();
    std::fs::write(path("t.csv"), table()).unwrap();
    let quick = ["--set", "training.updates=200", "--set", "model.hidden=3"];
    let weighted = ["--set", "data.similarity=0.8"];
    let (right, said) =
        ztrack(&[&["train", "s.a3m", "--out", "run"], &quick[..], &weighted].concat());
    assert!(right && said.contains("5 categorical variables (5*5)"), "{said}");
    assert!(said.contains("weights: the training rows count as"), "{said}");
    let (right, said) = ztrack(&["sample", "run", "--count", "40", "--out", "s.fasta"]);
    assert!(right, "{said}");
    let samples = std::fs::read_to_string(path("s.fasta")).unwrap();
    assert!(samples.starts_with(">sample_1\n") && samples.lines().count() == 80, "{samples}");
    let (right, said) = ztrack(&["evaluate", "run", "--data", "s.fasta"]);
    assert!(right && said.contains("40"), "{said}");
    // The weighted likelihood of the run's own training rows is that of the run.
    let summary = std::fs::read_to_string(path("run/summary.json")).unwrap();
    let summary: serde_json::Value = serde_json::from_str(&summary).unwrap();
    let (right, said) = ztrack(&["evaluate", "run", "--split", "train", "--json"]);
    assert!(right, "{said}");
    // Remarks on standard error follow.
    let mut found = serde_json::Deserializer::from_str(&said).into_iter::<serde_json::Value>();
    let found = found.next().unwrap().unwrap();
    for name in ["value", "data_std_error"] {
        let found = found["log_likelihoods"][0][name].as_f64().unwrap();
        let expected = summary["best"]["train_log_likelihood"][name].as_f64().unwrap();
        assert!((found - expected).abs() < 1e-6, "{name}: {found} {expected}");
    }
    let (right, said) = ztrack(&[&["train", "t.csv", "--out", "table"], &quick[..]].concat());
    assert!(right, "{said}");
    let (right, said) = ztrack(&["sample", "table", "--count", "4", "--out", "t.fasta"]);
    assert!(!right && said.contains("only a model of sequences writes .fasta"), "{said}");
}
