//! Names of a model's arrays in files of several programs, and the visible side of the weights.

use std::str::FromStr;

use super::safetensors::shape_text;
use crate::model::Parameters;

/// Orientation of stored weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Shape [visible, hidden].
    VisibleHidden,
    /// Shape [hidden, visible].
    HiddenVisible,
}

impl Layout {
    /// Its name on the command line and in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::VisibleHidden => "visible-hidden",
            Self::HiddenVisible => "hidden-visible",
        }
    }
}

impl FromStr for Layout {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        [Self::VisibleHidden, Self::HiddenVisible]
            .into_iter()
            .find(|layout| layout.name() == text)
            .ok_or_else(|| "visible-hidden or hidden-visible is expected".into())
    }
}

/// Names of weights, visible bias and hidden bias in the files of one program.
pub(super) struct Naming {
    pub names: [&'static str; 3],
    /// Orientation for these names, if they belong to one program.
    layout: Option<Layout>,
}

/// All known names. Those of this program come first.
pub(super) const NAMINGS: [Naming; 8] = [
    Naming { names: ["weights", "visible_bias", "hidden_bias"], layout: None },
    // Hinton and Salakhutdinov's files.
    Naming { names: ["vishid", "visbiases", "hidbiases"], layout: Some(Layout::VisibleHidden) },
    // scikit-learn's BernoulliRBM.
    Naming {
        names: ["components_", "intercept_visible_", "intercept_hidden_"],
        layout: Some(Layout::HiddenVisible),
    },
    // The rbms package.
    Naming { names: ["weight_matrix", "vbias", "hbias"], layout: Some(Layout::VisibleHidden) },
    // Tutorials, with either orientation.
    Naming { names: ["W", "vbias", "hbias"], layout: None },
    Naming { names: ["W", "v_bias", "h_bias"], layout: None },
    Naming { names: ["weight", "vbias", "hbias"], layout: None },
    // b of the visible, c of the hidden units (Bengio 2009; Fischer and Igel 2014).
    Naming { names: ["W", "b", "c"], layout: None },
];

/// The arrays of a model under the names of this program, with their shapes.
pub(super) fn arrays_of(parameters: &Parameters) -> [(&'static str, Vec<usize>, &[f32]); 3] {
    let Parameters { n_visible, n_hidden, weights, visible_bias, hidden_bias, .. } = parameters;
    let [of_weights, of_visible, of_hidden] = NAMINGS[0].names;
    [
        (of_weights, vec![*n_visible, *n_hidden], weights),
        (of_visible, vec![*n_visible], visible_bias),
        (of_hidden, vec![*n_hidden], hidden_bias),
    ]
}

/// All names, each once.
pub(super) fn all_names() -> impl Iterator<Item = &'static str> {
    let names = NAMINGS.iter().flat_map(|naming| naming.names);
    let mut seen = std::collections::BTreeSet::new();
    names.filter(move |name| seen.insert(*name))
}

/// Shape and values of an array as found.
pub(super) type Found = (Vec<usize>, Vec<f32>);

/// The model in arrays with names. `ours`: this program wrote them; `asked`: the orientation given by the user.
///
/// # Errors
/// Arrays that are missing or do not fit together, and weights that can be read either way.
pub(super) fn assemble(
    arrays: &mut std::collections::BTreeMap<String, Found>,
    asked: Option<Layout>,
    ours: bool,
) -> Result<Parameters, String> {
    let there = |naming: &Naming| naming.names.iter().filter(|n| arrays.contains_key(**n)).count();
    // The first of those with the most arrays.
    let naming = NAMINGS.iter().rev().max_by_key(|naming| there(naming)).unwrap_or(&NAMINGS[0]);
    let mut take = |name: &str| {
        arrays.remove(name).ok_or_else(|| {
            let known: Vec<_> = NAMINGS.iter().map(|naming| naming.names.join(" ")).collect();
            format!("no array `{name}`; the arrays of a model are one of: {}", known.join(", "))
        })
    };
    let names = naming.names;
    let (shape, weights) = take(names[0])?;
    let (visible, hidden) = (take(names[1])?, take(names[2])?);
    let &[rows, columns] = shape.as_slice() else {
        return Err(format!(
            "`{}` has shape [{}]: [visible, hidden] expected",
            names[0],
            shape_text(&shape)
        ));
    };
    let known = if ours { Some(Layout::VisibleHidden) } else { naming.layout };
    let layout = choose((rows, columns), (length(&visible), length(&hidden)), asked, known)
        .map_err(|problem| format!("`{}` {problem}", names[0]))?;
    let (n_visible, n_hidden) = match layout {
        Layout::VisibleHidden => (rows, columns),
        Layout::HiddenVisible => (columns, rows),
    };
    let check = |name, found: &Found, units| match length(found) {
        Some(length) if length == units => Ok(()),
        _ => Err(format!(
            "`{name}` has shape [{}], {units} values expected beside {rows}x{columns} weights",
            shape_text(&found.0)
        )),
    };
    check(names[1], &visible, n_visible)?;
    check(names[2], &hidden, n_hidden)?;
    let weights = match layout {
        Layout::VisibleHidden => weights,
        Layout::HiddenVisible => {
            (0..rows * columns).map(|i| weights[i % rows * columns + i / rows]).collect()
        }
    };
    Parameters::new(n_visible, n_hidden, weights, visible.1, hidden.1).map_err(|e| e.to_string())
}

/// Values of a bias of shape `[n]`, [1, n] or [n, 1].
fn length((shape, _): &Found) -> Option<usize> {
    match shape.as_slice() {
        [n] | [1, n] | [n, 1] => Some(*n),
        _ => None,
    }
}

/// Orientation of weights of a shape, from the lengths of the biases.
fn choose(
    (rows, columns): (usize, usize),
    biases: (Option<usize>, Option<usize>),
    asked: Option<Layout>,
    known: Option<Layout>,
) -> Result<Layout, String> {
    let straight = biases == (Some(rows), Some(columns));
    let turned = biases == (Some(columns), Some(rows));
    match (asked, known, straight, turned) {
        (Some(asked), ..) => Ok(asked),
        (_, Some(known), true, true) => Ok(known),
        (_, None, true, true) => Err(format!(
            "is square ({rows}x{columns}) and does not tell which side is visible: give --layout visible-hidden or --layout hidden-visible"
        )),
        (.., true, false) => Ok(Layout::VisibleHidden),
        (.., false, true) => Ok(Layout::HiddenVisible),
        // Neither fits; the message uses the usual orientation.
        (_, known, false, false) => Ok(known.unwrap_or(Layout::VisibleHidden)),
    }
}
