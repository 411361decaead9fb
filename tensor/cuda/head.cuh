// Scores of the chosen tokens from a chunk of logits, and their gradient.

#pragma once

#include "vectors.cuh"

struct ScoreLogits {
    u64 scores;   // f32 (rows, 2): log-probability, entropy
    u64 sums;     // f32 (rows, 3): the largest logit, the logarithm of the sum above it, the entropy
    u64 logits;   // f32 (rows, stride)
    u64 targets;  // u32 (rows)
    u32 vocabulary;
    u32 stride;  // a multiple of 8
    float scale;  // of logits
    u32 padding;
};

// Sums over some logits of e^(x - top), and of (x - top) e^(x - top).
struct Running {
    float top, total, mean;
};

// The same sums relative to a larger top.
__device__ __forceinline__ Running raised(Running x, float top) {
    if (x.total == 0.0f) return {top, 0.0f, 0.0f};
    const float lower = x.top - top, factor = expf(lower);
    return {top, x.total * factor, (x.mean + x.total * lower) * factor};
}

__device__ __forceinline__ Running joined(Running a, Running b) {
    const float top = fmaxf(a.top, b.top);
    a = raised(a, top);
    b = raised(b, top);
    return {top, a.total + b.total, a.mean + b.mean};
}

// Pieces of four logits that a thread asks for before it uses the first.
#define HEAD_AHEAD 2

// Adds the first `count` of four logits.
__device__ __forceinline__ void take(Running& mine, float (&values)[4], float scale, u32 count) {
    float top = mine.top;
#pragma unroll
    for (u32 j = 0; j < 4; j++) {
        values[j] = j < count ? values[j] * scale : -INFINITY;
        top = fmaxf(top, values[j]);
    }
    if (top > mine.top) mine = raised(mine, top);
#pragma unroll
    for (u32 j = 0; j < 4; j++) {
        if (j >= count) continue;
        const float above = values[j] - mine.top, weight = expf(above);
        mine.total += weight;
        mine.mean += above * weight;
    }
}

// Grid: rows; THREADS threads.
extern "C" __global__ void score_logits(ScoreLogits p) {
    __shared__ Running of_warp[WARPS];
    const u64 row = blockIdx.x;
    const float* logits = reinterpret_cast<const float*>(p.logits) + row * p.stride;
    Running mine = {-INFINITY, 0.0f, 0.0f};
    for (u32 first = threadIdx.x * 4; first < p.vocabulary; first += HEAD_AHEAD * blockDim.x * 4) {
        float ahead[HEAD_AHEAD][4];
#pragma unroll
        for (u32 k = 0; k < HEAD_AHEAD; k++)
            if (first + k * blockDim.x * 4 < p.vocabulary) load<4>(ahead[k], logits + first + k * blockDim.x * 4);
#pragma unroll
        for (u32 k = 0; k < HEAD_AHEAD; k++) {
            const u32 i = first + k * blockDim.x * 4;
            if (i < p.vocabulary) take(mine, ahead[k], p.scale, p.vocabulary - i);
        }
    }
    for (u32 offset = WARP / 2; offset > 0; offset /= 2) {
        const Running other = {
            __shfl_xor_sync(ALL_LANES, mine.top, offset),
            __shfl_xor_sync(ALL_LANES, mine.total, offset),
            __shfl_xor_sync(ALL_LANES, mine.mean, offset),
        };
        mine = joined(mine, other);
    }
    if (threadIdx.x % WARP == 0) of_warp[threadIdx.x / WARP] = mine;
    __syncthreads();
    if (threadIdx.x != 0) return;
    Running all = of_warp[0];
    for (u32 warp = 1; warp < WARPS; warp++) all = joined(all, of_warp[warp]);
    const u32 chosen = reinterpret_cast<const u32*>(p.targets)[row];
    // A token outside the vocabulary has no log-probability and no logit to read.
    const float target = chosen < p.vocabulary ? logits[chosen] * p.scale : NAN;
    const float logarithm = logf(all.total);
    float* scores = reinterpret_cast<float*>(p.scores) + 2 * row;
    float* sums = reinterpret_cast<float*>(p.sums) + 3 * row;
    scores[0] = target - all.top - logarithm;
    scores[1] = sums[2] = logarithm - all.mean / all.total;
    sums[0] = all.top;
    sums[1] = logarithm;
}

struct LogitSlopes {
    u64 logits;   // f32 (rows, stride); turned into T (rows, stride * 4 / size of T) in place
    u64 sums;     // f32 (rows, 3), as above
    u64 slopes;   // f32 (rows, 2): gradients by log-probability and entropy
    u64 targets;  // u32 (rows)
    u32 vocabulary;
    u32 stride;  // a multiple of 8
    float scale;  // of logits
    u32 padding;
};

// d logp / d logit = onehot - p; d entropy / d logit = -p (log p + entropy). Grid: rows; THREADS threads.
//
// All threads read their part of a stretch of logits before any thread writes. The gradients are no longer than the
// logits they replace, so they never reach logits of a later stretch.
template <typename T> __device__ void logit_slopes(LogitSlopes p) {
    const u64 row = blockIdx.x;
    float* logits = reinterpret_cast<float*>(p.logits) + row * p.stride;
    T* out = reinterpret_cast<T*>(logits);
    const float* sums = reinterpret_cast<const float*>(p.sums) + 3 * row;
    const float* slopes = reinterpret_cast<const float*>(p.slopes) + 2 * row;
    const float top = sums[0], logarithm = sums[1], entropy = sums[2], chosen = slopes[0], spread = slopes[1];
    const u32 target = reinterpret_cast<const u32*>(p.targets)[row];
    for (u32 first = 0; first < p.vocabulary; first += HEAD_AHEAD * blockDim.x * 4) {
        float ahead[HEAD_AHEAD][4];
#pragma unroll
        for (u32 k = 0; k < HEAD_AHEAD; k++) {
            const u32 i = first + (k * blockDim.x + threadIdx.x) * 4;
            if (i < p.vocabulary) load<4>(ahead[k], logits + i);
        }
        __syncthreads();
#pragma unroll
        for (u32 k = 0; k < HEAD_AHEAD; k++) {
            const u32 i = first + (k * blockDim.x + threadIdx.x) * 4;
#pragma unroll
            for (u32 j = 0; j < 4; j++) {
                if (i + j >= p.vocabulary) break;
                const float logp = ahead[k][j] * p.scale - top - logarithm;
                float slope = expf(logp) * (-chosen - spread * (logp + entropy));
                if (i + j == target) slope += chosen;
                narrow(&out[i + j], p.scale * slope);
            }
        }
    }
}
