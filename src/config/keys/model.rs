//! `[model]` and `[averaging]`.

use super::LeftOut::{Auto, Is, Nothing, Required};
use super::Takes::{Number, Section, Whole, Word};
use super::{Key, Short};

pub const KEYS: &[Key] = &[
    Key::new(
        "model",
        Section(Short::Nothing),
        Required,
        "",
        "{ hidden = 64 }",
        "Size and start of the RBM.",
    ),
    Key::new("model.hidden", Whole(1), Required, "units", "64", "Number of hidden units, J."),
    Key::new(
        "model.weight_scale",
        Number,
        Is("0.01"),
        "",
        "0.01",
        "Standard deviation of the initial weights.",
    ),
    Key::new(
        "model.visible_bias",
        Word(&["marginals", "zero"]),
        Is("\"marginals\""),
        "",
        "\"zero\"",
        "Start of the visible bias: logits of the training marginals (Hinton 2012), or zero.",
    ),
    Key::new(
        "model.kernel",
        Word(&["host", "composed"]),
        Is("\"host\""),
        "",
        "\"composed\"",
        "Which implementation of the operations runs: the fused CPU kernel, or plain Burn operations, the slow reference.",
    ),
    Key::new(
        "averaging",
        Section(Short::Off("window", 0)),
        Nothing("the defaults of its keys"),
        "",
        "false",
        "The running average of the parameters, which is what is tracked, evaluated, stopped on and saved; false for none.",
    ),
    Key::new(
        "averaging.window",
        Number,
        Auto("0.1"),
        "share of the updates",
        "0.1",
        "Share of the history that is averaged over, in [0, 1]; 0 for none.",
    ),
];
