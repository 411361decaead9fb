// Values and objects, as `src/layout.rs` has them too.
//
// A value is 64 bits. An even one is an integer, twice as large. An odd one is a constant (its last three bits are 011)
// or the address of an object less 7 (they are 001). Objects lie in linear memory and begin with their kind.
//
// Whatever CPython would answer with an exception, and whatever is not modelled, ends in give_up(): a trap, after which
// the program is run again in the interpreter. So no function here returns an error.

#include <stdint.h>

typedef uint64_t Value;

#define EXPORT(name) __attribute__((export_name(#name)))
#define COLD __attribute__((noinline))
#define INLINE static inline __attribute__((always_inline))
#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)

enum {
  NO_OBJECT = 0,
  LIST = 1,
  TUPLE = 2,
  STRING = 3,
  FLOAT = 4,
  DICT = 5,
  SET = 6,
  FUNCTION = 7,
  CELL = 8,
  RANGE = 9,
  ITERATOR = 10,
  BUFFER = 11,
  FORWARDED = 12,
  SUM = 13,
  VIEW = 14,
};

#define NONE 3ull
#define FALSE 11ull
#define TRUE 19ull
#define UNBOUND 27ull
#define END 35ull

// Lists, tuples and strings. `extra` is the capacity of a list, the hash of others once it is known.
typedef struct {
  uint32_t kind, length, items, extra;
} Sequence;

typedef struct {
  uint32_t kind, unused;
  double value;
} Float;

typedef struct {
  uint32_t kind, unused;
  Value value;
} Cell;

// Dicts and sets. Entries lie in the order in which they came; the index has their numbers, from 1, by hash.
typedef struct {
  uint32_t kind, length, entries, used, capacity, index, mask, version;
} Dict;

typedef struct {
  Value key, value;
  uint32_t hash, unused;
} Entry;

typedef struct {
  uint32_t kind, cell_count, function, parameter_count;
  Value defaults;
  Value cells[];
} Closure;

typedef struct {
  uint32_t kind, unused;
  int64_t start, stop, step;
} Range;

typedef struct {
  uint32_t kind, way;
  Value source;
  int64_t position, left, step;
  // How many iterators it holds in one another; how often its dict had changed.
  uint32_t nesting, version;
} Iterator;

// A sum of floats: what was added, and what was lost on the way.
typedef struct {
  uint32_t kind, unused;
  double high, low;
} Sum;

typedef struct {
  uint32_t kind, way;
  Value dict;
} View;

// Why a program was given up. The host has words for them.
enum {
  BAD_TYPE = 1,
  OVERFLOW,
  BAD_INDEX,
  NO_KEY,
  NOT_BOUND,
  BAD_VALUE,
  ZERO_DIVISION,
  NO_MEMORY,
  NO_GAS,
  TOO_DEEP,
  NOT_MODELLED,
  DOES_NOT_CROSS,
  NOT_A_NUMBER,
  CHANGED,
};

// How deep values are compared, hashed and printed.
#define NESTING_MAX 40

// Lengths and indices of CPython, where it runs on 32 bits.
#define SIZE_MAX_32 0x7fffffffll

void *memcpy(void *, const void *, unsigned long);
void *memmove(void *, const void *, unsigned long);
void *memset(void *, int, unsigned long);
int memcmp(const void *, const void *, unsigned long);
double fmod(double, double);
double floor(double);
double ceil(double);
double pow(double, double);
double log(double);
double log2(double);
int ilogb(double);
