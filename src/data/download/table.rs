//! The files that can be fetched, their sources and checksums.

use super::Check;

/// A data set that can be fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RemoteSet<'a> {
    /// Name, and the folder inside the data folder.
    pub name: &'a str,
    /// Base URLs, ending in a slash, in the order they are tried.
    pub mirrors: &'a [&'a str],
    /// Its files.
    pub files: &'a [RemoteFile<'a>],
}

/// A file to fetch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RemoteFile<'a> {
    /// Name under the base URL and on disk.
    pub name: &'a str,
    /// Size of the content after decompression, in bytes; with [`Check::Table`] at most.
    pub bytes: u64,
    /// Required content after decompression.
    pub check: Check<'a>,
}

/// The data sets of `fetch`.
pub const REMOTE_SETS: &[RemoteSet<'static>] = &[
    RemoteSet {
        name: "mnist",
        // yann.lecun.com, the original place, refuses downloads; these two are what PyTorch and TensorFlow use.
        mirrors: &[
            "https://ossci-datasets.s3.amazonaws.com/mnist/",
            "https://storage.googleapis.com/cvdf-datasets/mnist/",
        ],
        files: &[
            summed(
                "train-images-idx3-ubyte.gz",
                47_040_016,
                "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
            ),
            summed(
                "train-labels-idx1-ubyte.gz",
                60_008,
                "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
            ),
            summed(
                "t10k-images-idx3-ubyte.gz",
                7_840_016,
                "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
            ),
            summed(
                "t10k-labels-idx1-ubyte.gz",
                10_008,
                "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
            ),
        ],
    },
    RemoteSet {
        name: "dna",
        mirrors: MULTICLASS,
        // Checksums are those of the copy this project was developed with, not published ones. The rows of
        // dna.scale.val in that copy are dna.scale less dna.scale.tr, in an order that was derived: the official file
        // may hold the same rows in another order, so its check does not look at the order.
        files: &[
            summed(
                "dna.scale",
                499_248,
                "03d39477c5e48415e9cd18e006efc8f7a3b5c3deaee8289a72511c35070e3cfe",
            ),
            summed(
                "dna.scale.tr",
                349_928,
                "101d8f3dc2b4da34263a9dd35694a3896df5830de16650f1307dfa4e0c47976c",
            ),
            RemoteFile {
                name: "dna.scale.val",
                bytes: 149_320,
                check: Check::SortedLines(
                    "6a759b01c58e2651f931a996838cb62cf07c22c3d873cf16e3856fa37305cd40",
                ),
            },
            summed(
                "dna.scale.t",
                293_744,
                "d2eeed170e4e38ae2aba6aa4cd27a8ca4ecceb01a7751e8e509bb4e1a6bcef39",
            ),
        ],
    },
    // Larochelle and Murray 2011 made their sets from these files. No copy was available for checksums.
    RemoteSet {
        name: "adult",
        mirrors: BINARY,
        files: &[table("a5a", 6414, 123), table("a5a.t", 26_147, 123)],
    },
    RemoteSet { name: "connect-4", mirrors: MULTICLASS, files: &[table("connect-4", 67_557, 126)] },
    RemoteSet { name: "mushrooms", mirrors: BINARY, files: &[table("mushrooms", 8124, 112)] },
    RemoteSet {
        name: "web",
        mirrors: BINARY,
        files: &[table("w6a", 17_188, 300), table("w6a.t", 32_561, 300)],
    },
];

const MULTICLASS: &[&str] =
    &["https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/multiclass/"];
const BINARY: &[&str] = &["https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary/"];

/// A file whose SHA-256 is known.
const fn summed<'a>(name: &'a str, bytes: u64, sha256: &'a str) -> RemoteFile<'a> {
    RemoteFile { name, bytes, check: Check::Sha256(sha256) }
}

/// A file of which rows and columns alone are known; a row takes up to 8 bytes a one (`126:1 ` and the like), and no more than half of
/// the columns are ones.
const fn table(name: &str, rows: usize, columns: usize) -> RemoteFile<'_> {
    let bytes = (rows * (16 + 4 * columns)) as u64;
    RemoteFile { name, bytes, check: Check::Table { rows, columns } }
}

/// Whether `fetch` knows the name.
pub(in crate::data) fn is_known(name: &str) -> bool {
    REMOTE_SETS.iter().any(|set| set.name == name)
}
