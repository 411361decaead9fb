// Kernels of a decoding step, of the layers and the head of an update, and of the optimiser; cuBLAS computes the
// matrix products between them.
//
// Every kernel takes one structure by value, which `kernels.rs` or the operation's `gpu.rs` mirrors field by field.
// Arithmetic is in f32 whatever the tensors hold; sums are computed in an order that depends on shapes alone, so that
// a step repeats bit for bit. nvcc compiles this file to PTX, and the tests to a library for the processor
// (`emulation.h`).

#include "attention.cuh"
#include "cache.cuh"
#include "layers.cuh"
#include "optimizer.cuh"
#include "sampling.cuh"
#include "factors.cuh"
#include "gate.cuh"
#include "head.cuh"
#include "heads.cuh"
#include "norm.cuh"
#include "sums.cuh"

#define KERNEL_OF(name, Params, type, suffix) \
    extern "C" __global__ void name##_##suffix(Params params) { name<type>(params); }
#define KERNEL(name, Params) \
    KERNEL_OF(name, Params, float, f32) \
    KERNEL_OF(name, Params, __nv_bfloat16, bf16) \
    KERNEL_OF(name, Params, __half, f16)

KERNEL(embed, Embed)
KERNEL(add_norm, AddNorm)
KERNEL(rotate, Rotate)
KERNEL(attend, Attend)
KERNEL(combine, Attend)
KERNEL(adapt, Adapt)
KERNEL(adapt_gate, Adapt)
KERNEL(silu_mul, SiluMul)
KERNEL(fill_cache, FillCache)
KERNEL(move_rows, MoveRows)

KERNEL(rms_norm, RmsNorm)
KERNEL(rms_norm_slope, RmsNormSlope)
KERNEL(rms_norm_weight, RmsNormWeight)
KERNEL(gate, Gate)
KERNEL(gate_slope, Gate)
KERNEL(split_heads, SplitHeads)
KERNEL(merge_heads, SplitHeads)
KERNEL(move_heads, MoveHeads)
KERNEL(causal_softmax, Softmax)
KERNEL(causal_softmax_slope, Softmax)
KERNEL(logit_slopes, LogitSlopes)
KERNEL(split_factors, SplitFactors)
KERNEL(add, Add)
KERNEL(add_rows, AddRows)

extern "C" __global__ void sample(Sample params) { sample_row(params); }

// Moves on to the next slot. One thread.
extern "C" __global__ void advance(Advance p) {
    *reinterpret_cast<u32*>(p.slot) += 1;
    *reinterpret_cast<u32*>(p.step) += 1;
}
