// The kernels as a library for the processor: `run` launches a kernel by its name. The tests compile it:
//
// c++ -std=c++20 -O1 -fno-strict-aliasing -shared -fPIC -fvisibility=hidden -DON_PROCESSOR emulation.cpp
//
// Symbols are hidden, because the C library has functions with the names of some kernels.

#include "kernels.cu"

#include <map>
#include <string>

#define ENTRY(name, Params) {#name, [](const void* p) { name(*static_cast<const Params*>(p)); }}
#define ENTRIES(name, Params) ENTRY(name##_f32, Params), ENTRY(name##_bf16, Params), ENTRY(name##_f16, Params)

static const std::map<std::string, void (*)(const void*)> kernels = {
    ENTRIES(embed, Embed),          ENTRIES(add_norm, AddNorm),     ENTRIES(rotate, Rotate),
    ENTRIES(attend, Attend),        ENTRIES(combine, Attend),       ENTRIES(silu_mul, SiluMul),
    ENTRIES(fill_cache, FillCache), ENTRIES(move_rows, MoveRows),   ENTRY(sample, Sample),
    ENTRY(advance, Advance),         ENTRIES(adapt, Adapt),      ENTRIES(adapt_gate, Adapt),
    ENTRY(square_sums, SquareSums), ENTRY(adamw, AdamW),
    ENTRIES(rms_norm, RmsNorm), ENTRIES(rms_norm_slope, RmsNormSlope), ENTRIES(rms_norm_weight, RmsNormWeight),
    ENTRY(sum_rows, SumRows), ENTRIES(gate, Gate), ENTRIES(gate_slope, Gate), ENTRIES(split_heads, SplitHeads),
    ENTRIES(merge_heads, SplitHeads), ENTRIES(move_heads, MoveHeads), ENTRIES(causal_softmax, Softmax),
    ENTRIES(causal_softmax_slope, Softmax), ENTRY(score_logits, ScoreLogits), ENTRIES(logit_slopes, LogitSlopes),
    ENTRIES(split_factors, SplitFactors),
    ENTRIES(add, Add), ENTRIES(add_rows, AddRows),
};

extern "C" __attribute__((visibility("default"))) void run_backwards(bool asked) { backwards = asked; }

// Returns 0, or 1 for a kernel that does not exist.
extern "C" __attribute__((visibility("default"))) int run(const char* name, const unsigned grid[3], unsigned threads, const void* params) {
    const auto found = kernels.find(name);
    if (found == kernels.end()) return 1;
    launch(grid, threads, [&] { found->second(params); });
    return 0;
}
