// A layer of the decoder in a decoding step, without its products and its attention.

#pragma once

#include "vectors.cuh"

struct Embed {
    u64 hidden;     // T (rows, width)
    u64 embedding;  // T (vocabulary, width)
    u64 ids;        // u32 (rows)
    u32 width;
    u32 padding;
};

// Grid: rows.
template <typename T> __device__ void embed(Embed p) {
    const u32 row = blockIdx.x, id = reinterpret_cast<const u32*>(p.ids)[row];
    const T* from = reinterpret_cast<const T*>(p.embedding) + (u64)id * p.width;
    T* to = reinterpret_cast<T*>(p.hidden) + (u64)row * p.width;
    copy_numbers(to, from, p.width);
}

struct AddNorm {
    u64 normed;  // T (rows, width)
    u64 hidden;  // T (rows, width), read and written
    u64 delta;   // T (rows, width), or 0
    u64 weight;  // f32 (width)
    u32 width;
    float epsilon;
};

// Numbers of a row that one thread of `add_norm` keeps between its two passes, and those that it asks for at once.
#define NORM_KEPT 32
#define NORM_AHEAD 8

// Adds this thread's NORM_AHEAD numbers from `first` on, THREADS apart, to the sum of squares; `kept` are what they
// become, zeros beyond the row.
template <typename T>
__device__ __forceinline__ void add_ahead(
    float (&kept)[NORM_AHEAD], float& squares, T* hidden, const T* delta, u32 first, u32 width) {
    float added[NORM_AHEAD];
#pragma unroll
    for (u32 j = 0; j < NORM_AHEAD; j++) {
        const u32 i = first + j * THREADS + threadIdx.x;
        kept[j] = i < width ? widen(hidden[i]) : 0.0f;
        added[j] = delta && i < width ? widen(delta[i]) : 0.0f;
    }
#pragma unroll
    for (u32 j = 0; j < NORM_AHEAD; j++) {
        const u32 i = first + j * THREADS + threadIdx.x;
        if (i >= width) break;
        if (delta) {
            T sum;
            narrow(&sum, kept[j] + added[j]);
            hidden[i] = sum;
            kept[j] = widen(sum);
        }
        squares += kept[j] * kept[j];
    }
}

// Writes these numbers times `inverse` and their weights.
template <typename T>
__device__ __forceinline__ void scale_ahead(
    T* normed, const float (&kept)[NORM_AHEAD], const float* weight, float inverse, u32 first, u32 width) {
    float factors[NORM_AHEAD];
#pragma unroll
    for (u32 j = 0; j < NORM_AHEAD; j++) {
        const u32 i = first + j * THREADS + threadIdx.x;
        factors[j] = i < width ? weight[i] : 0.0f;
    }
#pragma unroll
    for (u32 j = 0; j < NORM_AHEAD; j++) {
        const u32 i = first + j * THREADS + threadIdx.x;
        if (i < width) narrow(&normed[i], kept[j] * inverse * factors[j]);
    }
}

// hidden += delta; normed = hidden / sqrt(mean(hidden^2) + epsilon) * weight. A row of up to NORM_KEPT * THREADS numbers
// stays in registers; what is wider is read again. Grid: rows; THREADS threads.
template <typename T> __device__ void add_norm(AddNorm p) {
    constexpr u32 STRETCH = NORM_AHEAD * THREADS, HELD = NORM_KEPT / NORM_AHEAD;
    __shared__ float shared[WARP];
    const u64 start = (u64)blockIdx.x * p.width;
    T* hidden = reinterpret_cast<T*>(p.hidden) + start;
    T* normed = reinterpret_cast<T*>(p.normed) + start;
    const T* delta = p.delta ? reinterpret_cast<const T*>(p.delta) + start : nullptr;
    const float* weight = reinterpret_cast<const float*>(p.weight);
    float squares = 0.0f, kept[HELD][NORM_AHEAD], more[NORM_AHEAD];
#pragma unroll
    for (u32 part = 0; part < HELD; part++)
        if (part * STRETCH < p.width) add_ahead(kept[part], squares, hidden, delta, part * STRETCH, p.width);
    for (u32 first = HELD * STRETCH; first < p.width; first += STRETCH)
        add_ahead(more, squares, hidden, delta, first, p.width);
    const float inverse = 1.0f / sqrtf(block_sum(squares, shared) / p.width + p.epsilon);
#pragma unroll
    for (u32 part = 0; part < HELD; part++)
        if (part * STRETCH < p.width) scale_ahead(normed, kept[part], weight, inverse, part * STRETCH, p.width);
    for (u32 first = HELD * STRETCH; first < p.width; first += STRETCH) {
        float nothing = 0.0f;
        add_ahead(more, nothing, hidden, static_cast<const T*>(nullptr), first, p.width);
        scale_ahead(normed, more, weight, inverse, first, p.width);
    }
}

struct Rotate {
    u64 query;       // T (rows, queries, head)
    u64 keys;        // T (rows, key heads, capacity, head): the cache
    u64 values;      // the same
    u64 qkv;         // T (rows, (queries + 2 key heads) * head)
    u64 bias;        // f32 (width of qkv), or 0
    u64 query_norm;  // f32 (head), or 0
    u64 key_norm;    // f32 (head), or 0
    u64 angles;      // f32 (positions, head): cosines, then sines
    u64 first;       // u32 (rows): slot of each row's first token
    u64 slot;        // u32: slot that is written
    u32 queries;
    u32 key_heads;
    u32 head;
    u32 capacity;
    float epsilon;
    u32 padding;
};

// Adds the bias, norms queries and keys if the model does, rotates them by their position, and writes keys and values
// to the cache. Grid: rows, queries + 2 key heads; 128 threads, a pair of dimensions each; heads of up to 256.
template <typename T> __device__ void rotate(Rotate p) {
    __shared__ float shared[WARP];
    const u32 row = blockIdx.x, part = blockIdx.y, i = threadIdx.x, half = p.head / 2;
    const u32 slot = *reinterpret_cast<const u32*>(p.slot);
    const u32 position = slot - reinterpret_cast<const u32*>(p.first)[row];
    const u32 column = part * p.head;
    const u64 width = (u64)(p.queries + 2 * p.key_heads) * p.head;
    const T* in = reinterpret_cast<const T*>(p.qkv) + row * width + column;
    const float* bias = p.bias ? reinterpret_cast<const float*>(p.bias) + column : nullptr;
    const bool is_query = part < p.queries, is_value = part >= p.queries + p.key_heads, mine = i < half;
    float low = mine ? widen(in[i]) : 0.0f, high = mine ? widen(in[half + i]) : 0.0f;
    if (mine && bias) {
        low += bias[i];
        high += bias[half + i];
    }
    const float* norm = reinterpret_cast<const float*>(is_query ? p.query_norm : p.key_norm);
    if (norm && !is_value) {
        const float mean = block_sum(low * low + high * high, shared) / p.head;
        const float inverse = 1.0f / sqrtf(mean + p.epsilon);
        if (mine) {
            low *= inverse * norm[i];
            high *= inverse * norm[half + i];
        }
    }
    if (!mine) return;
    if (!is_value) {
        const float* angles = reinterpret_cast<const float*>(p.angles) + (u64)position * p.head;
        const float cosine = angles[i], sine = angles[half + i], x = low;
        low = x * cosine - high * sine;
        high = high * cosine + x * sine;
    }
    T* out;
    if (is_query) {
        out = reinterpret_cast<T*>(p.query) + ((u64)row * p.queries + part) * p.head;
    } else {
        const u32 head = (part - p.queries) % p.key_heads;
        T* cache = reinterpret_cast<T*>(is_value ? p.values : p.keys);
        out = cache + (((u64)row * p.key_heads + head) * p.capacity + slot) * p.head;
    }
    narrow(&out[i], low);
    narrow(&out[half + i], high);
}

// Rows that one block of `adapt` or `adapt_gate` serves: each thread reads its factors once for all of them.
#define ADAPT_ROWS 8

struct Adapt {
    u64 out;    // T (rows, outputs), or (rows, outputs / 2) behind a gate
    u64 joint;  // f32 (rows, outputs + parts * rank): W x of all parts, then A x of each part
    u64 b;      // f32 (rank, outputs): neighbouring threads read neighbouring numbers
    u32 rows;
    u32 outputs;
    u32 rank;
    u32 parts;   // maps of the same x, their outputs side by side; at most three
    u32 first;   // column where the second part begins
    u32 second;  // column where the third part begins
    float scale;
    u32 padding;
};

// W x + scale * B (A x) of `rows` rows from `row` on, in one column. W x is rounded to T before the term is added, as the
// layers' format has it, so that it does not matter that the product was in f32.
template <typename T>
__device__ __forceinline__ void adapted(float (&sums)[ADAPT_ROWS], const Adapt& p, u32 column, u32 row, u32 rows) {
    const u32 part = (column >= p.first) + (column >= p.second), stride = p.outputs + p.parts * p.rank;
    const float* b = reinterpret_cast<const float*>(p.b) + column;
    const float* joint = reinterpret_cast<const float*>(p.joint) + (u64)row * stride;
    const float* low = joint + p.outputs + part * p.rank;
#pragma unroll
    for (int i = 0; i < ADAPT_ROWS; i++) sums[i] = 0.0f;
    for (u32 k = 0; k < p.rank; k++) {
        const float factor = b[(u64)k * p.outputs];
#pragma unroll
        for (int i = 0; i < ADAPT_ROWS; i++)
            if (i < (int)rows) sums[i] += factor * low[(u64)i * stride + k];
    }
#pragma unroll
    for (int i = 0; i < ADAPT_ROWS; i++)
        if (i < (int)rows) {
            T rounded;
            narrow(&rounded, joint[(u64)i * stride + column]);
            narrow(&rounded, widen(rounded) + p.scale * sums[i]);
            sums[i] = widen(rounded);
        }
}

// out = W x + scale * B (A x). Grid: blocks of THREADS columns, blocks of ADAPT_ROWS rows.
template <typename T> __device__ void adapt(Adapt p) {
    const u32 column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * ADAPT_ROWS;
    if (column >= p.outputs) return;
    const u32 rows = min(p.rows - row, (u32)ADAPT_ROWS);
    float sums[ADAPT_ROWS];
    adapted<T>(sums, p, column, row, rows);
    T* out = reinterpret_cast<T*>(p.out) + (u64)row * p.outputs + column;
#pragma unroll
    for (int i = 0; i < ADAPT_ROWS; i++)
        if (i < (int)rows) narrow(&out[(u64)i * p.outputs], sums[i]);
}

// gate / (1 + e^-gate) * up.
__device__ __forceinline__ float gated(float gate, float up) { return gate / (1.0f + expf(-gate)) * up; }

// The same for gate and up, and the gate after it. Grid: blocks of THREADS columns of one of the two, blocks of ADAPT_ROWS
// rows.
template <typename T> __device__ void adapt_gate(Adapt p) {
    const u32 column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * ADAPT_ROWS, width = p.outputs / 2;
    if (column >= width) return;
    const u32 rows = min(p.rows - row, (u32)ADAPT_ROWS);
    float gates[ADAPT_ROWS], ups[ADAPT_ROWS];
    adapted<T>(gates, p, column, row, rows);
    adapted<T>(ups, p, width + column, row, rows);
    T* out = reinterpret_cast<T*>(p.out) + (u64)row * width + column;
#pragma unroll
    for (int i = 0; i < ADAPT_ROWS; i++)
        if (i < (int)rows) narrow(&out[(u64)i * width], gated(gates[i], ups[i]));
}

struct SiluMul {
    u64 inner;    // T (rows, width)
    u64 gate_up;  // T (rows, 2 width): gates, then what they let through
    u32 width;
    u32 padding;
};

// inner = gated(gate, up). Grid: rows, blocks of THREADS columns.
template <typename T> __device__ void silu_mul(SiluMul p) {
    const u32 i = blockIdx.y * blockDim.x + threadIdx.x;
    if (i >= p.width) return;
    const T* in = reinterpret_cast<const T*>(p.gate_up) + (u64)blockIdx.x * 2 * p.width;
    const float gate = widen(in[i]), up = widen(in[p.width + i]);
    narrow(reinterpret_cast<T*>(p.inner) + (u64)blockIdx.x * p.width + i, gated(gate, up));
}
