//! What rows beside a row change of it: nothing, where rows are fed alone.

use candle_core::Device;

use crate::tests::{qwen3_moe, tokenizer};
use crate::{DecoderConfig, Experts, Policy, weights};
use grpo_base::seed::Seed;

#[test]
fn a_row_of_a_model_with_experts_has_the_bits_of_the_row_alone() {
    let base = qwen3_moe();
    let experts = base.experts.clone().map(|experts| Experts { num_experts: 12, ..experts });
    let config = DecoderConfig { experts, ..base };
    let policy = Policy::initialise(config, tokenizer(), Seed::root(1), &Device::Cpu).unwrap();
    for (index, var) in policy.trainable().values().enumerate() {
        let noise = weights::normal(var.dims(), 0.4, Seed::root(100 + index as u64), &Device::Cpu).unwrap();
        var.set(&noise).unwrap();
    }
    let read = |prompts: &[&[u32]]| {
        let mut cache = policy.decoder().new_cache(prompts.len(), 12).unwrap();
        policy.decoder().prefill(prompts, &mut cache).unwrap().to_vec2::<f32>().unwrap()
    };
    // One row has 144 logits of experts and all have 1,152: a general product sums up to 256 of them in another order.
    let rows: Vec<Vec<u32>> = (0..8).map(|row| (0..12).map(|step| (row * 7 + step * 13) % 40).collect()).collect();
    let prompts: Vec<&[u32]> = rows.iter().map(Vec::as_slice).collect();
    for (row, together) in read(&prompts).into_iter().enumerate() {
        assert_eq!(read(&prompts[row..=row]), [together], "row {row}");
    }
}
