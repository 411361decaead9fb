// Attention of whole sequences without its matrix products: splitting and merging heads, and the softmax.
//
// The query heads of one key head are interleaved by token: (sequences, key heads, tokens, group, head). So the
// queries of some tokens, for all heads of a key head, are consecutive rows of one product.

#pragma once

#include "vectors.cuh"

struct SplitHeads {
    u64 query;    // T (sequences, key heads, tokens, group, head)
    u64 key;      // T (sequences, key heads, tokens, head)
    u64 value;    // the same
    u64 qkv;      // T (sequences, tokens, (queries + 2 key heads) * head)
    u64 cosines;  // f32 (positions, head / 2)
    u64 sines;    // f32 (positions, head / 2)
    u32 tokens;
    u32 queries;
    u32 key_heads;
    u32 head;
};

// Start of the head `part` of a token, relative to the start of its queries, keys or values.
__device__ __forceinline__ u64 head_start(const SplitHeads& p, u32 sequence, u32 token, u32 part) {
    if (part >= p.queries) {
        const u64 key_head = (part - p.queries) % p.key_heads;
        return (((u64)sequence * p.key_heads + key_head) * p.tokens + token) * p.head;
    }
    const u32 group = p.queries / p.key_heads;
    const u64 of_key_head = (u64)sequence * p.key_heads + part / group;
    return ((of_key_head * p.tokens + token) * group + part % group) * p.head;
}

template <typename F> __device__ __forceinline__ F* head_of(const SplitHeads& p, u32 sequence, u32 token, u32 part) {
    const u64 kind = part < p.queries ? p.query : part < p.queries + p.key_heads ? p.key : p.value;
    return reinterpret_cast<F*>(kind) + head_start(p, sequence, token, part);
}

// Rotates (low, high) by the angle of a position.
template <u32 N> __device__ __forceinline__ void turn(
    float (&low)[N], float (&high)[N], const float (&cosine)[N], const float (&sine)[N], float sign) {
#pragma unroll
    for (u32 j = 0; j < N; j++) {
        const float x = low[j], s = sign * sine[j];
        low[j] = x * cosine[j] - high[j] * s;
        high[j] = high[j] * cosine[j] + x * s;
    }
}

template <typename T, u32 N> __device__ __forceinline__ void split_token(const SplitHeads& p) {
    const u32 half = p.head / 2, pieces = half / N, heads = p.queries + 2 * p.key_heads;
    const u32 sequence = blockIdx.x / p.tokens, token = blockIdx.x % p.tokens;
    const T* in = reinterpret_cast<const T*>(p.qkv) + (u64)blockIdx.x * heads * p.head;
    const u64 angle = (u64)token * half;
    for (u32 piece = threadIdx.x; piece < heads * pieces; piece += blockDim.x) {
        const u32 part = piece / pieces, i = piece % pieces * N;
        float low[N], high[N];
        load<N>(low, in + part * p.head + i);
        load<N>(high, in + part * p.head + half + i);
        if (part < p.queries + p.key_heads) {
            float cosine[N], sine[N];
            load<N>(cosine, reinterpret_cast<const float*>(p.cosines) + angle + i);
            load<N>(sine, reinterpret_cast<const float*>(p.sines) + angle + i);
            turn<N>(low, high, cosine, sine, 1.0f);
        }
        T* out = head_of<T>(p, sequence, token, part);
        store<N>(out + i, low);
        store<N>(out + half + i, high);
    }
}

// Splits heads and rotates queries and keys by their position. Grid: sequences * tokens; THREADS threads.
template <typename T> __device__ void split_heads(SplitHeads p) {
    const bool wide = aligned<T>(p.query | p.key | p.value | p.qkv | p.cosines | p.sines, p.head / 2);
    if (wide) split_token<T, Wide<T>::COUNT>(p);
    else split_token<T, 1>(p);
}

template <typename T, u32 N> __device__ __forceinline__ void merge_token(const SplitHeads& p) {
    const u32 half = p.head / 2, pieces = half / N, heads = p.queries + 2 * p.key_heads;
    const u32 sequence = blockIdx.x / p.tokens, token = blockIdx.x % p.tokens;
    T* out = reinterpret_cast<T*>(p.qkv) + (u64)blockIdx.x * heads * p.head;
    const u64 angle = (u64)token * half;
    for (u32 piece = threadIdx.x; piece < heads * pieces; piece += blockDim.x) {
        const u32 part = piece / pieces, i = piece % pieces * N;
        const float* in = head_of<const float>(p, sequence, token, part);
        float low[N], high[N];
        load<N>(low, in + i);
        load<N>(high, in + half + i);
        if (part < p.queries + p.key_heads) {
            float cosine[N], sine[N];
            load<N>(cosine, reinterpret_cast<const float*>(p.cosines) + angle + i);
            load<N>(sine, reinterpret_cast<const float*>(p.sines) + angle + i);
            turn<N>(low, high, cosine, sine, -1.0f);
        }
        store<N>(out + part * p.head + i, low);
        store<N>(out + part * p.head + half + i, high);
    }
}

// The reverse for gradients: reads `query`, `key` and `value` in f32 and writes `qkv`. Grid as above.
template <typename T> __device__ void merge_heads(SplitHeads p) {
    const bool wide = aligned<T>(p.query | p.key | p.value | p.qkv | p.cosines | p.sines, p.head / 2);
    if (wide) merge_token<T, Wide<T>::COUNT>(p);
    else merge_token<T, 1>(p);
}

struct MoveHeads {
    u64 apart;     // T (sequences, key heads, tokens, group, head)
    u64 together;  // T (sequences, tokens, queries * head)
    u32 tokens;
    u32 queries;
    u32 key_heads;
    u32 head;
    u32 apart_is_read;  // or written
    u32 padding;
};

// Moves words of N numbers each.
template <typename T, typename W, u32 N> __device__ __forceinline__ void move_token(const MoveHeads& p) {
    const u32 sequence = blockIdx.x / p.tokens, token = blockIdx.x % p.tokens, group = p.queries / p.key_heads;
    const u32 width = p.queries * p.head, of_group = group * p.head;
    T* together = reinterpret_cast<T*>(p.together) + (u64)blockIdx.x * width;
    // Words that a thread asks for before it writes the first.
    constexpr u32 AHEAD = 2;
    for (u32 first = threadIdx.x * N; first < width; first += AHEAD * blockDim.x * N) {
        W words[AHEAD];
        T* to[AHEAD];
#pragma unroll
        for (u32 k = 0; k < AHEAD; k++) {
            const u32 i = first + k * blockDim.x * N;
            const u64 of_key_head = (u64)sequence * p.key_heads + i / of_group;
            T* apart = reinterpret_cast<T*>(p.apart) + (of_key_head * p.tokens + token) * of_group + i % of_group;
            const T* from = p.apart_is_read ? apart : together + i;
            to[k] = p.apart_is_read ? together + i : apart;
            if (i < width) words[k] = *reinterpret_cast<const W*>(from);
        }
#pragma unroll
        for (u32 k = 0; k < AHEAD; k++)
            if (first + k * blockDim.x * N < width) *reinterpret_cast<W*>(to[k]) = words[k];
    }
}

// Moves query heads between the two layouts. Grid: sequences * tokens; THREADS threads.
template <typename T> __device__ void move_heads(MoveHeads p) {
    if (aligned<T>(p.apart | p.together, p.head)) move_token<T, uint4, Wide<T>::COUNT>(p);
    else move_token<T, T, 1>(p);
}

struct Softmax {
    u64 weights;  // T (rows, stride)
    u64 scores;   // f32 (rows, stride): products of queries and keys; of the gradient those of slopes and values
    u64 rows;     // of all matrices together
    u32 stride;   // numbers from row to row; a multiple of 8
    u32 columns;  // keys that are there
    u32 rows_each;  // rows of one matrix
    u32 group;      // neighbouring rows of one token
    u32 first;      // token of a matrix's first row
    float scale;    // of scores
};

// Number of keys that the row's token sees.
__device__ __forceinline__ u32 seen_by(const Softmax& p, u64 row) {
    return min(p.first + (u32)(row % p.rows_each) / p.group + 1, p.columns);
}

template <typename T, u32 N> __device__ __forceinline__ void softmax_row(const Softmax& p, u64 row) {
    const u32 seen = seen_by(p, row), lane = threadIdx.x % WARP;
    const float* scores = reinterpret_cast<const float*>(p.scores) + row * p.stride;
    T* weights = reinterpret_cast<T*>(p.weights) + row * p.stride;
    float top = -INFINITY;
    for (u32 i = lane * N; i < seen; i += WARP * N) {
        float values[N];
        load<N>(values, scores + i);
#pragma unroll
        for (u32 j = 0; j < N; j++)
            if (i + j < seen) top = fmaxf(top, values[j]);
    }
    top = warp_max(top);
    float total = 0.0f;
    for (u32 i = lane * N; i < seen; i += WARP * N) {
        float values[N];
        load<N>(values, scores + i);
#pragma unroll
        for (u32 j = 0; j < N; j++)
            if (i + j < seen) total += expf(p.scale * (values[j] - top));
    }
    const float inverse = 1.0f / warp_sum(total);
    for (u32 first = lane * N; first < p.columns; first += 2 * WARP * N) {
        float values[2][N];
#pragma unroll
        for (u32 k = 0; k < 2; k++)
            if (first + k * WARP * N < p.columns) load<N>(values[k], scores + first + k * WARP * N);
#pragma unroll
        for (u32 k = 0; k < 2; k++) {
            const u32 i = first + k * WARP * N;
            if (i >= p.columns) break;
#pragma unroll
            for (u32 j = 0; j < N; j++)
                values[k][j] = i + j < seen ? expf(p.scale * (values[k][j] - top)) * inverse : 0.0f;
            store<N>(weights + i, values[k]);
        }
    }
}

// Turns scores into weights; zero where a token sees nothing. Grid: blocks of WARPS rows; THREADS threads, a warp a
// row.
template <typename T> __device__ void causal_softmax(Softmax p) {
    const u64 row = warp_row();
    if (row >= p.rows) return;
    if (aligned<T>(p.weights | p.scores, p.stride)) softmax_row<T, Wide<T>::COUNT>(p, row);
    else softmax_row<T, 1>(p, row);
}

template <typename T, u32 N> __device__ __forceinline__ void softmax_slope_row(const Softmax& p, u64 row) {
    const u32 seen = seen_by(p, row), lane = threadIdx.x % WARP;
    const float* slopes = reinterpret_cast<const float*>(p.scores) + row * p.stride;
    T* weights = reinterpret_cast<T*>(p.weights) + row * p.stride;
    float mean = 0.0f;
    for (u32 i = lane * N; i < seen; i += WARP * N) {
        float slope[N], weight[N];
        load<N>(slope, slopes + i);
        load<N>(weight, weights + i);
#pragma unroll
        for (u32 j = 0; j < N; j++)
            if (i + j < seen) mean += slope[j] * weight[j];
    }
    mean = warp_sum(mean);
    for (u32 i = lane * N; i < p.columns; i += WARP * N) {
        float slope[N], weight[N];
        load<N>(slope, slopes + i);
        load<N>(weight, weights + i);
#pragma unroll
        for (u32 j = 0; j < N; j++) weight[j] = i + j < seen ? p.scale * weight[j] * (slope[j] - mean) : 0.0f;
        store<N>(weights + i, weight);
    }
}

// Writes the gradient by scores over the weights; `scores` holds the gradient by weights. Grid as above.
template <typename T> __device__ void causal_softmax_slope(Softmax p) {
    const u64 row = warp_row();
    if (row >= p.rows) return;
    if (aligned<T>(p.weights | p.scores, p.stride)) softmax_slope_row<T, Wide<T>::COUNT>(p, row);
    else softmax_slope_row<T, 1>(p, row);
}
