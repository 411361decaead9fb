// The state of the runtime, gas, allocation, and what was written to old objects.

// These three are globals of WebAssembly, out of reach of everything that is written to memory.
__attribute__((address_space(1))) int64_t gas_left;
__attribute__((address_space(1))) int32_t depth;
__attribute__((address_space(1))) int32_t reason;

static struct {
  // Next free byte of the nursery, and how far it is paid for.
  uint32_t top, paid;
  // How far memory was ever used, and how far it reaches.
  uint32_t touched, size;
  // Bytes that values may have, old and new.
  uint32_t limit;
  // Bytes of this call that CPython may have and that were not made here. They count as values.
  uint64_t unmade;
  // Most characters of what is being printed.
  uint64_t printed;
  // Where old objects begin and end.
  uint32_t old_start, old_end;
  // Variables at the top level.
  uint32_t roots, root_count;
  // Places in old objects that were written to.
  uint32_t log;
  // Where the text ends that was last joined from others, and how far it may grow.
  uint32_t joined, joined_max;
  uint32_t random_position, is_seeded;
  uint64_t seed;
} state;

// Values of a call begin here, old objects end.
#define NURSERY (18u << 20)

#define PAGE 65536u

COLD _Noreturn static void give_up(uint32_t why) {
  reason = why;
  __builtin_trap();
}

INLINE void charge(uint64_t fuel) {
  gas_left -= fuel;
  if (UNLIKELY(gas_left < 0))
    give_up(NO_GAS);
}

INLINE uint32_t address(Value value) { return (uint32_t)value + 7; }
INLINE Value pointer(uint32_t address) { return (Value)(uint32_t)(address - 7); }
INLINE int is_integer(Value value) { return !(value & 1); }
INLINE int is_pointer(Value value) { return (value & 7) == 1; }
INLINE Sequence *sequence(Value value) { return (Sequence *)address(value); }
INLINE Dict *dict_of(Value value) { return (Dict *)address(value); }
INLINE Value *items(Sequence *of) { return (Value *)of->items; }
INLINE char *text(Sequence *of) { return (char *)of->items; }
INLINE uint32_t kind_of(Value value) { return is_pointer(value) ? sequence(value)->kind : NO_OBJECT; }
INLINE int is_row(uint32_t kind) { return kind == LIST || kind == TUPLE; }

// Bytes that count if the nursery is in use up to an address.
INLINE uint64_t counted(uint64_t top) { return top - NURSERY + (state.old_end - state.old_start) + state.unmade; }

// Gives up where so many bytes more would not fit, which CPython makes and nobody here.
static void expect_room(uint64_t bytes) {
  if (counted(state.top) + bytes > state.limit)
    give_up(NO_MEMORY);
}

// Pays for the nursery up to an address, and has memory reach so far.
COLD static void extend(uint64_t needed) {
  if (counted(needed) > state.limit)
    give_up(NO_MEMORY);
  uint32_t pages = (needed - state.paid + PAGE - 1) / PAGE;
  charge((uint64_t)pages * PAGE_GAS);
  state.paid += pages * PAGE;
  if (state.paid <= state.touched)
    return;
  charge((uint64_t)(state.paid - state.touched) / PAGE * FRESH_PAGE_GAS);
  state.touched = state.paid;
  if (state.paid > state.size) {
    if (__builtin_wasm_memory_grow(0, (state.paid - state.size) / PAGE) == -1ul)
      give_up(NO_MEMORY);
    state.size = state.paid;
  }
}

INLINE uint32_t allocate(uint32_t bytes) {
  uint32_t at = state.top;
  uint64_t end = (uint64_t)at + ((bytes + 7) & ~7u);
  if (UNLIKELY(end > state.paid))
    extend(end);
  state.top = end;
  return at;
}

// A block of items, with its kind and length in front.
INLINE uint32_t allocate_buffer(uint32_t bytes) {
  uint32_t at = allocate(bytes + 8);
  ((uint32_t *)at)[0] = BUFFER;
  ((uint32_t *)at)[1] = (bytes + 7) & ~7u;
  return at + 8;
}

INLINE int is_young(uint32_t address) { return address >= NURSERY; }

// A page of the log: the one before it, how many entries it has, the entries.
#define LOG_ENTRIES 254
typedef struct {
  uint32_t before, length, entries[LOG_ENTRIES];
} Log;

COLD static void note(uint32_t entry) {
  Log *log = (Log *)state.log;
  if (!log || log->length == LOG_ENTRIES) {
    Log *next = (Log *)allocate(sizeof(Log));
    next->before = state.log;
    next->length = 0;
    state.log = (uint32_t)next;
    log = next;
  }
  if (!log->length || log->entries[log->length - 1] != entry)
    log->entries[log->length++] = entry;
}

// After a value was stored in an object: notes it if something old now points to something young.
INLINE void stored(uint32_t object, Value *place, Value value) {
  if (!is_young(object) && is_pointer(value) && is_young(address(value)))
    note((uint32_t)place);
}

// After many values were stored in an object, or moved within it.
INLINE void rewritten(uint32_t object) {
  if (!is_young(object))
    note(object | 1);
}
