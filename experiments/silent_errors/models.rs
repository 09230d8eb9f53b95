//! The models. Each has a recipe with a name and a seed, is made when needed and is cached in a folder.

use std::path::Path;

use super::planted::Planted;
use anyhow::{Context, Result};
use ztrack::Device;
use ztrack::Parameters;
use ztrack::checkpoint::ModelFile;
use ztrack::config::Config;
use ztrack::data::{
    Binarization, Binarizer, Dataset, Files, Source, SplitOptions, Splits, Values, load,
};
use ztrack::engine::BitMatrix;
use ztrack::engine::random::{Purpose, Stream, Streams};
use ztrack::model::exact;
use ztrack::model::test_systems::{gaussian_parameters, independent};
use ztrack::training::Trainer;
use ztrack::units::Variables;

/// Where a model comes from.
#[derive(Clone, Debug)]
pub enum Recipe {
    /// A file of ../shared/models.
    Shared(&'static str),
    /// Trained: data, gradient, hidden units, learning rate, updates.
    Trained(Data, &'static str, usize, f64, u64),
    /// Gaussian weights and biases: visible, hidden units, standard deviation.
    Gaussian(usize, usize, f64),
    /// The same of categorical variables: variables, hidden units, standard deviation.
    Categorical(&'static str, usize, f64),
    /// Two modes, all units off and all on: visible, hidden units, weight, and the standard deviation of what is added to every
    /// weight.
    TwoModes(usize, usize, f32, f32),
    /// Several modes by construction: visible, hidden units, patterns, weight.
    Patterns(usize, usize, usize, f32),
    /// Models of these recipes beside each other, which do not see each other.
    Together(&'static [Recipe]),
    /// Too large to enumerate, with a log Z that is known by construction.
    Planted(Planted),
}

/// What a model was trained on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Data {
    Mnist,
    Dna,
    /// Bars and stripes of this side.
    Bars(usize),
    /// One-hot columns of ../shared/datasets/nade, by the name of the file.
    Table(&'static str),
    /// Variables of four states around prototypes: variables, prototypes, share of other states.
    Potts(usize, u64, f64),
    /// Two prototypes with noise: columns, share of flipped units, share of the second prototype.
    TwoModes(usize, f64, f64),
}

/// A recipe and the seed of its random numbers.
#[derive(Clone, Debug)]
pub struct Subject {
    pub recipe: Recipe,
    pub seed: u64,
}

/// A model with its exact log Z.
pub struct Model {
    pub parameters: Parameters,
    pub log_z: f64,
}

impl Subject {
    pub fn name(&self) -> String {
        let seed = self.seed;
        match &self.recipe {
            Recipe::Shared(name) => (*name).into(),
            Recipe::Trained(data, gradient, hidden, rate, updates) => {
                let data = match data {
                    Data::Mnist => "mnist".into(),
                    Data::Dna => "dna".into(),
                    Data::Bars(side) => format!("bars{side}"),
                    Data::Table(name) => (*name).into(),
                    Data::Potts(m, n, noise) => format!("potts{m}-{n}-{noise}"),
                    Data::TwoModes(m, noise, share) => format!("twomode{m}-{noise}-{share}"),
                };
                format!("{data}-{gradient}-h{hidden}-rate{rate}-{updates}-s{seed}")
            }
            Recipe::Gaussian(m, j, scale) => format!("gaussian-{m}x{j}-{scale}-s{seed}"),
            Recipe::Categorical(kind, j, scale) => {
                format!("categorical-{}x{j}-{scale}-s{seed}", kind.replace('*', "of"))
            }
            Recipe::TwoModes(m, j, w, noise) => format!("allon-{m}x{j}-{w}-{noise}-s{seed}"),
            Recipe::Patterns(m, j, n, w) => format!("patterns-{m}x{j}-{n}-{w}-s{seed}"),
            Recipe::Together(parts) => {
                let names = self.parts(parts).map(|part| part.name()).collect::<Vec<_>>();
                names.join("+")
            }
            Recipe::Planted(planted) => format!("{}-s{seed}", planted.name()),
        }
    }

    /// The family, for sums over models of one kind.
    pub fn family(&self) -> &'static str {
        match &self.recipe {
            Recipe::Shared(_) => "published",
            Recipe::Trained(Data::Mnist, ..) => "mnist",
            Recipe::Trained(Data::Dna, ..) => "dna",
            Recipe::Trained(Data::Table(_) | Data::Potts(..), ..) => "categorical data",
            Recipe::Categorical(..) => "categorical",
            Recipe::Trained(Data::Bars(_), ..) => "bars",
            Recipe::Trained(Data::TwoModes(..), ..) => "two-mode data",
            Recipe::Gaussian(_, _, scale) if *scale < 5.0 => "gaussian",
            Recipe::Gaussian(..) => "large weights",
            Recipe::TwoModes(_, _, w, _) if *w >= 5.0 => "large weights",
            Recipe::TwoModes(..) | Recipe::Patterns(..) => "modes by construction",
            Recipe::Planted(Planted::Needle { .. }) => "needle and haze",
            Recipe::Planted(Planted::LowRank(..)) => "low rank",
            Recipe::Planted(Planted::Blocks(..)) => "blocks",
            Recipe::Planted(Planted::Islands(..)) => "islands",
            Recipe::Planted(Planted::States(..)) => "states",
            Recipe::Planted(Planted::Tall(..)) => "tall",
            Recipe::Together(_) => "together",
        }
    }

    /// The model and its exact log Z, from `folder` where it has been made before; `None` where its data are missing.
    pub fn model(&self, folder: &Path) -> Result<Option<Model>> {
        let path = folder.join(format!("{}.safetensors", self.name()));
        if path.is_file() {
            let file = ModelFile::load(&path)?;
            let log_z = file.metadata.get("exact_log_z").context("no exact_log_z")?.parse()?;
            return Ok(Some(Model { parameters: file.parameters, log_z }));
        }
        let (parameters, log_z) = match self.recipe {
            Recipe::Planted(planted) => planted
                .model(self.seed, &mut Streams::new(self.seed, Purpose::TestSystem, 2).row(0))?,
            Recipe::Together(parts) => {
                let models: Result<Option<Vec<Model>>> =
                    self.parts(parts).map(|part| part.model(folder)).collect();
                let Some(models) = models? else { return Ok(None) };
                let parts: Vec<Parameters> = models.into_iter().map(|it| it.parameters).collect();
                let system = independent(&parts, self.seed)?;
                (system.parameters, system.log_partition)
            }
            _ => {
                let Some(parameters) = self.make()? else { return Ok(None) };
                let log_z = exact::log_partition(&parameters)?;
                (parameters, log_z)
            }
        };
        std::fs::create_dir_all(folder)?;
        let metadata = [("exact_log_z".to_string(), format!("{log_z:?}"))].into();
        ModelFile { metadata, ..ModelFile::from(parameters.clone()) }.save(&path)?;
        Ok(Some(Model { parameters, log_z }))
    }

    fn parts(&self, parts: &'static [Recipe]) -> impl Iterator<Item = Self> {
        let seed = 10 * self.seed;
        (0..).zip(parts).map(move |(n, recipe)| Self { recipe: recipe.clone(), seed: seed + n })
    }

    fn make(&self) -> Result<Option<Parameters>> {
        let stream = || Streams::new(self.seed, Purpose::TestSystem, 1).row(0);
        Ok(match self.recipe {
            Recipe::Shared(name) => {
                let path = shared().join("models").join(name).with_extension("npz");
                if path.is_file() { Some(ModelFile::load(path)?.parameters) } else { None }
            }
            Recipe::Gaussian(m, j, scale) => Some(gaussian_parameters(m, j, scale, self.seed)),
            Recipe::Categorical(kind, j, scale) => {
                let variables: Variables = kind.parse()?;
                let columns = variables.categorical().last().map_or(0, |last| last.range().end);
                Some(gaussian_parameters(columns, j, scale, self.seed).of(variables)?)
            }
            Recipe::TwoModes(m, j, w, noise) => Some(two_modes((m, j), w, noise, &mut stream())),
            Recipe::Planted(_) | Recipe::Together(_) => None,
            Recipe::Patterns(m, j, n, w) => Some(patterns((m, j), n, w, &mut stream())),
            Recipe::Trained(data, gradient, hidden, rate, updates) => {
                let Some(splits) = splits(data, self.seed)? else { return Ok(None) };
                Some(trained(splits, gradient, hidden, rate, updates, self.seed)?)
            }
        })
    }
}

fn shared() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared")
}

/// Biases for which all units off and all units on have about the same weight (reliability review, 3).
fn two_modes((m, j): (usize, usize), w: f32, noise: f32, stream: &mut Stream) -> Parameters {
    let mut normal = || stream.normal() as f32;
    Parameters {
        n_visible: m,
        n_hidden: j,
        variables: Variables::BITS,
        weights: (0..m * j).map(|_| w + noise * normal()).collect(),
        visible_bias: vec![-0.5 * w * j as f32 + 0.3; m],
        hidden_bias: vec![-0.5 * w * m as f32 + 0.3; j],
    }
}

/// Hopfield-like: each hidden unit couples to one pattern, centered so that every pattern is a mode.
fn patterns((m, j): (usize, usize), n: usize, w: f32, stream: &mut Stream) -> Parameters {
    let patterns: Vec<Vec<f32>> = (0..n)
        .map(|_| (0..m).map(|_| if stream.uniform() < 0.5 { -1.0 } else { 1.0 }).collect())
        .collect();
    let weights =
        (0..m * j).map(|at| w * patterns[at % j % n][at / j] + 0.1 * stream.normal() as f32);
    let weights: Vec<f32> = weights.collect();
    let row = |i: usize| weights[i * j..(i + 1) * j].iter().sum::<f32>();
    let column = |u: usize| (0..m).map(|i| weights[i * j + u]).sum::<f32>();
    let visible_bias = (0..m).map(|i| -0.5 * row(i)).collect();
    let hidden_bias = (0..j).map(|u| -0.5 * column(u)).collect();
    Parameters {
        n_visible: m,
        n_hidden: j,
        visible_bias,
        hidden_bias,
        weights,
        variables: Variables::BITS,
    }
}

/// At most 2000 training rows.
fn splits(data: Data, seed: u64) -> Result<Option<Splits>> {
    let binary = |bits, name: &str| Dataset::new(name, Values::Binary(bits), None, None);
    let train = match data {
        Data::Mnist | Data::Dna => {
            let (source, set) = if data == Data::Mnist {
                (Source::Mnist {}, "mnist")
            } else {
                (Source::Dna {}, "dna")
            };
            let folder = shared().join("datasets");
            if !folder.join(set).is_dir() {
                return Ok(None);
            }
            let train = load(&source, &SplitOptions::default(), &folder)?.train;
            let rows: Vec<usize> = (0..train.rows().min(2000)).collect();
            let how =
                if data == Data::Mnist { Binarization::Threshold(0.5) } else { Binarization::None };
            binary(Binarizer::new(how)?.binarize(&train.select(&rows), 0, 0)?, set)?
        }
        Data::Bars(side) => {
            let text =
                format!("name = \"bars-and-stripes\"\nside = {side}\nrows = 2000\nnoise = 0.02");
            load(&toml::from_str::<Source>(&text)?, &SplitOptions::default(), Path::new("."))?.train
        }
        Data::Table(name) => {
            let path = shared().join(format!("datasets/nade/{name}.train.csv.gz"));
            if !path.is_file() {
                return Ok(None);
            }
            let files = Files { train: path, ..Files::default() };
            let options = SplitOptions::default();
            load(&Source::Files(files), &options, Path::new(""))?.train
        }
        Data::Potts(m, prototypes, noise) => {
            let mut stream = Streams::new(seed, Purpose::Generator, 10).row(0);
            let mut state = || (stream.uniform() * 4.0) as usize;
            let usual: Vec<Vec<usize>> =
                (0..prototypes).map(|_| (0..m).map(|_| state()).collect()).collect();
            let mut bits = BitMatrix::zeros(2000, 4 * m);
            for row in 0..2000 {
                for variable in 0..m {
                    let other = (stream.uniform() * 4.0) as usize;
                    let usual = usual[row % prototypes as usize][variable];
                    let state = if stream.uniform() < noise { other } else { usual };
                    bits.set(row, 4 * variable + state, true);
                }
            }
            binary(bits, "potts")?
        }
        Data::TwoModes(m, noise, share) => {
            let mut stream = Streams::new(seed, Purpose::Generator, 9).row(0);
            let prototypes: [Vec<bool>; 2] =
                std::array::from_fn(|_| (0..m).map(|_| stream.uniform() < 0.5).collect());
            let mut bits = BitMatrix::zeros(1000, m);
            for row in 0..1000 {
                let which = usize::from(stream.uniform() < share);
                for (i, on) in prototypes[which].iter().enumerate() {
                    bits.set(row, i, *on != (stream.uniform() < noise));
                }
            }
            binary(bits, "two modes")?
        }
    };
    Ok(Some(Splits { train, validation: None, test: None }))
}

fn trained(
    splits: Splits,
    gradient: &str,
    hidden: usize,
    rate: f64,
    updates: u64,
    seed: u64,
) -> Result<Parameters> {
    // Nobody looks at the tracked log Z here.
    let (chains, temperatures, every) =
        if gradient == "tempered" { (50, 20, 1) } else { (2, 2, updates) };
    let text = format!(
        "seed = {seed}\n[data]\nsource = {{ name = \"bars-and-stripes\", side = 4 }}\n[model]\nhidden = {hidden}\n\
         [training]\nupdates = {updates}\nbatch = 100\ngradient = {{ kind = \"{gradient}\" }}\ncentering = true\n\
         learning_rate = {{ initial = {rate} }}\n\
         [tempering]\nchains = {chains}\ntemperatures = {temperatures}\nsweeps = 1\nevery = {every}\n\
         [evaluation]\nevery = {updates}\n"
    );
    let config = Config::parse(&text, &[])?;
    let mut trainer = Trainer::new(&config, splits, &Device::Host)?;
    while trainer.updates() < updates {
        trainer.step()?;
    }
    Ok(trainer.parameters())
}
