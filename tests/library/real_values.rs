//! Real variables from a table to samples: tracked log Z beside enumeration, densities beside normals, missing cells, resume, refusals.

use std::path::Path;

use ztrack::checkpoint::ModelFile;
use ztrack::data::{FileOptions, load_file};
use ztrack::engine::random::{Purpose, Stream, Streams};

use crate::common::{
    assert_same, json, metrics_lines, number, run, succeed, summary, train, train_arguments,
    wait_for, ztrack,
};

fn content(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

/// A text table: a line of names, empty for none, and a row from each random stream.
fn write_rows(path: &Path, names: &str, seed: u64, rows: u32, row: impl Fn(&mut Stream) -> String) {
    let streams = Streams::new(seed, Purpose::TestSystem, 0);
    let rows = (0..rows).map(|i| row(&mut streams.row(i)) + "\n");
    std::fs::write(path, names.to_string() + &rows.collect::<String>()).unwrap();
}

/// Rows of a mixture of two normals in three real columns of very different scale, a bit that follows the component, and a one-hot variable.
fn table(path: &Path, rows: u32, seed: u64) {
    write_rows(path, "a,b,c,bit,red,green,blue\n", seed, rows, |stream| {
        let high = stream.uniform() < 0.5;
        let centre = if high { 2.0 } else { -2.0 };
        let [a, b, c] = [1.0, -1.0, 0.5].map(|sign| sign * centre + stream.normal());
        let bit = u8::from(high == (stream.uniform() < 0.9));
        let colour = (stream.uniform() * 3.0) as usize;
        let one_hot = ["1,0,0", "0,1,0", "0,0,1"][colour.min(2)];
        format!("{},{},{},{bit},{one_hot}", 5.0 + a, 1e4 * b, 1e-3 * c)
    });
}

/// Settings of a run on a table whose first three columns are real, with `more`.
fn settings_of(table: &Path, more: &[&str]) -> Vec<String> {
    let source = format!("data.source={{ name = \"files\", train = {table:?} }}");
    let settings = [
        &source,
        "data.variables=3*real,1+,3",
        "data.validation_fraction=0.2",
        "data.test_fraction=0.2",
        "model.hidden=4",
        "training.batch=50",
        "training.epochs=40",
        "tempering.chains=100",
        "evaluation.exact=true",
    ];
    settings.into_iter().chain(more.iter().copied()).map(String::from).collect()
}

fn train_on(table: &Path, out: &Path, more: &[&str]) -> std::process::Output {
    let settings = settings_of(table, more);
    let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
    let config = table.parent().unwrap().join("real.toml");
    std::fs::write(&config, "").unwrap();
    train(&config.display().to_string(), out, &settings, &[])
}

#[test]
fn a_mixed_table_is_trained_tracked_evaluated_and_sampled() {
    let folder = tempfile::tempdir().unwrap();
    let (rows, out) = (folder.path().join("rows.csv"), folder.path().join("run"));
    table(&rows, 2000, 1);
    let done = train_on(&rows, &out, &[]);
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(done.status.success(), "{said}");
    assert!(said.contains("densities, in the table's own units"), "{said}");

    // Tracked log Z beside enumeration at every evaluation.
    let errors = errors_of(&out);
    assert!(errors.len() > 5 && errors.iter().all(|z| z.abs() < 4.5), "{errors:?}");

    // The entropy of the table in its own units: -E log p of a mixture of two normals, a bit and three colours.
    let found = summary(&out);
    let test = number(&found["best"]["test_log_likelihood"]["value"]);
    let normal = 0.5 * (2.0 * std::f64::consts::PI * std::f64::consts::E).ln();
    let bit = -(0.9 * 0.9f64.ln() + 0.1 * 0.1f64.ln());
    // The components overlap in a hundredth of the rows: less than a twentieth of a nat.
    let entropy = 3.0 * normal + 2.0f64.ln() + bit + 3.0f64.ln() + (1e4f64 * 1e-3).ln();
    let error = number(&found["best"]["test_log_likelihood"]["std_error"]);
    assert!(test + entropy > -0.25 - 4.0 * error, "{test} {entropy} {error}");
    assert!(test + entropy < 0.1 + 4.0 * error, "{test} {entropy} {error}");

    let run_folder = out.display().to_string();
    let again = json(&["evaluate", &run_folder, "--json"]);
    assert!(again.to_string().contains("log_likelihood"), "{again}");
    let samples = folder.path().join("samples.csv").display().to_string();
    succeed(&["sample", &run_folder, "--count", "2000", "--out", &samples]);
    let samples = content(Path::new(&samples));
    let (header, samples) = samples.split_once('\n').unwrap();
    assert_eq!(header, "a,b,c,bit,red,green,blue");
    let cells: Vec<Vec<f64>> = samples
        .lines()
        .map(|line| line.split(',').map(|cell| cell.parse().unwrap()).collect())
        .collect();
    assert!(cells.iter().all(|row| row.len() == 7 && row[4] + row[5] + row[6] == 1.0));
    let covariance = |i: usize, j: usize| {
        let mean = |k: usize| cells.iter().map(|row| row[k]).sum::<f64>() / cells.len() as f64;
        let products = cells.iter().map(|row| (row[i] - mean(i)) * (row[j] - mean(j)));
        products.sum::<f64>() / cells.len() as f64
    };
    // Of the table 5, -4 and 5 in units of the columns.
    assert!((covariance(0, 0) - 5.0).abs() < 1.0, "{}", covariance(0, 0));
    assert!((covariance(0, 1) / 1e4 + 4.0).abs() < 1.0, "{}", covariance(0, 1));
    assert!((covariance(1, 1) / 1e8 - 5.0).abs() < 1.0, "{}", covariance(1, 1));

    // A cell of the second column that is missing has the sign that the first one says.
    let holes = folder.path().join("holes.csv");
    std::fs::write(&holes, "a,b,c,bit,red,green,blue\n7,,0.001,1,0,1,0\n3,,-0.001,0,0,1,0\n")
        .unwrap();
    let (holes, full) = (holes.display().to_string(), folder.path().join("full.csv"));
    let full_text = full.display().to_string();
    succeed(&["impute", &run_folder, &holes, "--out", &full_text, "--fill", "likeliest"]);
    let filled = content(&full);
    let second = |row: usize| -> f64 {
        filled.lines().nth(row).unwrap().split(',').nth(1).unwrap().parse().unwrap()
    };
    assert!(second(1) < -1e4 && second(2) > 1e4, "{filled}");

    let nearest = folder.path().join("nearest.csv").display().to_string();
    let model = ModelFile::load(out.join("best.safetensors")).unwrap();
    assert!(model.states.unwrap().has_numbers());
    for (arguments, expected) in [
        (&["estimate", &run_folder, "--method", "tap-third"][..], "real variables"),
        (
            &["sample", &run_folder, "--nearest", "--count", "10", "--out", &nearest],
            "real variables",
        ),
    ] {
        let refused = run(arguments);
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(!refused.status.success() && said.contains(expected), "{said}");
    }
}

/// Tracked log Z of a run beside enumeration, in errors, at every evaluation.
fn errors_of(out: &Path) -> Vec<f64> {
    let metrics = content(&out.join("metrics.csv"));
    let names: Vec<&str> = metrics.lines().next().unwrap().split(',').collect();
    let column = |name: &str| names.iter().position(|it| *it == name).unwrap();
    let of = [column("log_z"), column("log_z_std_error"), column("exact_log_z")];
    let error = |line: &str| {
        let cells: Vec<&str> = line.split(',').collect();
        let [found, error, exact] = of.map(|i| cells[i].parse::<f64>().unwrap());
        (found - exact) / error
    };
    metrics.lines().skip(1).map(error).collect()
}

#[test]
fn every_gradient_trains_real_columns() {
    let folder = tempfile::tempdir().unwrap();
    let rows = folder.path().join("rows.csv");
    table(&rows, 1000, 5);
    for (kind, device) in [
        ("{ kind = \"tempered\" }", "host"),
        ("{ kind = \"cd\", sweeps = 2 }", "host"),
        ("{ kind = \"pcd\" }", "ndarray"),
    ] {
        let out = folder.path().join(device.to_owned() + &kind[11..14]);
        let gradient = format!("training.gradient={kind}");
        let settings = settings_of(&rows, &[&gradient, "training.epochs=15"]);
        let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
        let config = folder.path().join("real.toml");
        std::fs::write(&config, "").unwrap();
        train(&config.display().to_string(), &out, &settings, &["--device", device]);
        let errors = errors_of(&out);
        assert!(errors.iter().all(|z| z.abs() < 4.5) && errors.len() > 1, "{kind}: {errors:?}");
        // Better than independent columns: normals of the table's standard deviations, a bit and three colours.
        let found = summary(&out);
        let value = number(&found["best"]["validation_log_likelihood"]["value"]);
        let normal = 0.5 * (2.0 * std::f64::consts::PI * std::f64::consts::E * 5.0).ln();
        let independent = 3.0 * normal + (1e4f64 * 1e-3).ln() + 2.0f64.ln() + 3.0f64.ln();
        assert!(value > 0.3 - independent, "{kind}: {value} {independent}");
    }
}

/// More hidden units than can be enumerated beside few real columns, which enumeration does not visit.
#[test]
fn few_columns_beside_many_hidden_units_are_annealed() {
    let folder = tempfile::tempdir().unwrap();
    let (rows, out) = (folder.path().join("rows.csv"), folder.path().join("run"));
    table(&rows, 300, 6);
    let settings =
        ["model.hidden=30", "training.epochs=4", "evaluation.exact=auto", "audit.every=1"];
    train_on(&rows, &out, &settings);
    assert!(content(&out.join("metrics.csv")).lines().count() > 1);
    let config = folder.path().join("real.toml").display().to_string();
    let settings = settings_of(&rows, &["model.hidden=30"]);
    let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
    let arguments = train_arguments(&config, &folder.path().join("x"), &settings);
    let refused = run(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success() && said.contains("evaluation.exact"), "{said}");
}

/// A column of two different numbers, which a hidden unit determines, at a rate far above the usual one: in most runs its variance falls to the
/// lower bound, which is said, and in none below it.
#[test]
fn a_collapse_of_a_variance_is_said_and_stopped() {
    let folder = tempfile::tempdir().unwrap();
    let rows = folder.path().join("rows.csv");
    write_rows(&rows, "", 7, 600, |stream| {
        let sign = if stream.uniform() < 0.5 { 1.0 } else { -1.0 };
        format!("{sign},{}", stream.normal())
    });
    let is_said = |seed: &u64| {
        let (out, seed) = (folder.path().join(seed.to_string()), format!("seed={seed}"));
        let settings = [
            &seed,
            "data.variables=real",
            "model.hidden=1",
            "training.epochs=100",
            "training.batch=10",
            "training.gradient=tempered",
            "training.learning_rate={ initial = 0.5, schedule = \"constant\" }",
            "training.update.momentum=0.95",
            "training.early_stopping=false",
            "training.rewind=false",
            "training.largest_step=1e9",
            "evaluation.every=600",
        ];
        train_on(&rows, &out, &settings);
        let model = ModelFile::load(out.join("last.safetensors")).unwrap().parameters;
        for (first, _) in model.variables.reals() {
            let variance = -0.5 / model.visible_bias[first + 1];
            assert!((0.009_99..2.001).contains(&variance), "{first}: {variance}");
        }
        content(&out.join("notices.jsonl")).contains("variances-at-bound")
    };
    let said = (1..=5).filter(is_said).count();
    assert!(said >= 2, "{said}");
}

/// Three columns that are one number up to a hundredth of its variance: below factor analysis, which is said with what to do.
#[test]
fn collinear_columns_lead_to_principal_components() {
    let folder = tempfile::tempdir().unwrap();
    let (rows, out) = (folder.path().join("rows.csv"), folder.path().join("run"));
    write_rows(&rows, "", 8, 1000, |stream| {
        let z = stream.normal();
        let [a, b, c] = [1.0, 2.0, -1.0].map(|factor| factor * z + 0.05 * stream.normal());
        format!("{a},{b},{c}")
    });
    let done = train_on(&rows, &out, &["data.variables=real", "model.hidden=2"]);
    let said = String::from_utf8_lossy(&done.stdout).into_owned();
    assert!(said.contains("factor analysis") && said.contains("principal components"), "{said}");
}

/// Words, whole numbers, answers and real numbers in one table, as statistics programs write it: trained, tracked beside enumeration, scored,
/// sampled and filled in, in the table's own words.
#[test]
fn words_and_numbers_in_one_table() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    let (rows, out) = (file("rows.csv"), file("run"));
    // Height follows the kind; leaves are many or few by it.
    write_rows(&rows, "kind,height,leaves,healthy,weight\n", 9, 1500, |stream| {
        let tree = stream.uniform() < 0.5;
        let kind = if tree { "oak, tall" } else { "moss" };
        let height = if tree { 25.0 } else { 10.0 } + 3.0 * stream.normal();
        let leaves = u32::from(tree) * 3 + (stream.uniform() * 2.0) as u32;
        let healthy = u8::from(stream.uniform() < 0.3);
        format!("\"{kind}\",{height},{leaves},{healthy},{}", 1e6 + stream.normal())
    });
    let variables = ["data.variables=mixed", "model.hidden=3"];
    let done = train_on(&rows, &out, &variables);
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(done.status.success(), "{said}");
    assert!(said.contains("columns: 2 real numbers, 2 categorical variables, 1 bit"), "{said}");
    let errors = errors_of(&out);
    assert!(errors.len() > 5 && errors.iter().all(|z| z.abs() < 4.5), "{errors:?}");
    // Entropy: a kind, two normals, one of two numbers of leaves, health.
    let normal = 0.5 * (2.0 * std::f64::consts::PI * std::f64::consts::E).ln();
    let healthy = -(0.3 * 0.3f64.ln() + 0.7 * 0.7f64.ln());
    let entropy = 2.0 * 2.0f64.ln() + 2.0 * normal + 3.0f64.ln() + healthy;
    let test = &summary(&out)["best"]["test_log_likelihood"];
    let (value, error) = (number(&test["value"]), number(&test["std_error"]));
    assert!((value + entropy).abs() < 0.3 + 4.0 * error, "{value} {entropy} {error}");

    let [run_folder, table] = [&out, &rows].map(|path| path.display().to_string());
    let described = succeed(&["data", "describe", &table, "--set", "data.variables=mixed"]);
    assert!(described.contains("  kind              mixed\n"), "{described}");
    let baselines = ["data", "describe", &table, "--set", "data.variables=mixed", "--baselines"];
    assert!(succeed(&baselines).contains("factor analysis"));
    let samples = file("samples.csv");
    succeed(&["sample", &run_folder, "--count", "500", "--out", &samples.display().to_string()]);
    let samples = content(&samples);
    let (header, samples) = samples.split_once('\n').unwrap();
    assert_eq!(header, "kind,height,leaves,healthy,weight");
    let high = |line: &&str| {
        let cells: Vec<&str> =
            line.strip_prefix("\"oak, tall\"").unwrap_or(line).split(',').collect();
        assert!(cells[1].parse::<f64>().is_ok() && "0134".contains(cells[2]), "{line}");
        line.starts_with("\"oak") == (cells[1].parse::<f64>().unwrap() > 17.5)
    };
    assert!(samples.lines().filter(high).count() > 450);

    // Its layers cannot be exchanged: hidden units are bits.
    let turned = run(&["estimate", &run_folder, "--transpose"]);
    let said = String::from_utf8_lossy(&turned.stderr).into_owned();
    assert!(!turned.status.success() && said.contains("has no transpose"), "{said}");

    // Cells that are missing, and cells that the training rows have not.
    let write = |name: &str, rows: &str| {
        std::fs::write(file(name), format!("kind,height,leaves,healthy,weight\n{rows}")).unwrap();
        file(name).display().to_string()
    };
    let holes = write("holes.csv", "NA,24,4,1,1000000\nmoss,?,1,0,1000001\n");
    let full = file("full.csv").display().to_string();
    succeed(&["impute", &run_folder, &holes, "--out", &full]);
    let filled = content(Path::new(&full));
    let lines: Vec<&str> = filled.lines().collect();
    assert!(lines[1].starts_with("\"oak, tall\",24,"), "{filled}");
    let height: f64 = lines[2].split(',').nth(1).unwrap().parse().unwrap();
    assert!((height - 10.0).abs() < 4.0, "{filled}");
    let scored = succeed(&["evaluate", &run_folder, "--data", &holes]);
    assert!(scored.contains("2 of them with missing cells"), "{scored}");
    for (row, expected) in [
        ("moss,high,1,0,1000001\n", "column 2 (height): `high` is no number, as"),
        ("fern,9,1,0,1000001\n", "column 1 (kind): `fern` is no value that the training rows have"),
        ("moss,9,2,0,1000001\n", "column 3 (leaves): `2` is no value"),
    ] {
        let refused = run(&["evaluate", &run_folder, "--data", &write("wrong.csv", row)]);
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(!refused.status.success() && said.contains(expected), "{expected}: {said}");
    }
}

/// What each column of a mixed table is: many numbers are real even if hardly any is not 0; codes among words are categories.
#[test]
fn columns_of_a_mixed_table_are_what_their_cells_show() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.csv");
    let mixed = FileOptions { mixed: true, ..FileOptions::default() };
    // Of 40 000 rows 400 are not 0, all different; 60 codes and as many words.
    let row = |i: usize| {
        let rare = if i.is_multiple_of(100) { i as f64 + 0.5 } else { 0.0 };
        let code =
            if i.is_multiple_of(2) { format!("V{}", i % 120) } else { (i % 120).to_string() };
        format!("{rare},{code},{},{}\n", i % 3, i % 2)
    };
    let rows: String = (0..40_000).map(row).collect();
    std::fs::write(&path, format!("rare,code,few,bit\n{rows}")).unwrap();
    let data = load_file(&path, &mixed).unwrap();
    assert_eq!(
        data.reals.as_ref().unwrap().kinds(data.columns()),
        "1 real number, 2 categorical variables, 1 bit"
    );
    // Of 40 rows each of 20 numbers is in two: they are real.
    let rows: String = (0..40).map(|i| format!("{},{}\n", i % 20, i % 2)).collect();
    std::fs::write(&path, format!("a,bit\n{rows}")).unwrap();
    assert!(load_file(&path, &mixed).unwrap().reals.is_some());
    let array = folder.path().join("x.npy");
    std::fs::write(&array, b"\x93NUMPY\x01\x00").unwrap();
    let message = load_file(&array, &mixed).unwrap_err().to_string();
    assert!(message.contains("real numbers of an array are read by \"real\""), "{message}");
}

#[test]
fn a_killed_and_resumed_run_has_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let rows = folder.path().join("rows.csv");
    table(&rows, 500, 2);
    let [whole, broken] = ["whole", "broken"].map(|name| folder.path().join(name));
    let settings = ["training.epochs=60", "evaluation.every=20"];
    assert!(train_on(&rows, &whole, &settings).status.success());
    let config = folder.path().join("real.toml").display().to_string();
    let all = settings_of(&rows, &settings);
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    let mut child = ztrack().args(train_arguments(&config, &broken, &all)).spawn().unwrap();
    wait_for("three evaluations", || metrics_lines(&broken) > 3);
    child.kill().unwrap();
    child.wait().unwrap();
    let before = metrics_lines(&broken);
    succeed(&["train", "--resume", "--out", &broken.display().to_string()]);
    assert!(metrics_lines(&broken) > before, "the run was over before it was killed");
    assert_same(&whole, &broken);
}

#[test]
fn what_a_table_cannot_be_is_said() {
    let folder = tempfile::tempdir().unwrap();
    for (content, variables, expected) in [
        ("1.5,2.5\n2.5,3.25\n", None, "data.variables = \"real\""),
        ("1.5,red\n2.5,blue\n", Some("real,1+"), "`red` is no number"),
        ("1.5,red\n2.5,blue\n", Some("real"), "--set data.variables=mixed"),
        (
            "a,b\n1.5,red\nunknown,blue\n2.5,red\n3.25,blue\n",
            Some("mixed"),
            "line 3, column 1 (a): `unknown` is no number, as other cells of this column are",
        ),
        (
            "a,b\n1.5,7\n2.5,7\n1.5,7\n1,7\n",
            Some("real"),
            "leave them out (data.source.columns): b",
        ),
        ("1.5,7\n2.5,8\n", Some("3*real"), "have 3 columns, the table 2"),
        ("1.5,inf\n2.5,8\n", Some("real"), "inf is no number"),
        ("1.5,2\n2.5,1e300\n2,3\n", Some("real"), "column 2, row 2: 1e300 is too far"),
        ("1.5,2\n2.5,1e300\n2.25,3\n", Some("mixed"), "column 2, row 2: 1e300 is too far"),
        ("1.5,2\n2.5,inf\n2.25,3\n", Some("mixed"), "line 2, column 2: `inf` is no number"),
    ] {
        let path = folder.path().join("x.csv");
        let numbers =
            (0..60).map(|i| format!("{},{}\n", 0.5 + f64::from(i) * 1.1, 0.3 * f64::from(i)));
        let content = match variables {
            None => numbers.collect(),
            Some(_) => content.to_string(),
        };
        std::fs::write(&path, content).unwrap();
        let path = path.display().to_string();
        let setting = variables.map(|text| format!("data.variables={text}"));
        let mut arguments = vec!["train", &path, "--set", "model.hidden=2"];
        arguments.extend(setting.iter().flat_map(|setting| ["--set", setting.as_str()]));
        arguments.extend([
            "--set",
            "data.validation_fraction=0.0",
            "--set",
            "data.test_fraction=0.0",
        ]);
        let refused = run(&arguments);
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(!refused.status.success() && said.contains(expected), "{expected}: {said}");
        assert!(!said.contains("panicked"), "{said}");
    }
}
