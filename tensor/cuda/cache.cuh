// Copies rows of the key-value cache.

#pragma once

#include "vectors.cuh"

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

// Copies the start of each row's cache from that of its prompt. Grid: rows, key heads.
template <typename T> __device__ void fill_cache(FillCache p) {
    const u32 prompt = reinterpret_cast<const u32*>(p.of)[blockIdx.x];
    T* to = reinterpret_cast<T*>(p.to) + ((u64)blockIdx.x * p.key_heads + blockIdx.y) * p.capacity * p.head;
    const T* from =
        reinterpret_cast<const T*>(p.from) + ((u64)prompt * p.key_heads + blockIdx.y) * p.from_capacity * p.head;
    copy_numbers(to, from, (u64)p.slots * p.head);
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

// Copies rows of a cache over rows that have ended. Grid: moves, key heads.
template <typename T> __device__ void move_rows(MoveRows p) {
    const u32 from_row = reinterpret_cast<const u32*>(p.from)[blockIdx.x];
    const u32 to_row = reinterpret_cast<const u32*>(p.to)[blockIdx.x];
    T* cache = reinterpret_cast<T*>(p.cache);
    const T* from = cache + ((u64)from_row * p.key_heads + blockIdx.y) * p.capacity * p.head;
    T* to = cache + ((u64)to_row * p.key_heads + blockIdx.y) * p.capacity * p.head;
    copy_numbers(to, from, (u64)p.slots * p.head);
}
