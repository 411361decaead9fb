// Gate of the feed-forward block for whole batches, and its gradient.

#pragma once

#include "vectors.cuh"

struct Gate {
    u64 out;      // T (rows, width), or of the gradient (rows, 2 width)
    u64 gate_up;  // T (rows, 2 width): gates, then what they let through
    u64 slope;    // T (rows, width): gradient of the output; 0 forwards
    u32 width;
    u32 padding;
};

template <typename T, u32 N> __device__ __forceinline__ void gate_row(const Gate& p) {
    const T* gates = reinterpret_cast<const T*>(p.gate_up) + (u64)blockIdx.x * 2 * p.width;
    T* out = reinterpret_cast<T*>(p.out) + (u64)blockIdx.x * p.width;
    for (u32 i = threadIdx.x * N; i < p.width; i += blockDim.x * N) {
        float gate[N], up[N];
        load<N>(gate, gates + i);
        load<N>(up, gates + p.width + i);
#pragma unroll
        for (u32 j = 0; j < N; j++) gate[j] = gate[j] / (1.0f + expf(-gate[j])) * up[j];
        store<N>(out + i, gate);
    }
}

// out = gate / (1 + e^-gate) * up. Grid: rows; THREADS threads.
template <typename T> __device__ void gate(Gate p) {
    if (aligned<T>(p.out | p.gate_up, p.width)) gate_row<T, Wide<T>::COUNT>(p);
    else gate_row<T, 1>(p);
}

template <typename T, u32 N> __device__ __forceinline__ void gate_slope_row(const Gate& p) {
    const T* gates = reinterpret_cast<const T*>(p.gate_up) + (u64)blockIdx.x * 2 * p.width;
    const T* slope = reinterpret_cast<const T*>(p.slope) + (u64)blockIdx.x * p.width;
    T* out = reinterpret_cast<T*>(p.out) + (u64)blockIdx.x * 2 * p.width;
    for (u32 i = threadIdx.x * N; i < p.width; i += blockDim.x * N) {
        float gate[N], up[N], slopes[N];
        load<N>(gate, gates + i);
        load<N>(up, gates + p.width + i);
        load<N>(slopes, slope + i);
#pragma unroll
        for (u32 j = 0; j < N; j++) {
            const float sigmoid = 1.0f / (1.0f + expf(-gate[j])), silu = gate[j] * sigmoid;
            gate[j] = slopes[j] * up[j] * (sigmoid + silu * (1.0f - sigmoid));
            up[j] = slopes[j] * silu;
        }
        store<N>(out + i, gate);
        store<N>(out + p.width + i, up);
    }
}

// Gradient by the gates and by the gated values. Grid: rows; THREADS threads.
template <typename T> __device__ void gate_slope(Gate p) {
    if (aligned<T>(p.out | p.gate_up | p.slope, p.width)) gate_slope_row<T, Wide<T>::COUNT>(p);
    else gate_slope_row<T, 1>(p);
}
