//! Structs and enums whose doc comments, defaults and bounds describe the keys of a configuration.

/// A section: a struct with a key a line, `name: Type = default => bounds and unit;`, where the methods of [`Key`](super::Key) follow the
/// arrow. A key without a default must be given.
macro_rules! section {
    ($(#[$($meta:tt)*])* $vis:vis struct $Name:ident {
        $($(#[$($attr:tt)*])* $field:ident: $type:ty = $default:expr
            $(=> $($method:ident($($arg:expr),*)).+)?;)*
    }) => {
        $crate::keys::section! { @struct [#[serde(default)]] $(#[$($meta)*])* $vis struct $Name {
            $($(#[$($attr)*])* $field: $type = $default $(=> $($method($($arg),*)).+)?;)*
        } }
        impl Default for $Name {
            fn default() -> Self {
                Self { $($field: $default,)* }
            }
        }
    };
    (@struct [$($default_attr:tt)*] $(#[$($meta:tt)*])* $vis:vis struct $Name:ident {
        $($(#[$($attr:tt)*])* $field:ident: $type:ty $(= $default:expr)?
            $(=> $($method:ident($($arg:expr),*)).+)?;)*
    }) => {
        $(#[$($meta)*])*
        $($default_attr)*
        #[serde(deny_unknown_fields)]
        $vis struct $Name {
            $($(#[$($attr)*])* pub $field: $type,)*
        }
        impl $crate::keys::Described for $Name {
            fn takes() -> $crate::keys::Takes {
                $crate::keys::Takes::Section($crate::keys::Short::Nothing)
            }

            fn below() -> Vec<$crate::keys::Key> {
                let mut keys = Vec::new();
                $($crate::keys::Key::new::<$type>(
                    stringify!($field),
                    &[$($crate::keys::doc_of!($($attr)*)),*],
                )
                $(.default::<$type>(&$default))?
                $($(.$method($($arg),*))+)?
                .put::<$type>(&mut keys);)*
                keys
            }
        }
    };
    ($($section:tt)*) => {
        $crate::keys::section! { @struct [] $($section)* }
    };
}

/// A choice: an enum with a word a variant. `by "tag"`: each variant is a section, whose kind the key `tag` tells; else a variant is a word
/// or `{ word = value }`.
macro_rules! choice {
    ($(#[$($meta:tt)*])* $vis:vis enum $Name:ident $(by $tag:literal)? {
        $($(#[$($attr:tt)*])* $Variant:ident
            $(($payload:ty $(, usual $usual:literal)? $(=> $($method:ident($($arg:expr),*)).+)?))?
            $({ $($(#[$($field_attr:tt)*])* $field:ident: $type:ty $(= $default:expr)?
                $(=> $($field_method:ident($($field_arg:expr),*)).+)?;)* })?
            = $word:literal,)*
    }) => {
        $(#[$($meta)*])*
        $(#[serde(tag = $tag, deny_unknown_fields)])?
        $vis enum $Name {
            $($(#[$($attr)*])*
            #[serde(rename = $word)]
            $Variant $(($payload))? $({ $($(#[$($field_attr)*])* $field: $type,)* })?,)*
        }
        impl $Name {
            fn variants() -> Vec<$crate::keys::Variant> {
                vec![$({
                    #[allow(unused_mut)]
                    let mut keys = Vec::new();
                    let _docs: &[&str] = &[$($crate::keys::doc_of!($($attr)*)),*];
                    let usual: &[f64] = &[$($($usual)?)?];
                    $($crate::keys::Key::new::<$payload>($word, _docs)
                        $(.example(stringify!($usual)))?
                        $($(.$method($($arg),*))+)?
                        .put::<$payload>(&mut keys);)?
                    $($($crate::keys::Key::new::<$type>(
                        stringify!($field),
                        &[$($crate::keys::doc_of!($($field_attr)*)),*],
                    )
                    $(.default::<$type>(&$default))?
                    $($(.$field_method($($field_arg),*))+)?
                    .put::<$type>(&mut keys);)*)?
                    $crate::keys::Variant { word: $word, usual: usual.first().copied(), keys }
                }),*]
            }

            fn tag() -> Option<&'static str> {
                let tag: &[&'static str] = &[$($tag)?];
                tag.first().copied()
            }
        }
        impl $crate::keys::Described for $Name {
            fn takes() -> $crate::keys::Takes {
                $crate::keys::choice_takes(Self::tag(), &Self::variants())
            }

            fn below() -> Vec<$crate::keys::Key> {
                $crate::keys::choice_below(Self::tag(), Self::variants())
            }
        }
    };
}

/// The text of an attribute that is a line of a doc comment; empty for another.
macro_rules! doc_of {
    (doc = $text:expr) => {
        $text
    };
    ($($other:tt)*) => {
        ""
    };
}

pub(crate) use {choice, doc_of, section};
