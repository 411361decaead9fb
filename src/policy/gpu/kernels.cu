// One decoding step on a GPU, apart from its matrix products, and one step of the optimiser.
//
// Every kernel takes one structure by value, mirrored field by field in `kernels.rs`. Arithmetic is in f32 whatever
// the tensors hold; sums are taken in an order that depends on shapes alone, so that a step repeats bit for bit.
// Compiled to PTX by nvcc and, for the tests, to a library for the processor (`emulation.h`).

#ifdef ON_PROCESSOR
#include "emulation.h"
#else
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <stdint.h>
#endif

#define WARP 32
#define ALL_LANES 0xffffffffu
// Threads of a block, for every kernel but those that say otherwise.
#define THREADS 256

typedef uint32_t u32;
typedef uint64_t u64;

__device__ __forceinline__ float widen(float x) { return x; }
__device__ __forceinline__ float widen(__nv_bfloat16 x) { return __bfloat162float(x); }
__device__ __forceinline__ float widen(__half x) { return __half2float(x); }
__device__ __forceinline__ void narrow(float* out, float x) { *out = x; }
__device__ __forceinline__ void narrow(__nv_bfloat16* out, float x) { *out = __float2bfloat16(x); }
__device__ __forceinline__ void narrow(__half* out, float x) { *out = __float2half(x); }

// Eight neighbours in one or two loads; `from` lies on a multiple of eight elements.
template <typename T> __device__ __forceinline__ void load8(float* out, const T* from) {
    if (sizeof(T) == 2) {
        const uint4 bits = *reinterpret_cast<const uint4*>(from);
        const T* values = reinterpret_cast<const T*>(&bits);
#pragma unroll
        for (int i = 0; i < 8; i++) out[i] = widen(values[i]);
    } else {
#pragma unroll
        for (int i = 0; i < 8; i++) out[i] = widen(from[i]);
    }
}

__device__ __forceinline__ float warp_sum(float x) {
    for (int offset = WARP / 2; offset > 0; offset /= 2) x += __shfl_xor_sync(ALL_LANES, x, offset);
    return x;
}

__device__ __forceinline__ float warp_max(float x) {
    for (int offset = WARP / 2; offset > 0; offset /= 2) x = fmaxf(x, __shfl_xor_sync(ALL_LANES, x, offset));
    return x;
}

// Over a block of at most 32 warps. `shared` has room for 32 numbers; all threads get the result.
__device__ __forceinline__ float block_sum(float x, float* shared) {
    x = warp_sum(x);
    __syncthreads();
    if (threadIdx.x % WARP == 0) shared[threadIdx.x / WARP] = x;
    __syncthreads();
    float sum = 0.0f;
    for (u32 warp = 0; warp < blockDim.x / WARP; warp++) sum += shared[warp];
    return sum;
}

__device__ __forceinline__ float block_max(float x, float* shared) {
    x = warp_max(x);
    __syncthreads();
    if (threadIdx.x % WARP == 0) shared[threadIdx.x / WARP] = x;
    __syncthreads();
    float top = shared[0];
    for (u32 warp = 1; warp < blockDim.x / WARP; warp++) top = fmaxf(top, shared[warp]);
    return top;
}

// ---- Embedding -----------------------------------------------------------------------------------------------------

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
    for (u32 i = threadIdx.x; i < p.width; i += blockDim.x) to[i] = from[i];
}

// ---- Residual and norm ---------------------------------------------------------------------------------------------

struct AddNorm {
    u64 normed;  // T (rows, width)
    u64 hidden;  // T (rows, width), read and written
    u64 delta;   // T (rows, width), or 0
    u64 weight;  // f32 (width)
    u32 width;
    float epsilon;
};

// hidden += delta; normed = hidden / sqrt(mean(hidden^2) + epsilon) * weight. Grid: rows.
template <typename T> __device__ void add_norm(AddNorm p) {
    __shared__ float shared[WARP];
    const u64 start = (u64)blockIdx.x * p.width;
    T* hidden = reinterpret_cast<T*>(p.hidden) + start;
    T* normed = reinterpret_cast<T*>(p.normed) + start;
    const T* delta = p.delta ? reinterpret_cast<const T*>(p.delta) + start : nullptr;
    const float* weight = reinterpret_cast<const float*>(p.weight);
    float squares = 0.0f;
    for (u32 i = threadIdx.x; i < p.width; i += blockDim.x) {
        if (delta) narrow(&hidden[i], widen(hidden[i]) + widen(delta[i]));
        const float x = widen(hidden[i]);
        squares += x * x;
    }
    const float inverse = 1.0f / sqrtf(block_sum(squares, shared) / p.width + p.epsilon);
    for (u32 i = threadIdx.x; i < p.width; i += blockDim.x) narrow(&normed[i], widen(hidden[i]) * inverse * weight[i]);
}

// ---- Queries, keys and values --------------------------------------------------------------------------------------

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

// Adds the bias, norms queries and keys where the model does, turns them by their position and puts keys and values
// into the cache. Grid: rows, queries + 2 key heads; 128 threads, a pair of dimensions each; heads of up to 256.
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

// ---- Attention -----------------------------------------------------------------------------------------------------

#define ATTEND_THREADS 128
// Query heads of one key head that a block serves at once.
#define GROUP 8
#define LARGEST_HEAD 256

struct Attend {
    u64 mixed;    // T (rows, queries, head)
    u64 partial;  // f32 (rows, queries, splits, head + 2): a sum of values, the largest score, the sum of weights
    u64 query;    // T (rows, queries, head)
    u64 keys;     // T (rows, key heads, capacity, head)
    u64 values;   // the same
    u64 first;    // u32 (rows)
    u64 slot;     // u32: newest slot
    u32 queries;
    u32 key_heads;
    u32 head;      // a multiple of 8
    u32 capacity;  // slots
    u32 split;     // slots of a split, a multiple of ATTEND_THREADS
    float scale;
};

// Scores of this block's queries over the slots `from..from + ATTEND_THREADS`, a thread a slot.
template <typename T>
__device__ __forceinline__ void score_slots(
    float (*scores)[ATTEND_THREADS], const float (*query)[LARGEST_HEAD], const T* key, u32 head, bool seen) {
    float sums[GROUP];
#pragma unroll
    for (int g = 0; g < GROUP; g++) sums[g] = 0.0f;
    if (seen) {
        for (u32 i = 0; i < head; i += 8) {
            float k[8];
            load8(k, key + i);
#pragma unroll
            for (int g = 0; g < GROUP; g++) {
#pragma unroll
                for (int j = 0; j < 8; j++) sums[g] += query[g][i + j] * k[j];
            }
        }
    }
#pragma unroll
    for (int g = 0; g < GROUP; g++) scores[g][threadIdx.x] = seen ? sums[g] : -INFINITY;
}

// Attention over one split of the slots (Dao et al. 2023, "Flash-Decoding"). Grid: rows * key heads, splits, groups of
// GROUP query heads; ATTEND_THREADS threads.
template <typename T> __device__ void attend(Attend p) {
    __shared__ float query[GROUP][LARGEST_HEAD];
    __shared__ float scores[GROUP][ATTEND_THREADS];
    __shared__ float top[GROUP], total[GROUP], shrink[GROUP];
    const u32 row = blockIdx.x / p.key_heads, key_head = blockIdx.x % p.key_heads, thread = threadIdx.x;
    const u32 group = p.queries / p.key_heads, begin = blockIdx.z * GROUP;
    const u32 served = min(group - begin, (u32)GROUP), first_query = key_head * group + begin;
    const u32 first = reinterpret_cast<const u32*>(p.first)[row], last = *reinterpret_cast<const u32*>(p.slot);
    const u32 from = max(blockIdx.y * p.split, first), to = min((blockIdx.y + 1) * p.split, last + 1);
    const T* queries = reinterpret_cast<const T*>(p.query) + ((u64)row * p.queries + first_query) * p.head;
    const u64 start = ((u64)row * p.key_heads + key_head) * p.capacity * p.head;
    const T* keys = reinterpret_cast<const T*>(p.keys) + start;
    const T* values = reinterpret_cast<const T*>(p.values) + start;
    for (u32 i = thread; i < GROUP * LARGEST_HEAD; i += blockDim.x) {
        const u32 g = i / LARGEST_HEAD, d = i % LARGEST_HEAD;
        query[g][d] = g < served && d < p.head ? widen(queries[g * p.head + d]) * p.scale : 0.0f;
    }
    if (thread < GROUP) {
        top[thread] = -INFINITY;
        total[thread] = 0.0f;
    }
    // Values: a thread a dimension; two dimensions of heads wider than the block.
    float mixed[LARGEST_HEAD / ATTEND_THREADS][GROUP];
#pragma unroll
    for (int d = 0; d < LARGEST_HEAD / ATTEND_THREADS; d++) {
#pragma unroll
        for (int g = 0; g < GROUP; g++) mixed[d][g] = 0.0f;
    }
    __syncthreads();
    for (u32 tile = blockIdx.y * p.split; tile < to; tile += ATTEND_THREADS) {
        const u32 slot = tile + thread;
        score_slots(scores, query, keys + (u64)slot * p.head, p.head, slot >= from && slot < to);
        __syncthreads();
        // A warp a query: largest score so far, weights, and what older sums shrink by.
        for (u32 g = thread / WARP; g < GROUP; g += ATTEND_THREADS / WARP) {
            float highest = -INFINITY;
            for (u32 i = thread % WARP; i < ATTEND_THREADS; i += WARP) highest = fmaxf(highest, scores[g][i]);
            highest = fmaxf(warp_max(highest), top[g]);
            float sum = 0.0f;
            for (u32 i = thread % WARP; i < ATTEND_THREADS; i += WARP) {
                const float weight = highest == -INFINITY ? 0.0f : expf(scores[g][i] - highest);
                scores[g][i] = weight;
                sum += weight;
            }
            sum = warp_sum(sum);
            if (thread % WARP == 0) {
                shrink[g] = top[g] == -INFINITY ? 0.0f : expf(top[g] - highest);
                total[g] = total[g] * shrink[g] + sum;
                top[g] = highest;
            }
        }
        __syncthreads();
        const u32 begin_slot = max(tile, from), end_slot = min(tile + ATTEND_THREADS, to);
#pragma unroll
        for (int part = 0; part < LARGEST_HEAD / ATTEND_THREADS; part++) {
            const u32 d = part * ATTEND_THREADS + thread;
            if (d >= p.head) break;
#pragma unroll
            for (int g = 0; g < GROUP; g++) mixed[part][g] *= shrink[g];
            for (u32 s = begin_slot; s < end_slot; s++) {
                const float value = widen(values[(u64)s * p.head + d]);
#pragma unroll
                for (int g = 0; g < GROUP; g++) mixed[part][g] += scores[g][s - tile] * value;
            }
        }
        __syncthreads();
    }
    const u64 stride = p.head + 2;
    float* partial = reinterpret_cast<float*>(p.partial);
    for (u32 g = 0; g < served; g++) {
        float* out = partial + (((u64)row * p.queries + first_query + g) * gridDim.y + blockIdx.y) * stride;
#pragma unroll
        for (int part = 0; part < LARGEST_HEAD / ATTEND_THREADS; part++) {
            const u32 d = part * ATTEND_THREADS + thread;
            float value = 0.0f;
#pragma unroll
            for (int i = 0; i < GROUP; i++) value = i == (int)g ? mixed[part][i] : value;
            if (d < p.head) out[d] = value;
        }
        if (thread == 0) {
            out[p.head] = top[g];
            out[p.head + 1] = total[g];
        }
    }
}

// Puts the splits of each query together. Grid: rows * queries; ATTEND_THREADS threads.
template <typename T> __device__ void combine(Attend p) {
    const u32 splits = (p.capacity + p.split - 1) / p.split;
    const u64 stride = p.head + 2;
    const float* partial = reinterpret_cast<const float*>(p.partial) + (u64)blockIdx.x * splits * stride;
    T* out = reinterpret_cast<T*>(p.mixed) + (u64)blockIdx.x * p.head;
    float top = -INFINITY, total = 0.0f;
    for (u32 s = 0; s < splits; s++) top = fmaxf(top, partial[s * stride + p.head]);
    for (u32 s = 0; s < splits; s++) total += expf(partial[s * stride + p.head] - top) * partial[s * stride + p.head + 1];
    for (u32 d = threadIdx.x; d < p.head; d += blockDim.x) {
        float sum = 0.0f;
        for (u32 s = 0; s < splits; s++) sum += expf(partial[s * stride + p.head] - top) * partial[s * stride + d];
        narrow(&out[d], sum / total);
    }
}

// ---- Gate ----------------------------------------------------------------------------------------------------------

struct SiluMul {
    u64 inner;    // T (rows, width)
    u64 gate_up;  // T (rows, 2 width): gates, then what they let through
    u32 width;
    u32 padding;
};

// inner = gate / (1 + e^-gate) * up. Grid: rows, blocks of THREADS columns.
template <typename T> __device__ void silu_mul(SiluMul p) {
    const u32 i = blockIdx.y * blockDim.x + threadIdx.x;
    if (i >= p.width) return;
    const T* in = reinterpret_cast<const T*>(p.gate_up) + (u64)blockIdx.x * 2 * p.width;
    const float gate = widen(in[i]), up = widen(in[p.width + i]);
    narrow(reinterpret_cast<T*>(p.inner) + (u64)blockIdx.x * p.width + i, gate / (1.0f + expf(-gate)) * up);
}

// ---- Sampling ------------------------------------------------------------------------------------------------------

// Logits that one warp sums up: a multiple of WARP.
#define TILE 1024
// Room for a vocabulary of 524,288.
#define MOST_TILES 512
#define NOT_FINITE 0xffffffffu

struct Sample {
    u64 ids;       // u32 (rows): the token drawn, which is fed next
    u64 tokens;    // u32 (rows, chunk)
    u64 logps;     // f32 (rows, chunk)
    u64 logits;    // f32 (rows, vocabulary)
    u64 uniforms;  // f64 (rows, chunk), each in 0..1
    u64 step;      // u32: place in the chunk
    u32 vocabulary;
    u32 chunk;
    float inverse_temperature;
    u32 padding;
};

// First token whose cumulative weight exceeds the target, in the order of ids, and its log-probability; nothing cut.
// NOT_FINITE where the logits are no distribution. Grid: rows; THREADS threads.
__device__ void sample_row(Sample p) {
    __shared__ float shared[WARP];
    __shared__ float tiles[MOST_TILES];
    __shared__ u32 chosen_tile;
    __shared__ double target, whole;
    const u32 row = blockIdx.x, step = *reinterpret_cast<const u32*>(p.step), lane = threadIdx.x % WARP;
    const float* logits = reinterpret_cast<const float*>(p.logits) + (u64)row * p.vocabulary;
    float top = -INFINITY;
    for (u32 i = threadIdx.x; i < p.vocabulary; i += blockDim.x) top = fmaxf(top, logits[i]);
    top = block_max(top, shared);
    const u32 count = (p.vocabulary + TILE - 1) / TILE;
    for (u32 tile = threadIdx.x / WARP; tile < count; tile += blockDim.x / WARP) {
        float sum = 0.0f;
        for (u32 i = tile * TILE + lane; i < min((tile + 1) * TILE, p.vocabulary); i += WARP)
            sum += expf((logits[i] - top) * p.inverse_temperature);
        sum = warp_sum(sum);
        if (lane == 0) tiles[tile] = sum;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        whole = 0.0;
        for (u32 tile = 0; tile < count; tile++) whole += tiles[tile];
        target = reinterpret_cast<const double*>(p.uniforms)[(u64)row * p.chunk + step] * whole;
        chosen_tile = 0;
        for (u32 tile = 0; tile < count; tile++) {
            if (tiles[tile] <= 0.0f) continue;
            chosen_tile = tile;
            if (target < tiles[tile]) break;
            target -= tiles[tile];
        }
    }
    __syncthreads();
    if (threadIdx.x >= WARP) return;
    u32 token = NOT_FINITE, last = NOT_FINITE;
    double before = 0.0;
    for (u32 base = chosen_tile * TILE; base < min((chosen_tile + 1) * TILE, p.vocabulary); base += WARP) {
        const u32 i = base + lane;
        const bool there = i < p.vocabulary;
        const float weight = there ? expf((logits[i] - top) * p.inverse_temperature) : 0.0f;
        double sum = weight;
        for (int offset = 1; offset < WARP; offset *= 2) {
            const double left = __shfl_up_sync(ALL_LANES, sum, offset);
            if (lane >= (u32)offset) sum += left;
        }
        const u32 positive = __ballot_sync(ALL_LANES, weight > 0.0f);
        const u32 passed = __ballot_sync(ALL_LANES, weight > 0.0f && before + sum > target);
        if (positive) last = base + (WARP - 1 - __clz(positive));
        if (passed) {
            token = base + __ffs(passed) - 1;
            break;
        }
        before += __shfl_sync(ALL_LANES, sum, WARP - 1);
    }
    // Rounding may leave the target behind the last of the tile.
    if (token == NOT_FINITE) token = last;
    if (lane != 0) return;
    const bool finite = isfinite(whole) && whole >= 1.0 && token != NOT_FINITE;
    reinterpret_cast<u32*>(p.ids)[row] = finite ? token : 0;
    reinterpret_cast<u32*>(p.tokens)[(u64)row * p.chunk + step] = finite ? token : NOT_FINITE;
    reinterpret_cast<float*>(p.logps)[(u64)row * p.chunk + step] =
        finite ? (logits[token] - top) * p.inverse_temperature - (float)log(whole) : 0.0f;
}

// ---- Book-keeping --------------------------------------------------------------------------------------------------

struct Advance {
    u64 slot;  // u32
    u64 step;  // u32
};

struct FillCache {
    u64 to;    // T (rows, key heads, capacity, head)
    u64 from;  // T (prompts, key heads, from_capacity, head)
    u64 of;    // u32 (rows): prompt of each row
    u32 key_heads;
    u32 capacity;
    u32 from_capacity;
    u32 head;
    u32 slots;  // slots that are copied
    u32 padding;
};

// Copies the start of each row's cache from its prompt's. Grid: rows, key heads.
template <typename T> __device__ void fill_cache(FillCache p) {
    const u32 prompt = reinterpret_cast<const u32*>(p.of)[blockIdx.x];
    T* to = reinterpret_cast<T*>(p.to) + ((u64)blockIdx.x * p.key_heads + blockIdx.y) * p.capacity * p.head;
    const T* from =
        reinterpret_cast<const T*>(p.from) + ((u64)prompt * p.key_heads + blockIdx.y) * p.from_capacity * p.head;
    for (u64 i = threadIdx.x; i < (u64)p.slots * p.head; i += blockDim.x) to[i] = from[i];
}

struct MoveRows {
    u64 cache;  // T (rows, key heads, capacity, head)
    u64 from;   // u32 (moves)
    u64 to;     // u32 (moves): none of them in `from`
    u32 key_heads;
    u32 capacity;
    u32 head;
    u32 slots;
};

// Copies rows of a cache over rows that nobody needs. Grid: moves, key heads.
template <typename T> __device__ void move_rows(MoveRows p) {
    const u32 from_row = reinterpret_cast<const u32*>(p.from)[blockIdx.x];
    const u32 to_row = reinterpret_cast<const u32*>(p.to)[blockIdx.x];
    T* cache = reinterpret_cast<T*>(p.cache);
    const T* from = cache + ((u64)from_row * p.key_heads + blockIdx.y) * p.capacity * p.head;
    T* to = cache + ((u64)to_row * p.key_heads + blockIdx.y) * p.capacity * p.head;
    for (u64 i = threadIdx.x; i < (u64)p.slots * p.head; i += blockDim.x) to[i] = from[i];
}

// ---- Optimiser -----------------------------------------------------------------------------------------------------

// Neighbouring numbers of one variable, all f32.
struct Piece {
    u64 value;
    u64 gradient;
    u64 mean;    // of gradients, decaying
    u64 square;  // of squared gradients, decaying
    u32 count;
    float keep;  // what weight decay leaves of the value
};

struct SquareSums {
    u64 sums;    // f64 (pieces)
    u64 pieces;  // Piece (pieces)
};

// Sum of squares of each piece's gradient. Grid: pieces; THREADS threads.
extern "C" __global__ void square_sums(SquareSums p) {
    __shared__ double shared[THREADS];
    const Piece piece = reinterpret_cast<const Piece*>(p.pieces)[blockIdx.x];
    const float* gradient = reinterpret_cast<const float*>(piece.gradient);
    double sum = 0.0;
    for (u32 i = threadIdx.x; i < piece.count; i += blockDim.x) sum += (double)gradient[i] * gradient[i];
    shared[threadIdx.x] = sum;
    for (u32 half = blockDim.x / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) shared[threadIdx.x] += shared[threadIdx.x + half];
    }
    if (threadIdx.x == 0) reinterpret_cast<double*>(p.sums)[blockIdx.x] = shared[0];
}

struct AdamW {
    u64 pieces;  // Piece (pieces)
    float scale;  // of gradients
    float beta1;
    float beta2;
    float rate;          // learning rate / (1 - beta1^t)
    float inverse_root;  // 1 / sqrt(1 - beta2^t)
    float epsilon;
};

// One step of all variables at once (Loshchilov and Hutter 2019, algorithm 2). Grid: pieces; THREADS threads.
extern "C" __global__ void adamw(AdamW p) {
    const Piece piece = reinterpret_cast<const Piece*>(p.pieces)[blockIdx.x];
    float* value = reinterpret_cast<float*>(piece.value);
    float* mean = reinterpret_cast<float*>(piece.mean);
    float* square = reinterpret_cast<float*>(piece.square);
    const float* gradient = reinterpret_cast<const float*>(piece.gradient);
    for (u32 i = threadIdx.x; i < piece.count; i += blockDim.x) {
        const float g = gradient[i] * p.scale;
        const float m = p.beta1 * mean[i] + (1.0f - p.beta1) * g;
        const float v = p.beta2 * square[i] + (1.0f - p.beta2) * g * g;
        mean[i] = m;
        square[i] = v;
        value[i] = piece.keep * value[i] - p.rate * m / (sqrtf(v) * p.inverse_root + p.epsilon);
    }
}

// ---- Names -----------------------------------------------------------------------------------------------------------

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
KERNEL(silu_mul, SiluMul)
KERNEL(fill_cache, FillCache)
KERNEL(move_rows, MoveRows)

extern "C" __global__ void sample(Sample params) { sample_row(params); }

// The next step reads and writes one slot further. One thread.
extern "C" __global__ void advance(Advance p) {
    *reinterpret_cast<u32*>(p.slot) += 1;
    *reinterpret_cast<u32*>(p.step) += 1;
}
