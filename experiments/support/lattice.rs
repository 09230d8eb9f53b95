//! States of Ising and Potts models on a square lattice with periodic boundaries, by cluster updates (Swendsen and Wang 1987).

use ztrack::engine::random::{Purpose, Stream, Streams};

/// Cluster updates before the first state and between states.
const FIRST: usize = 500;
const BETWEEN: usize = 10;

/// States, and for each the number of neighbours in the same state, of spins the sum of their products.
pub fn sampled(side: usize, states: usize, coupling: f64, count: usize) -> Vec<(Vec<usize>, f64)> {
    let mut spins = Lattice { side, states, state: vec![0; side * side] };
    let mut stream =
        Streams::new(1, Purpose::Generator, side as u64).row(coupling.to_bits() as u32);
    (0..FIRST).for_each(|_| spins.cluster_update(coupling, &mut stream));
    let mut next = || {
        (0..BETWEEN).for_each(|_| spins.cluster_update(coupling, &mut stream));
        (spins.state.clone(), spins.aligned())
    };
    (0..count).map(|_| next()).collect()
}

struct Lattice {
    side: usize,
    states: usize,
    state: Vec<usize>,
}

impl Lattice {
    /// The neighbours to the right of a site and below it.
    fn neighbours(&self, i: usize) -> [usize; 2] {
        let (row, column, n) = (i / self.side, i % self.side, self.side);
        [row * n + (column + 1) % n, (row + 1) % n * n + column]
    }

    /// What the coupling multiplies: the number of neighbours in the same state; of spins the sum of their products.
    fn aligned(&self) -> f64 {
        let other = if self.states == 2 { -1.0 } else { 0.0 };
        let pairs = (0..self.state.len()).flat_map(|i| self.neighbours(i).map(|j| (i, j)));
        pairs.map(|(i, j)| if self.state[i] == self.state[j] { 1.0 } else { other }).sum()
    }

    /// Bonds between equal sites with probability 1 - exp(-K), of spins 1 - exp(-2K); every cluster gets a new state.
    fn cluster_update(&mut self, coupling: f64, stream: &mut Stream) {
        let bond = -(if self.states == 2 { -2.0 * coupling } else { -coupling }).exp_m1();
        let mut cluster: Vec<usize> = (0..self.state.len()).collect();
        for i in 0..self.state.len() {
            for j in self.neighbours(i) {
                if stream.uniform() < bond && self.state[i] == self.state[j] {
                    let (a, b) = (root(&cluster, i), root(&cluster, j));
                    cluster[a.max(b)] = a.min(b);
                }
            }
        }
        let mut draw = || match self.states {
            2 => usize::from(stream.uniform() < 0.5),
            states => (stream.uniform() * states as f64) as usize,
        };
        let drawn: Vec<usize> = self.state.iter().map(|_| draw()).collect();
        (0..self.state.len()).for_each(|i| self.state[i] = drawn[root(&cluster, i)]);
    }
}

fn root(cluster: &[usize], mut i: usize) -> usize {
    while cluster[i] != i {
        i = cluster[i];
    }
    i
}
