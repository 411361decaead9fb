// Iterators, and containers made of what they give.

// What an iterator goes through, and how.
enum { ITEMS, LETTERS, KEYS, VALUES, PAIRS, NUMBERS, ZIPPED, ENUMERATED, BACKWARDS };

// Where an iterator over a list stands that has met its end.
#define PAST_END (1ll << 40)

static Iterator *make_iterator(uint32_t way, Value source) {
  Iterator *made = (Iterator *)allocate(sizeof(Iterator));
  made->kind = ITERATOR;
  made->way = way;
  made->source = source;
  made->position = made->left = made->step = 0;
  made->nesting = made->version = 0;
  return made;
}

static Value iterate_dict(uint32_t way, Value dict) {
  Iterator *made = make_iterator(way, dict);
  made->version = dict_of(dict)->version;
  return pointer((uint32_t)made);
}

static Value iterate_range(Value range, int64_t from, int64_t step) {
  Iterator *made = make_iterator(NUMBERS, range);
  made->position = from;
  made->left = range_length((Range *)address(range));
  made->step = step;
  return pointer((uint32_t)made);
}

EXPORT(py_iterator) Value py_iterator(Value iterable) {
  switch (kind_of(iterable)) {
  case LIST:
  case TUPLE:
    return pointer((uint32_t)make_iterator(ITEMS, iterable));
  case STRING:
    return pointer((uint32_t)make_iterator(LETTERS, iterable));
  case DICT:
    charge(ITERATOR_GAS);
    return iterate_dict(KEYS, iterable);
  case VIEW:
    charge(ITERATOR_GAS);
    return iterate_dict(((View *)address(iterable))->way, ((View *)address(iterable))->dict);
  case RANGE:
    return iterate_range(iterable, ((Range *)address(iterable))->start, ((Range *)address(iterable))->step);
  case ITERATOR:
    return iterable;
  case SET:
    // The order of CPython's sets is its own.
    if (dict_of(iterable)->length > 1)
      give_up(NOT_MODELLED);
    return iterate_dict(KEYS, iterable);
  }
  give_up(BAD_TYPE);
}

static Value pair(Value one, Value two) {
  Value made = py_tuple(2);
  items(sequence(made))[0] = one;
  items(sequence(made))[1] = two;
  return made;
}

static Value next_entry(Iterator *iterator) {
  Dict *dict = dict_of(iterator->source);
  if (dict->version != iterator->version)
    give_up(CHANGED);
  while (iterator->position < dict->used && entries(dict)[iterator->position].key == UNBOUND) {
    charge(STEP_GAS);
    iterator->position++;
  }
  if (iterator->position >= dict->used)
    return END;
  Entry *entry = entries(dict) + iterator->position++;
  if (iterator->way == KEYS) {
    charge(NEXT_KEY_GAS);
    return entry->key;
  }
  if (iterator->way == VALUES) {
    charge(NEXT_VALUE_GAS);
    return entry->value;
  }
  charge(NEXT_PAIR_GAS);
  return pair(entry->key, entry->value);
}

EXPORT(py_next) Value py_next(Value from);

static Value next_zipped(Iterator *iterator) {
  Sequence *inner = sequence(iterator->source);
  if (!inner->length)
    return END;
  charge(NEXT_ROW_GAS + (uint64_t)inner->length * NEXT_ROW_ITEM_GAS);
  Value made = py_tuple(inner->length);
  for (uint32_t index = 0; index < inner->length; index++) {
    Value item = py_next(items(inner)[index]);
    if (item == END)
      return END;
    items(sequence(made))[index] = item;
  }
  return made;
}

static Value next_backwards(Iterator *iterator) {
  Sequence *from = sequence(iterator->source);
  if (iterator->position < 0 || iterator->position >= from->length) {
    iterator->position = -1;
    return END;
  }
  uint32_t at = iterator->position--;
  return from->kind == STRING ? character(text(from)[at]) : items(from)[at];
}

static Value next_number(Iterator *iterator) {
  if (iterator->left <= 0)
    return END;
  iterator->left--;
  if (iterator->position > READY_MAX || iterator->position < -READY_MAX)
    charge(NEXT_LARGE_GAS);
  Value number = integer(iterator->position);
  iterator->position += iterator->step;
  return number;
}

// What follows in an iterator over anything but a list, a tuple or a range.
COLD static Value next_of_others(Iterator *iterator) {
  Sequence *source = sequence(iterator->source);
  switch (iterator->way) {
  case LETTERS:
    charge(NEXT_LETTER_GAS);
    return iterator->position < source->length ? character(text(source)[iterator->position++]) : END;
  case KEYS:
  case VALUES:
  case PAIRS:
    return next_entry(iterator);
  case ZIPPED:
    return next_zipped(iterator);
  case ENUMERATED: {
    charge(NEXT_NUMBERED_GAS);
    Value item = py_next(iterator->source);
    return item == END ? END : pair(integer(iterator->position++), item);
  }
  case BACKWARDS:
    return next_backwards(iterator);
  }
  give_up(NOT_MODELLED);
}

Value py_next(Value from) {
  Iterator *iterator = (Iterator *)address(from);
  if (iterator->way == NUMBERS)
    return next_number(iterator);
  if (iterator->way != ITEMS)
    return next_of_others(iterator);
  Sequence *source = sequence(iterator->source);
  if (iterator->position < source->length)
    return items(source)[iterator->position++];
  iterator->position = PAST_END;
  return END;
}

// How deep iterators may hold one another.
#define CHAIN_MAX 20

// An iterator for another to hold.
static Value hold(Iterator *holder, Value iterable) {
  Value iterator = py_iterator(iterable);
  uint32_t nesting = ((Iterator *)address(iterator))->nesting + 1;
  if (nesting > CHAIN_MAX)
    give_up(TOO_DEEP);
  if (nesting > holder->nesting)
    holder->nesting = nesting;
  return iterator;
}

// Ends a program that puts a range into a list which is too long to tell its length.
EXPORT(py_check_range) void py_check_range(Value start, Value stop, int64_t step) {
  Range range = {RANGE, 0, (int64_t)start >> 1, (int64_t)stop >> 1, step};
  if (range_length(&range) > SIZE_MAX_32)
    give_up(OVERFLOW);
}

// An iterator over what is put into a list, which CPython first asks how long it is: a range may be too long to tell.
static Value iterate_into_list(Value iterable) {
  Value iterator = py_iterator(iterable);
  Iterator *made = (Iterator *)address(iterator);
  if (made->way == NUMBERS && made->left > SIZE_MAX_32)
    give_up(OVERFLOW);
  return iterator;
}

EXPORT(py_to_list) Value py_to_list(Value iterable) {
  if (is_row(kind_of(iterable)))
    return copy_row(iterable);
  charge(DRAIN_GAS);
  Value made = py_list(0, 4), iterator = iterate_into_list(iterable), item;
  while ((item = py_next(iterator)) != END) {
    charge(DRAINED_GAS);
    py_append(made, item);
  }
  return made;
}

EXPORT(py_zip) Value py_zip(Value iterables) {
  if (!is_row(kind_of(iterables)))
    iterables = py_to_list(iterables);
  uint32_t count = sequence(iterables)->length;
  charge((uint64_t)count * ZIPPED_GAS);
  Value inner = py_tuple(count);
  Iterator *made = make_iterator(ZIPPED, inner);
  for (uint32_t index = 0; index < count; index++)
    items(sequence(inner))[index] = hold(made, items(sequence(iterables))[index]);
  return pointer((uint32_t)made);
}

// The shortest of rows that are all lists or tuples (or all tuples); -1 if some are not, or there are none.
static int64_t shortest(Sequence *rows, int lists_too) {
  int64_t width = -1;
  for (uint32_t index = 0; index < rows->length; index++) {
    uint32_t kind = kind_of(items(rows)[index]);
    if (kind != TUPLE && !(lists_too && kind == LIST))
      return -1;
    uint32_t length = sequence(items(rows)[index])->length;
    if (width < 0 || length < width)
      width = length;
  }
  return width;
}

static Value columns(Sequence *rows, uint32_t width) {
  charge(rows->length * ZIPPED_GAS + (uint64_t)width * (NEXT_ROW_GAS + rows->length * NEXT_ROW_ITEM_GAS));
  Value made = py_list(width, width), *to = items(sequence(made)), *from = items(rows);
  uint32_t height = rows->length;
  for (uint32_t column = 0; column < width; column++) {
    Value tuple = to[column] = py_tuple(height), *place = items(sequence(tuple));
    for (uint32_t row = 0; row < height; row++)
      place[row] = items(sequence(from[row]))[column];
  }
  return made;
}

// `zip(*rows)` at once, where nothing can change the rows before it is used up; an iterator where they are others.
EXPORT(py_transpose) Value py_transpose(Value rows) {
  int64_t width = is_row(kind_of(rows)) ? shortest(sequence(rows), 1) : -1;
  return width < 0 ? py_zip(rows) : columns(sequence(rows), width);
}

// The same where something might: only tuples never change.
EXPORT(py_zip_now) Value py_zip_now(Value rows) {
  int64_t width = is_row(kind_of(rows)) ? shortest(sequence(rows), 0) : -1;
  return width < 0 ? py_zip(rows) : columns(sequence(rows), width);
}

EXPORT(py_enumerate) Value py_enumerate(Value iterable, Value start) {
  Iterator *made = make_iterator(ENUMERATED, NONE);
  made->source = hold(made, iterable);
  made->position = to_size(start);
  return pointer((uint32_t)made);
}

EXPORT(py_reversed) Value py_reversed(Value iterable) {
  switch (kind_of(iterable)) {
  case LIST:
  case TUPLE:
  case STRING: {
    Iterator *made = make_iterator(BACKWARDS, iterable);
    made->position = (int64_t)sequence(iterable)->length - 1;
    return pointer((uint32_t)made);
  }
  case RANGE: {
    Range *range = (Range *)address(iterable);
    return iterate_range(iterable, range->start + (range_length(range) - 1) * range->step, -range->step);
  }
  }
  give_up(NOT_MODELLED);
}

EXPORT(py_to_tuple) Value py_to_tuple(Value iterable) {
  if (kind_of(iterable) == TUPLE)
    return iterable;
  if (kind_of(iterable) != LIST)
    iterable = py_to_list(iterable);
  Sequence *from = sequence(iterable);
  charge((uint64_t)from->length * ITEM_GAS);
  Value made = py_tuple(from->length);
  memcpy(items(sequence(made)), items(from), from->length * 8);
  return made;
}

EXPORT(py_to_set) Value py_to_set(Value iterable) {
  if (kind_of(iterable) == SET)
    return copy_dict(iterable);
  Value made = py_set(0), iterator = py_iterator(iterable), item;
  while ((item = py_next(iterator)) != END) {
    charge(MOVED_GAS);
    py_set_add(made, item);
  }
  return made;
}

EXPORT(py_to_dict) Value py_to_dict(Value iterable) {
  if (kind_of(iterable) == DICT)
    return copy_dict(iterable);
  Value made = py_dict(0), iterator = py_iterator(iterable), item;
  while ((item = py_next(iterator)) != END) {
    charge(DRAINED_GAS);
    if (!is_row(kind_of(item)) || sequence(item)->length != 2)
      give_up(NOT_MODELLED);
    py_dict_set(made, items(sequence(item))[0], items(sequence(item))[1]);
  }
  return made;
}

// Where the items of an iterable of so many lie.
EXPORT(py_unpack) uint32_t py_unpack(Value iterable, uint32_t count) {
  if (!is_row(kind_of(iterable)))
    iterable = py_to_list(iterable);
  if (sequence(iterable)->length != count)
    give_up(BAD_VALUE);
  return sequence(iterable)->items;
}

// `list += iterable`, which sees what it appends.
EXPORT(py_add_in_place) Value py_add_in_place(Value one, Value two) {
  if (kind_of(one) != LIST)
    return py_add(one, two);
  if (one == two)
    two = copy_row(two);
  if (is_row(kind_of(two))) {
    uint32_t count = sequence(two)->length;
    charge(EXTEND_GAS + (uint64_t)count * ITEM_GAS);
    for (uint32_t index = 0; index < count; index++)
      py_append(one, items(sequence(two))[index]);
    return one;
  }
  charge(DRAIN_GAS);
  Value iterator = iterate_into_list(two), item;
  while ((item = py_next(iterator)) != END) {
    charge(DRAINED_GAS);
    py_append(one, item);
  }
  return one;
}

// `list *= count`, in place.
EXPORT(py_multiply_in_place) Value py_multiply_in_place(Value one, Value two) {
  if (kind_of(one) != LIST)
    return py_multiply(one, two);
  Sequence *list = sequence(one), *repeated = sequence(repeat(one, two));
  list->length = repeated->length;
  list->extra = repeated->extra;
  list->items = repeated->items;
  rewritten((uint32_t)list);
  return one;
}
