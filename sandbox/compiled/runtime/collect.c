// Collection, between calls: no value lives outside the variables at the top level then, so what survives is what old
// places that were written to point to. It moves down to the old objects, once, and the nursery begins anew.
//
// Old objects are never freed. A program that keeps more than fits is given up.

static uint32_t size_of(Sequence *object) {
  switch (object->kind) {
  case LIST:
  case FLOAT:
  case CELL:
  case VIEW:
    return 16;
  case TUPLE:
    return sizeof(Sequence) + object->length * 8;
  case STRING:
    return sizeof(Sequence) + object->length;
  case DICT:
  case SET:
    return sizeof(Dict);
  case FUNCTION:
    return sizeof(Closure) + 8 * ((Closure *)object)->cell_count;
  case RANGE:
    return sizeof(Range);
  case ITERATOR:
    return sizeof(Iterator);
  case BUFFER:
    return 8 + object->length;
  case SUM:
    return sizeof(Sum);
  }
  give_up(NOT_MODELLED);
}

static uint32_t keep(uint32_t from, uint32_t bytes) {
  bytes = (bytes + 7) & ~7u;
  uint32_t at = state.old_end;
  if (at + bytes > NURSERY || at + bytes - state.old_start > state.limit)
    give_up(NO_MEMORY);
  charge(40 + (uint64_t)bytes * COPIED_GAS);
  state.old_end = at + bytes;
  memcpy((void *)at, (void *)from, bytes);
  return at;
}

static Value moved(Value value) {
  if (!is_pointer(value) || !is_young(address(value)))
    return value;
  Sequence *object = sequence(value);
  // Of one that has moved, the second word is where to.
  if (object->kind == FORWARDED)
    return pointer(object->length);
  int is_apart = object->kind == STRING && object->items != (uint32_t)object + sizeof(Sequence);
  Sequence *copy = (Sequence *)keep((uint32_t)object, is_apart ? sizeof(Sequence) : size_of(object));
  if (is_apart)
    keep(object->items, object->length);
  if (copy->kind == TUPLE || copy->kind == STRING)
    copy->items = (uint32_t)copy + sizeof(Sequence);
  object->kind = FORWARDED;
  object->length = (uint32_t)copy;
  return pointer((uint32_t)copy);
}

static uint32_t moved_buffer(uint32_t buffer) {
  return is_young(buffer) ? keep(buffer - 8, ((uint32_t *)buffer)[-1] + 8) + 8 : buffer;
}

static void move_all(Value *values, uint32_t count) {
  charge((uint64_t)count * 2);
  for (uint32_t index = 0; index < count; index++)
    values[index] = moved(values[index]);
}

// Moves what an old object points to.
static void scan(Sequence *object) {
  switch (object->kind) {
  case LIST:
    object->items = moved_buffer(object->items);
    move_all(items(object), object->length);
    break;
  case TUPLE:
    move_all(items(object), object->length);
    break;
  case CELL:
    move_all(&((Cell *)object)->value, 1);
    break;
  case DICT:
  case SET: {
    Dict *dict = (Dict *)object;
    dict->entries = moved_buffer(dict->entries);
    dict->index = moved_buffer(dict->index);
    charge((uint64_t)dict->used * 4);
    for (uint32_t number = 0; number < dict->used; number++) {
      entries(dict)[number].key = moved(entries(dict)[number].key);
      entries(dict)[number].value = moved(entries(dict)[number].value);
    }
    break;
  }
  case FUNCTION: {
    Closure *closure = (Closure *)object;
    closure->defaults = moved(closure->defaults);
    move_all(closure->cells, closure->cell_count);
    break;
  }
  case ITERATOR:
    move_all(&((Iterator *)object)->source, 1);
    break;
  case VIEW:
    move_all(&((View *)object)->dict, 1);
    break;
  }
}

static void move_logged(void) {
  for (Log *log = (Log *)state.log; log; log = (Log *)log->before) {
    charge((uint64_t)log->length * 10);
    for (uint32_t index = 0; index < log->length; index++) {
      uint32_t entry = log->entries[index];
      if (entry & 1)
        scan((Sequence *)(entry & ~1u));
      else
        *(Value *)entry = moved(*(Value *)entry);
    }
  }
}

EXPORT(end_call) void end_call(void) {
  uint32_t next = state.old_end;
  move_all((Value *)state.roots, state.root_count);
  move_logged();
  // What was moved points to more.
  while (next < state.old_end) {
    Sequence *object = (Sequence *)next;
    next += (size_of(object) + 7) & ~7u;
    scan(object);
  }
  // The first page was paid for when it was used for the first time.
  state.top = NURSERY;
  state.paid = state.touched < NURSERY + PAGE ? state.touched : NURSERY + PAGE;
  state.log = 0;
  state.joined = state.joined_max = 0;
  state.unmade = 0;
}

// What a call has made, before it ends, and what of that CPython may make alone.
EXPORT(bytes_made) uint64_t bytes_made(void) { return state.top - NURSERY + state.unmade; }
EXPORT(bytes_unmade) uint64_t bytes_unmade(void) { return state.unmade; }

// Before a call: the host has written values up to here.
EXPORT(begin_call) void begin_call(uint32_t top) {
  depth = 0;
  state.top = top;
  if (top > state.paid)
    extend(top);
}

// Before the program is loaded. `heap` is where its own data end, `limit` how many bytes its values may have.
EXPORT(prepare) void prepare(uint32_t heap, uint32_t roots, uint32_t root_count, uint32_t limit, uint64_t seed) {
  for (uint32_t code = 0; code < 128; code++) {
    Sequence *string = &characters[code].string;
    *string = (Sequence){STRING, 1, (uint32_t)characters[code].text, 0};
    *characters[code].text = code;
  }
  empty_string = (Sequence){STRING, 0, (uint32_t)&empty_string, 0};
  empty_tuple = (Sequence){TUPLE, 0, (uint32_t)&empty_tuple, 0};
  state.roots = roots;
  state.root_count = root_count;
  state.limit = limit;
  state.old_start = state.old_end = heap;
  state.top = state.paid = state.touched = NURSERY;
  state.size = __builtin_wasm_memory_size(0) * PAGE;
  state.seed = seed;
  for (uint32_t slot = 0; slot < root_count; slot++)
    ((Value *)roots)[slot] = UNBOUND;
}

EXPORT(character_strings) uint32_t character_strings(void) { return (uint32_t)characters; }
EXPORT(nursery_start) uint32_t nursery_start(void) { return NURSERY; }
