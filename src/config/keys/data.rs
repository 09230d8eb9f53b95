//! `seed` and `[data]`.

use super::LeftOut::{Is, Nothing, Required};
use super::Takes::{Flag, Number, Other, Section, Seed, Text, Whole, Word};
use super::{Key, Short, WordValue, Worded};
use crate::data::{Column, Columns, Separator};
use crate::units::Variables;

/// Names of the known data sets.
const SETS: &[&str] = &["bars-and-stripes", "dna-like", "dna", "mnist", "binarized-mnist"];
/// What `data.source.name` can be.
const KINDS: &[&str] =
    &["bars-and-stripes", "dna-like", "dna", "mnist", "binarized-mnist", "files"];

pub const KEYS: &[Key] = &[
    Key::new("seed", Seed, Is("0"), "", "7", "Seed of every random stream of the run."),
    Key::new(
        "data",
        Section(Short::Nothing),
        Required,
        "",
        "{ source = \"dna\" }",
        "Where rows come from and how they become zeros and ones.",
    ),
    Key::new(
        "data.source",
        Section(Short::Choice { tag: "name", words: SETS, usual: None }),
        Required,
        "",
        "\"mnist\"",
        "A known data set by its name, or the path of a data file, as in \"my.csv\"; a section where there is more to say.",
    ),
    Key::new(
        "data.source.name",
        Word(KINDS),
        Required,
        "",
        "\"dna\"",
        "Which kind of source: bars-and-stripes and dna-like are generated, dna, mnist and binarized-mnist lie in the data folder, files are files.",
    ),
    Key::new("data.source.side", Whole(1), Is("4"), "pixels", "5", "Height and width of the pictures.")
        .of(&["bars-and-stripes"]),
    Key::new(
        "data.source.rows",
        Whole(0),
        Is("0"),
        "rows",
        "2000",
        "Number of rows; bars-and-stripes: 0 for every pattern once; dna-like: 2000 where nothing is given.",
    )
    .of(&["bars-and-stripes", "dna-like"]),
    Key::new(
        "data.source.noise",
        Number,
        Is("0.0"),
        "probability",
        "0.02",
        "Probability that a pixel is flipped, from 0 to 0.5.",
    )
    .of(&["bars-and-stripes"]),
    Key::new("data.source.seed", Whole(0), Is("0"), "", "1", "Seed of the rows.")
        .of(&["bars-and-stripes", "dna-like"]),
    Key::new(
        "data.source.train",
        Text,
        Required,
        "",
        "\"my.csv\"",
        "File of the training rows; a relative path that is not there is looked for in the data folder.",
    )
    .of(&["files"]),
    Key::new(
        "data.source.validation",
        Text,
        Nothing("none; see `data.validation_fraction`"),
        "",
        "\"validation.csv\"",
        "File of the validation rows.",
    )
    .of(&["files"]),
    Key::new(
        "data.source.test",
        Text,
        Nothing("none; see `data.test_fraction`"),
        "",
        "\"test.csv\"",
        "File of the test rows.",
    )
    .of(&["files"]),
    Key::new(
        "data.source.columns",
        Other {
            wanted: "the number of columns, or a list of their names and numbers",
            right: |value| Columns::try_from(value.clone()).is_ok(),
        },
        Nothing("all columns"),
        "columns",
        "[\"a\", 3, \"5-9\"]",
        "The number of columns, needed for LIBSVM text whose last columns can be all zero; or which columns of a table are units, by name, number (from 1) or range.",
    )
    .of(&["files"]),
    Key::new(
        "data.source.label",
        Other {
            wanted: "the name of a column or its number from 1",
            right: |value| Column::try_from(value.clone()).is_ok(),
        },
        Nothing("the column named label, class or target, if there is one"),
        "",
        "\"class\"",
        "The column of a table that holds labels, which are no units.",
    )
    .of(&["files"]),
    Key::new(
        "data.source.separator",
        Other {
            wanted: "one of \"comma\", \"semicolon\", \"tab\", \"space\"",
            right: |value| value.as_str().is_some_and(|text| text.parse::<Separator>().is_ok()),
        },
        Nothing("what the first lines tell"),
        "",
        "\"semicolon\"",
        "What separates the columns of a table.",
    )
    .of(&["files"]),
    Key::new(
        "data.binarization",
        Section(Short::Worded(&[
            Worded { word: "none", value: WordValue::Nothing },
            Worded { word: "threshold", value: WordValue::Usual(0.5) },
            Worded { word: "stochastic", value: WordValue::Nothing },
        ])),
        Is("\"none\""),
        "",
        "0.5",
        "How grey levels become zeros and ones: \"none\" (the data are binary), a threshold (a number, on the scale from 0 to 1), or \"stochastic\" (a unit is 1 with probability level / 255, drawn afresh every epoch). Data that are binary stay as they are.",
    ),
    Key::new(
        "data.binarization.threshold",
        Number,
        Nothing("none"),
        "share of the largest level",
        "0.5",
        "A unit is 1 where level / 255 is above this, which lies in [0, 1).",
    ),
    Key::new(
        "data.validation_fraction",
        Number,
        Is("0.0"),
        "share of the rows",
        "0.2",
        "Share of the training rows that becomes the validation set where the source brings none; 0.1 where `training.updates` and `training.epochs` are left out.",
    ),
    Key::new(
        "data.test_fraction",
        Number,
        Is("0.0"),
        "share of the rows",
        "0.2",
        "Share of the training rows that becomes the test set where the source brings none.",
    ),
    Key::new(
        "data.groups",
        Flag,
        Is("true"),
        "",
        "false",
        "Whether adjacent columns that exclude each other, such as one-hot columns, become one categorical variable. They are found in the training rows; `ztrack data describe` shows them. false: every column is a bit.",
    ),
    Key::new(
        "data.variables",
        Other {
            wanted: "numbers of columns, as in \"60*3+,4,1+\"",
            right: |value| value.as_str().is_some_and(|text| text.parse::<Variables>().is_ok()),
        },
        Nothing("what is found in the training rows"),
        "",
        "\"60*3+,4,1+\"",
        "What the columns stand for: the number of columns of each variable, with + where \"no column is set\" is a state, and a factor where several in a row are alike. 1+ is a bit.",
    ),
    Key::new(
        "data.similarity",
        Other {
            wanted: "a fraction above 0 and at most 1",
            right: |value| {
                let number = value.as_float().or(value.as_integer().map(|x| x as f64));
                number.is_some_and(|x| x > 0.0 && x <= 1.0)
            },
        },
        Nothing("all rows have the same weight"),
        "share of the variables",
        "0.8",
        "Weights training rows, as is usual for related sequences: a row counts as 1 / the number of training rows that agree with it in at least this fraction of the variables, itself included. Weights are used in the gradient, the marginals and the likelihood of the training rows; validation and test rows all count as one.",
    ),
    Key::new(
        "data.weights",
        Other {
            wanted: "the name of a column, its number from 1, or the path of a file",
            right: |value| Column::try_from(value.clone()).is_ok(),
        },
        Nothing("all rows have the same weight"),
        "rows",
        "\"weight\"",
        "Weights of the training rows: a column of the table, which is no unit, or a file with a number for each row, in the order of the training file: text, one a line, or npy. A weight is the number of rows that a row stands for. Weights are used as those of data.similarity.",
    ),
    Key::new(
        "data.alphabet",
        Word(&["dna", "rna", "protein"]),
        Nothing("what the letters of the sequences show"),
        "",
        "\"protein\"",
        "The letters of aligned sequences, the gap besides: dna (ACGT), rna (ACGU) or protein (20 amino acids).",
    ),
    Key::new(
        "data.unseen",
        Flag,
        Is("false"),
        "",
        "true",
        "Whether each column of a table of categories gets one more state, `(unseen)`, for values in validation, test or other rows that the training file does not have; else such values are refused.",
    ),
    Key::new("data.split_seed", Seed, Is("0"), "", "1", "Seed of the split."),
    Key::new(
        "data.folder",
        Text,
        Nothing("the environment variable ZTRACK_DATA, else \"datasets\""),
        "",
        "\"datasets\"",
        "The data folder.",
    ),
];
