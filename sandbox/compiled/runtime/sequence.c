// Subscripts, slices, length, membership.

static int64_t find_character(Sequence *in, char what) {
  for (uint32_t index = 0; index < in->length; index++) {
    charge(SCANNED_GAS);
    if (text(in)[index] == what)
      return index;
  }
  return -1;
}

// A set of characters by their last five bits, as large as a word is where CPython runs.
INLINE uint32_t bit_of(char of) { return 1u << (of & 31); }

// Looks where CPython looks, since a text may be compared in all places or in a few: it compares last characters first,
// and goes past a character that is nowhere in what it looks for. In long texts it has another search, by two parts of
// what it looks for.
static int64_t find_text(Sequence *in, Sequence *what) {
  uint32_t length = what->length;
  if (length > in->length)
    return -1;
  if (length < 2)
    return length ? find_character(in, *text(what)) : 0;
  if (length >= 6 && in->length >= (length < 100 ? 30000 : 2500))
    give_up(NOT_MODELLED);
  charge((uint64_t)length * SOUGHT_CHARACTER_GAS);
  char last = text(what)[length - 1];
  uint32_t characters = bit_of(last), gap = length - 1;
  for (uint32_t index = 0; index < length - 1; index++) {
    characters |= bit_of(text(what)[index]);
    if (text(what)[index] == last)
      gap = length - 2 - index;
  }
  for (uint32_t from = 0; from + length <= in->length; from++) {
    charge(SEARCHED_GAS);
    uint32_t end = from + length, same = 0;
    int is_last = text(in)[end - 1] == last;
    if (is_last) {
      while (same < length - 1 && text(in)[from + same] == text(what)[same])
        same++;
      charge(CANDIDATE_GAS + (uint64_t)same * MATCHED_GAS);
      if (same == length - 1)
        return from;
    }
    if (end < in->length && !(characters & bit_of(text(in)[end])))
      from = end;
    else if (is_last)
      from += gap;
  }
  return -1;
}

static int range_contains(Range *range, int64_t number) {
  charge(IN_RANGE_GAS);
  int upwards = range->step > 0;
  if (upwards ? number < range->start || number >= range->stop : number > range->start || number <= range->stop)
    return 0;
  charge(RANGE_REST_GAS);
  return upwards ? (number - range->start) % range->step == 0 : (range->start - number) % -range->step == 0;
}

// Whether a value is in a set of constants, which lie in a tuple. Like CPython it compares only what has the same hash;
// constants keep theirs.
EXPORT(py_among) int32_t py_among(Value members, Value value) {
  charge(FIND_GAS / 2);
  uint32_t with = hash(value);
  Sequence *in = sequence(members);
  for (uint32_t index = 0; index < in->length; index++) {
    Value member = items(in)[index];
    if (hash(member) == with && equal_items(member, value, 0))
      return 1;
  }
  return 0;
}

EXPORT(py_contains) int32_t py_contains(Value container, Value value) {
  Sequence *in = sequence(container);
  switch (kind_of(container)) {
  case STRING:
    if (kind_of(value) != STRING)
      give_up(BAD_TYPE);
    charge(CONTAINS_TEXT_GAS);
    return find_text(in, sequence(value)) >= 0;
  case LIST:
  case TUPLE:
    for (uint32_t index = 0; index < in->length; index++) {
      charge(SOUGHT_GAS);
      if (equal_items(items(in)[index], value, 0))
        return 1;
    }
    return 0;
  case DICT:
  case SET:
    charge(FIND_GAS / 2);
    return find((Dict *)in, value, hash(value)) != 0;
  case RANGE: {
    int64_t number;
    if (!as_integer(value, &number))
      give_up(NOT_MODELLED);
    return range_contains((Range *)in, number);
  }
  }
  give_up(NOT_MODELLED);
}

// An index from the front, within bounds.
static uint32_t position(Sequence *in, Value index) {
  int64_t at = to_integer(index);
  if (at < 0) {
    charge(FROM_END_GAS);
    at += in->length;
  }
  if ((uint64_t)at >= in->length)
    give_up(BAD_INDEX);
  return at;
}

static Value range_item(Range *range, int64_t index) {
  int64_t length = range_length(range);
  charge(RANGE_ITEM_GAS);
  if (index < 0) {
    charge(FROM_END_GAS);
    index += length;
  }
  if (index < 0 || index >= length)
    give_up(BAD_INDEX);
  return integer(range->start + index * range->step);
}

EXPORT(py_get_item_or_end) Value py_get_item_or_end(Value container, Value key) {
  Sequence *in = sequence(container);
  switch (kind_of(container)) {
  case LIST:
  case TUPLE:
    return items(in)[position(in, key)];
  case DICT: {
    charge(FIND_GAS);
    Entry *entry = find((Dict *)in, key, hash(key));
    return entry ? entry->value : END;
  }
  case STRING:
    return character(text(in)[position(in, key)]);
  case RANGE:
    return range_item((Range *)in, to_integer(key));
  }
  give_up(BAD_TYPE);
}

EXPORT(py_get_item) Value py_get_item(Value container, Value key) {
  Value item = py_get_item_or_end(container, key);
  if (item == END)
    give_up(NO_KEY);
  return item;
}

EXPORT(py_set_item) void py_set_item(Value container, Value key, Value value) {
  uint32_t kind = kind_of(container);
  if (kind == DICT) {
    put(dict_of(container), key, value, hash(key));
    return;
  }
  if (kind != LIST)
    give_up(BAD_TYPE);
  Sequence *in = sequence(container);
  Value *place = items(in) + position(in, key);
  *place = value;
  stored((uint32_t)in, place, value);
}

// Takes an item out of a list.
static Value take_item(Sequence *from, uint32_t at) {
  Value taken = items(from)[at];
  from->length--;
  charge(TAKE_GAS + (uint64_t)(from->length - at) * MOVED_GAS);
  if (at < from->length) {
    memmove(items(from) + at, items(from) + at + 1, (from->length - at) * 8);
    rewritten((uint32_t)from);
  }
  return taken;
}

EXPORT(py_delete_item) void py_delete_item(Value container, Value key) {
  uint32_t kind = kind_of(container);
  if (kind == DICT) {
    if (!take_out(dict_of(container), key, 0))
      give_up(NO_KEY);
    return;
  }
  if (kind != LIST)
    give_up(BAD_TYPE);
  take_item(sequence(container), position(sequence(container), key));
}

// A bound of a slice, between the lowest and highest index that it may be.
static int64_t bound(Value given, int64_t otherwise, int64_t length, int64_t lowest, int64_t highest) {
  if (given == NONE)
    return otherwise;
  int64_t at = to_integer(given);
  if (at < 0)
    at += length;
  return at < lowest ? lowest : at > highest ? highest : at;
}

#define STEP_MAX (1 << 30)

EXPORT(py_slice) Value py_slice(Value container, Value lower, Value upper, Value by) {
  uint32_t kind = kind_of(container);
  if (!is_row(kind) && kind != STRING)
    give_up(BAD_TYPE);
  Sequence *from = sequence(container);
  int64_t length = from->length, step = by == NONE ? 1 : to_integer(by);
  if (!step)
    give_up(BAD_VALUE);
  if (step > STEP_MAX || step < -STEP_MAX)
    give_up(NOT_MODELLED);
  int64_t lowest = step < 0 ? -1 : 0, highest = step < 0 ? length - 1 : length;
  int64_t start = bound(lower, step < 0 ? highest : lowest, length, lowest, highest);
  int64_t stop = bound(upper, step < 0 ? lowest : highest, length, lowest, highest);
  int64_t distance = step > 0 ? stop - start : start - stop;
  int64_t count = distance <= 0 ? 0 : step == 1 || step == -1 ? distance : (distance - 1) / (step > 0 ? step : -step) + 1;
  if (count == length && step == 1 && kind != LIST)
    return container;
  charge((uint64_t)count * (kind == STRING ? COPIED_GAS : ITEM_GAS));
  if (kind == STRING) {
    if (count < 2)
      return count ? character(text(from)[start]) : pointer((uint32_t)&empty_string);
    Value made = make_string(count);
    if (step == 1)
      memcpy(text(sequence(made)), text(from) + start, count);
    else
      for (int64_t index = 0; index < count; index++, start += step)
        text(sequence(made))[index] = text(from)[start];
    return made;
  }
  Value made = kind == LIST ? py_list(count, count) : py_tuple(count);
  Value *to = items(sequence(made)), *end = to + count, *next = items(from) + start;
  for (; to < end; to++, next += step)
    *to = *next;
  return made;
}

EXPORT(py_length) Value py_length(Value container) {
  switch (kind_of(container)) {
  case LIST:
  case TUPLE:
  case STRING:
  case DICT:
  case SET:
    return integer(sequence(container)->length);
  case VIEW:
    return integer(dict_of(((View *)address(container))->dict)->length);
  case RANGE: {
    int64_t length = range_length((Range *)address(container));
    if (length > SIZE_MAX_32)
      give_up(OVERFLOW);
    return integer(length);
  }
  }
  give_up(BAD_TYPE);
}
