//! Mixture of experts: which feed-forward blocks each token goes through, and how their results are mixed.
//!
//! Takes tokens and a function for each block; gives their mixture, with gradients through the mixing weights. Does
//! not know what a block computes.

use candle_core::{D, DType, Result, Tensor};

use grpo_tensor as kernels;

/// Chooses the blocks of a token by a softmax over all of them.
///
/// Source: Shazeer et al. 2017, section 2.1, without noise; Yang et al. 2025 (Qwen3), section 2.
#[derive(Debug, Clone)]
pub(crate) struct Router {
    /// `(experts, hidden_size)`.
    pub weight: Tensor,
    /// Blocks per token.
    pub per_token: usize,
    /// Whether the weights of a token's blocks are normalised to sum to 1.
    pub normed: bool,
}

impl Router {
    /// Mixes the results of `expert(index, rows of x)`.
    ///
    /// * `x`: `(N, hidden_size)`, like the result.
    pub fn mix(&self, x: &Tensor, expert: impl Fn(usize, &Tensor) -> Result<Tensor>) -> Result<Tensor> {
        let logits = kernels::linear(&x.to_dtype(DType::F32)?, &self.weight.to_dtype(DType::F32)?)?;
        self.mix_by(&logits, x, expert)
    }

    /// The same by the blocks' logits, `(N, experts)` in f32, however they were computed.
    pub fn mix_by(
        &self,
        logits: &Tensor,
        x: &Tensor,
        expert: impl Fn(usize, &Tensor) -> Result<Tensor>,
    ) -> Result<Tensor> {
        let (count, width) = x.dims2()?;
        // Candle's faster softmax has no backward pass.
        let shares = candle_nn::ops::softmax(logits, D::Minus1)?;
        let mut routes = Routes::new(&shares.detach().to_vec2()?, self.per_token);
        if self.weight.track_op() {
            // Every trained variable must receive a gradient, so a block that no token has chosen computes one token,
            // whose result is not used.
            routes.order.iter_mut().filter(|rows| rows.is_empty()).for_each(|rows| rows.push(0));
        }
        let results = routes.results();
        let tensor = |values: Vec<u32>| {
            let count = values.len();
            Tensor::from_vec(values, count, x.device())
        };
        let mut shares = shares.gather(&tensor(routes.chosen)?.reshape((count, self.per_token))?, D::Minus1)?;
        if self.normed {
            shares = shares.broadcast_div(&shares.sum_keepdim(D::Minus1)?)?;
        }
        let mut outputs = Vec::new();
        for (index, rows) in routes.order.into_iter().enumerate().filter(|(_, rows)| !rows.is_empty()) {
            outputs.push(expert(index, &x.index_select(&tensor(rows)?, 0)?)?);
        }
        let outputs = Tensor::cat(&outputs, 0)?.index_select(&tensor(results)?, 0)?.to_dtype(DType::F32)?;
        let outputs = outputs.reshape((count, self.per_token, width))?;
        outputs.broadcast_mul(&shares.unsqueeze(D::Minus1)?)?.sum(1)?.to_dtype(x.dtype())
    }
}

/// The assignment of tokens to blocks.
#[derive(Debug, PartialEq, Eq)]
struct Routes {
    /// Blocks of each token, the most probable first: `(N * per_token,)`.
    chosen: Vec<u32>,
    /// Tokens of each block, ascending.
    order: Vec<Vec<u32>>,
    /// For each of `chosen`, the position of its token among the block's tokens.
    place: Vec<u32>,
}

impl Routes {
    /// `shares`: for each token, its share of each block.
    fn new(shares: &[Vec<f32>], per_token: usize) -> Self {
        let experts = shares.first().map_or(0, Vec::len);
        let (mut chosen, mut order) = (Vec::new(), vec![Vec::new(); experts]);
        let mut place = Vec::new();
        for (token, shares) in shares.iter().enumerate() {
            let mut ranked: Vec<u32> = (0..experts as u32).collect();
            ranked.sort_by(|a, b| shares[*b as usize].total_cmp(&shares[*a as usize]));
            for expert in ranked.into_iter().take(per_token) {
                let tokens: &mut Vec<u32> = &mut order[expert as usize];
                chosen.push(expert);
                place.push(tokens.len() as u32);
                tokens.push(token as u32);
            }
        }
        Routes { chosen, order, place }
    }

    /// For each of `chosen`, the position of its result when the blocks' results are concatenated.
    fn results(&self) -> Vec<u32> {
        let begins = self.order.iter().scan(0, |next, rows| {
            let begin = *next;
            *next += rows.len() as u32;
            Some(begin)
        });
        let begins: Vec<u32> = begins.collect();
        self.place.iter().zip(&self.chosen).map(|(place, expert)| begins[*expert as usize] + place).collect()
    }
}

#[cfg(test)]
mod tests {
    use candle_core::{Device, Var};

    use super::*;

    #[test]
    fn a_block_that_nobody_chose_has_a_gradient_of_zero_where_it_is_trained() {
        let var = |values: &[[f32; 2]]| Var::from_vec(values.concat(), (values.len(), 2), &Device::Cpu).unwrap();
        let router = var(&[[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]]);
        let blocks = [1, 2, 3].map(|value| var(&[[value as f32, 0.0], [0.0, value as f32]]));
        let mix = Router { weight: router.as_tensor().clone(), per_token: 1, normed: true };
        let x = Tensor::new(&[[3.0_f32, 0.0], [0.0, 4.0]], &Device::Cpu).unwrap();
        let mixed = mix.mix(&x, |index, x| x.matmul(&blocks[index])).unwrap();
        assert_eq!(mixed.to_vec2::<f32>().unwrap(), [[3.0, 0.0], [0.0, 8.0]]);
        let gradients = mixed.sum_all().unwrap().backward().unwrap();
        let of = |index: usize| gradients.get(&blocks[index]).unwrap().to_vec2::<f32>().unwrap();
        assert_eq!(of(0), [[3.0, 3.0], [0.0, 0.0]]);
        assert_eq!(of(2), [[0.0, 0.0], [0.0, 0.0]]);
    }

    #[test]
    fn tokens_go_to_their_likeliest_blocks_and_find_their_results_again() {
        let shares = [vec![0.1, 0.6, 0.3], vec![0.5, 0.1, 0.4], vec![0.2, 0.2, 0.6]];
        let routes = Routes::new(&shares, 2);
        // Among equal shares the first block wins.
        assert_eq!(routes.chosen, [1, 2, 0, 2, 2, 0]);
        assert_eq!(routes.order, [vec![1, 2], vec![0], vec![0, 1, 2]]);
        // The concatenation holds tokens 1, 2 of block 0, token 0 of block 1, and tokens 0, 1, 2 of block 2.
        assert_eq!(routes.results(), [2, 3, 0, 4, 5, 1]);
    }
}
