// Attention of one token per sequence over the key-value cache.

#pragma once

#include "common.cuh"

#define ATTEND_THREADS 128
// Query heads of one key head that a block serves.
#define GROUP 8
#define LARGEST_HEAD 256
// Numbers from the scores of one slot to those of the next: a slot's are read 16 bytes at a time, and neighbouring slots
// of one query lie in more banks than with GROUP.
#define SCORES (GROUP + 4)
// Slots of values, and pieces of a key, that a thread asks for before it uses the first: alone, every load would be waited
// for as long as the memory takes to answer.
#define VALUES_AHEAD 8
#define KEYS_AHEAD 4

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

// Scores of this block's queries over the slots `from..from + ATTEND_THREADS`, one thread per slot.
template <typename T>
__device__ __forceinline__ void score_slots(
    float (*scores)[SCORES], const float (*query)[LARGEST_HEAD], const T* key, u32 head, bool seen) {
    float sums[GROUP];
#pragma unroll
    for (int g = 0; g < GROUP; g++) sums[g] = 0.0f;
    if (seen) {
        for (u32 first = 0; first < head; first += 8 * KEYS_AHEAD) {
            Eight<T> pieces[KEYS_AHEAD];
#pragma unroll
            for (u32 ahead = 0; ahead < KEYS_AHEAD; ahead++)
                if (first + 8 * ahead < head) read8(pieces[ahead], key + first + 8 * ahead);
#pragma unroll
            for (u32 ahead = 0; ahead < KEYS_AHEAD; ahead++) {
                const u32 i = first + 8 * ahead;
                if (i >= head) break;
                float k[8];
                widen8(k, pieces[ahead]);
#pragma unroll
                for (int g = 0; g < GROUP; g++) {
#pragma unroll
                    for (int j = 0; j < 8; j++) sums[g] += query[g][i + j] * k[j];
                }
            }
        }
    }
#pragma unroll
    for (int g = 0; g < GROUP; g++) scores[threadIdx.x][g] = seen ? sums[g] : -INFINITY;
}

// Queries, scaled; zeros beyond those that are served and beyond the head.
template <typename T>
__device__ __forceinline__ void read_queries(
    float (*query)[LARGEST_HEAD], const T* queries, u32 served, u32 head, float scale) {
    constexpr u32 AHEAD = 8, PARTS = LARGEST_HEAD / ATTEND_THREADS;
    for (u32 first = 0; first < GROUP * PARTS; first += AHEAD) {
        float values[AHEAD];
#pragma unroll
        for (u32 j = 0; j < AHEAD; j++) {
            const u32 g = (first + j) / PARTS, d = (first + j) % PARTS * ATTEND_THREADS + threadIdx.x;
            values[j] = g < served && d < head ? widen(queries[g * head + d]) * scale : 0.0f;
        }
#pragma unroll
        for (u32 j = 0; j < AHEAD; j++)
            query[(first + j) / PARTS][(first + j) % PARTS * ATTEND_THREADS + threadIdx.x] = values[j];
    }
}

__device__ __forceinline__ void add_slot(float (&mixed)[GROUP], const float (&weights)[SCORES], float value) {
#pragma unroll
    for (int g = 0; g < GROUP; g++) mixed[g] += weights[g] * value;
}

// Adds to `mixed` the values of one dimension over the slots `begin`, `begin + step`, .. below `end`, in this order, by the
// weights of each query. `weights` are those of the slot `tile` on.
template <typename T>
__device__ __forceinline__ void mix_slots(
    float (&mixed)[GROUP], const float (*weights)[SCORES], const T* values, u32 head, u32 tile, u32 begin, u32 end,
    u32 step) {
    for (u32 s = begin; s < end; s += VALUES_AHEAD * step) {
        T ahead[VALUES_AHEAD];
#pragma unroll
        for (u32 j = 0; j < VALUES_AHEAD; j++)
            if (s + j * step < end) ahead[j] = values[(u64)(s + j * step) * head];
#pragma unroll
        for (u32 j = 0; j < VALUES_AHEAD; j++)
            if (s + j * step < end) add_slot(mixed, weights[s + j * step - tile], widen(ahead[j]));
    }
}

// Attention over one split of the slots (Dao et al. 2023, "Flash-Decoding"). Grid: rows * key heads, splits, groups of
// GROUP query heads; ATTEND_THREADS threads.
template <typename T> __device__ void attend(Attend p) {
    __shared__ float query[GROUP][LARGEST_HEAD];
    __shared__ float scores[ATTEND_THREADS][SCORES];
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
    read_queries(query, queries, served, p.head, p.scale);
    if (thread < GROUP) {
        top[thread] = -INFINITY;
        total[thread] = 0.0f;
    }
    // Values: one thread per dimension. Heads wider than the block have two dimensions per thread; for narrow heads
    // several copies fit side by side and share the slots among them.
    const u32 copies = max(ATTEND_THREADS / p.head, 1u), copy = p.head < ATTEND_THREADS ? thread / p.head : 0;
    const u32 column = p.head < ATTEND_THREADS ? thread % p.head : thread;
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
        // One warp per query: largest score so far, weights, and the factor by which older sums shrink.
        for (u32 g = thread / WARP; g < GROUP; g += ATTEND_THREADS / WARP) {
            float highest = -INFINITY;
            for (u32 i = thread % WARP; i < ATTEND_THREADS; i += WARP) highest = fmaxf(highest, scores[i][g]);
            highest = fmaxf(warp_max(highest), top[g]);
            float sum = 0.0f;
            for (u32 i = thread % WARP; i < ATTEND_THREADS; i += WARP) {
                const float weight = highest == -INFINITY ? 0.0f : expf(scores[i][g] - highest);
                scores[i][g] = weight;
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
            const u32 d = part * ATTEND_THREADS + column;
            if (d >= p.head || copy >= copies) break;
#pragma unroll
            for (int g = 0; g < GROUP; g++) mixed[part][g] *= shrink[g];
            mix_slots(mixed[part], scores, values + d, p.head, tile, begin_slot + copy, end_slot, copies);
        }
        __syncthreads();
    }
    // The queries are not needed any more: their memory takes the copies' sums, one row per copy.
    if (copies > 1) {
        float(*sums)[LARGEST_HEAD] = query;
        for (u32 g = 0; g < served; g++) {
            float mine = 0.0f;
#pragma unroll
            for (int i = 0; i < GROUP; i++) mine = i == (int)g ? mixed[0][i] : mine;
            __syncthreads();
            sums[0][thread] = copy < copies ? mine : 0.0f;
            __syncthreads();
            float sum = 0.0f;
            for (u32 other = 0; other < copies; other++) sum += sums[0][other * p.head + column];
#pragma unroll
            for (int i = 0; i < GROUP; i++) mixed[0][i] = i == (int)g ? sum : mixed[0][i];
        }
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

// Combines the splits of each query. Grid: rows * queries; ATTEND_THREADS threads.
template <typename T> __device__ void combine(Attend p) {
    const u32 splits = (p.capacity + p.split - 1) / p.split;
    const u64 stride = p.head + 2;
    const float* partial = reinterpret_cast<const float*>(p.partial) + (u64)blockIdx.x * splits * stride;
    T* out = reinterpret_cast<T*>(p.mixed) + (u64)blockIdx.x * p.head;
    float top = -INFINITY, total = 0.0f;
    for (u32 s = 0; s < splits; s++) top = fmaxf(top, partial[s * stride + p.head]);
    for (u32 s = 0; s < splits; s++)
        total += expf(partial[s * stride + p.head] - top) * partial[s * stride + p.head + 1];
    for (u32 d = threadIdx.x; d < p.head; d += blockDim.x) {
        float sum = 0.0f;
        for (u32 s = 0; s < splits; s++) sum += expf(partial[s * stride + p.head] - top) * partial[s * stride + d];
        narrow(&out[d], sum / total);
    }
}
