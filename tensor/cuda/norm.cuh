// Root-mean-square norm of whole batches, and its gradients.

#pragma once

#include "vectors.cuh"

struct RmsNorm {
    u64 out;     // T (rows, width)
    u64 x;       // T (rows, width)
    u64 weight;  // f32 (width)
    u64 rows;
    u32 width;
    float epsilon;
};

template <typename T, u32 N> __device__ __forceinline__ float inverse_root(const T* x, u32 width, float epsilon) {
    float squares = 0.0f;
    for (u32 i = threadIdx.x % WARP * N; i < width; i += WARP * N) {
        float values[N];
        load<N>(values, x + i);
#pragma unroll
        for (u32 j = 0; j < N; j++) squares += values[j] * values[j];
    }
    return 1.0f / sqrtf(warp_sum(squares) / width + epsilon);
}

template <typename T, u32 N> __device__ __forceinline__ void norm_row(const RmsNorm& p, u64 row) {
    const T* x = reinterpret_cast<const T*>(p.x) + row * p.width;
    T* out = reinterpret_cast<T*>(p.out) + row * p.width;
    const float* weight = reinterpret_cast<const float*>(p.weight);
    const float inverse = inverse_root<T, N>(x, p.width, p.epsilon);
    for (u32 i = threadIdx.x % WARP * N; i < p.width; i += WARP * N) {
        float values[N], factors[N];
        load<N>(values, x + i);
        load<N>(factors, weight + i);
#pragma unroll
        for (u32 j = 0; j < N; j++) values[j] *= inverse * factors[j];
        store<N>(out + i, values);
    }
}

// out = x / sqrt(mean(x^2) + epsilon) * weight. Grid: blocks of WARPS rows; THREADS threads, a warp a row.
template <typename T> __device__ void rms_norm(RmsNorm p) {
    const u64 row = warp_row();
    if (row >= p.rows) return;
    if (aligned<T>(p.out | p.x | p.weight, p.width)) norm_row<T, Wide<T>::COUNT>(p, row);
    else norm_row<T, 1>(p, row);
}

struct RmsNormSlope {
    u64 dx;        // T (rows, width)
    u64 inverses;  // f32 (rows): of the roots; or 0
    u64 slope;     // T or f32 (rows, width): gradient of the output
    u64 x;         // T (rows, width)
    u64 weight;    // f32 (width)
    u64 rows;
    u32 width;
    float epsilon;
    u32 is_wide;  // whether the slope is f32; its numbers are rounded to T first
    u32 padding;
};

// Slopes as T holds them.
template <typename T, u32 N, typename S> __device__ __forceinline__ void load_slopes(float (&slopes)[N], const S* from) {
    load<N>(slopes, from);
    if constexpr (sizeof(S) != sizeof(T)) {
#pragma unroll
        for (u32 j = 0; j < N; j++) {
            T rounded;
            narrow(&rounded, slopes[j]);
            slopes[j] = widen(rounded);
        }
    }
}

template <typename T, u32 N, typename S> __device__ __forceinline__ void norm_slope_row(const RmsNormSlope& p, u64 row) {
    const T* x = reinterpret_cast<const T*>(p.x) + row * p.width;
    const S* slope = reinterpret_cast<const S*>(p.slope) + row * p.width;
    T* dx = reinterpret_cast<T*>(p.dx) + row * p.width;
    const float* weight = reinterpret_cast<const float*>(p.weight);
    float squares = 0.0f, along = 0.0f;
    for (u32 i = threadIdx.x % WARP * N; i < p.width; i += WARP * N) {
        float values[N], factors[N], slopes[N];
        load<N>(values, x + i);
        load<N>(factors, weight + i);
        load_slopes<T>(slopes, slope + i);
#pragma unroll
        for (u32 j = 0; j < N; j++) {
            squares += values[j] * values[j];
            along += slopes[j] * factors[j] * values[j];
        }
    }
    const float inverse = 1.0f / sqrtf(warp_sum(squares) / p.width + p.epsilon);
    const float pull = warp_sum(along) * inverse * inverse / p.width;
    for (u32 i = threadIdx.x % WARP * N; i < p.width; i += WARP * N) {
        float values[N], factors[N], slopes[N];
        load<N>(values, x + i);
        load<N>(factors, weight + i);
        load_slopes<T>(slopes, slope + i);
#pragma unroll
        for (u32 j = 0; j < N; j++) values[j] = inverse * (slopes[j] * factors[j] - values[j] * pull);
        store<N>(dx + i, values);
    }
    if (p.inverses && threadIdx.x % WARP == 0) reinterpret_cast<float*>(p.inverses)[row] = inverse;
}

// Gradient by x. Grid: blocks of WARPS rows; THREADS threads, a warp a row.
template <typename T> __device__ void rms_norm_slope(RmsNormSlope p) {
    const u64 row = warp_row();
    if (row >= p.rows) return;
    const bool is_aligned = aligned<T>(p.dx | p.slope | p.x | p.weight, p.width);
    if (p.is_wide) {
        if (is_aligned) norm_slope_row<T, Wide<T>::COUNT, float>(p, row);
        else norm_slope_row<T, 1, float>(p, row);
    } else {
        if (is_aligned) norm_slope_row<T, Wide<T>::COUNT, T>(p, row);
        else norm_slope_row<T, 1, T>(p, row);
    }
}

struct RmsNormWeight {
    u64 partial;   // f32 (blocks of rows, width)
    u64 slope;     // T (rows, width): gradient of the output
    u64 x;         // T (rows, width)
    u64 inverses;  // f32 (rows)
    u64 rows;
    u32 width;
    u32 block;  // rows of a block
};

// Each block's share of the gradient by the weight. Grid: blocks of rows, blocks of THREADS columns.
template <typename T> __device__ void rms_norm_weight(RmsNormWeight p) {
    const u32 column = blockIdx.y * blockDim.x + threadIdx.x;
    if (column >= p.width) return;
    const u64 first = (u64)blockIdx.x * p.block, last = first + p.block < p.rows ? first + p.block : p.rows;
    const T* x = reinterpret_cast<const T*>(p.x) + column;
    const T* slope = reinterpret_cast<const T*>(p.slope) + column;
    const float* inverses = reinterpret_cast<const float*>(p.inverses);
    float sum = 0.0f;
    for (u64 row = first; row < last; row++)
        sum += widen(slope[row * p.width]) * widen(x[row * p.width]) * inverses[row];
    reinterpret_cast<float*>(p.partial)[(u64)blockIdx.x * p.width + column] = sum;
}

struct SumRows {
    u64 out;  // f32 (width)
    u64 in;   // f32 (rows, width)
    u32 rows;
    u32 width;
};

// Sums of columns, from the first row to the last. Grid: blocks of THREADS columns.
extern "C" __global__ void sum_rows(SumRows p) {
    const u32 column = blockIdx.x * blockDim.x + threadIdx.x;
    if (column >= p.width) return;
    const float* in = reinterpret_cast<const float*>(p.in) + column;
    float sum = 0.0f;
    for (u32 row = 0; row < p.rows; row++) sum += in[(u64)row * p.width];
    reinterpret_cast<float*>(p.out)[column] = sum;
}
