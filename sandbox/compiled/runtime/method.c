// Methods.

INLINE Sequence *the_list(Value value) {
  if (kind_of(value) != LIST)
    give_up(NOT_MODELLED);
  return sequence(value);
}

INLINE Dict *the_dict(Value value) {
  if (kind_of(value) != DICT)
    give_up(NOT_MODELLED);
  return dict_of(value);
}

INLINE Dict *the_set(Value value) {
  if (kind_of(value) != SET)
    give_up(NOT_MODELLED);
  return dict_of(value);
}

INLINE Sequence *the_text(Value value) {
  if (kind_of(value) != STRING)
    give_up(NOT_MODELLED);
  return sequence(value);
}

EXPORT(method_append) Value method_append(Value list, Value value) {
  the_list(list);
  py_append(list, value);
  return NONE;
}

EXPORT(method_add) Value method_add(Value set, Value value) {
  the_set(set);
  py_set_add(set, value);
  return NONE;
}

EXPORT(method_pop) Value method_pop(Value list) {
  Sequence *from = the_list(list);
  if (!from->length)
    give_up(BAD_INDEX);
  return items(from)[--from->length];
}

EXPORT(method_pop_at) Value method_pop_at(Value from, Value at) {
  if (kind_of(from) == LIST)
    return take_item(sequence(from), position(sequence(from), at));
  Value value;
  if (!take_out(the_dict(from), at, &value))
    give_up(NO_KEY);
  return value;
}

EXPORT(method_pop_default) Value method_pop_default(Value dict, Value key, Value otherwise) {
  Value value;
  return take_out(the_dict(dict), key, &value) ? value : otherwise;
}

EXPORT(method_extend) Value method_extend(Value list, Value iterable) {
  the_list(list);
  py_add_in_place(list, iterable);
  return NONE;
}

EXPORT(method_insert) Value method_insert(Value list, Value before, Value value) {
  Sequence *into = the_list(list);
  int64_t at = to_size(before);
  if (at < 0)
    at += into->length;
  at = at < 0 ? 0 : at > into->length ? into->length : at;
  charge((uint64_t)(into->length - at) * PUSHED_GAS);
  py_append(list, value);
  memmove(items(into) + at + 1, items(into) + at, (into->length - 1 - at) * 8);
  items(into)[at] = value;
  rewritten((uint32_t)into);
  return NONE;
}

// The index of the first item that equals a value; -1 if none does.
static int64_t find_item(Sequence *in, Value value) {
  for (uint32_t index = 0; index < in->length; index++) {
    charge(SOUGHT_GAS);
    if (equal_items(items(in)[index], value, 0))
      return index;
  }
  return -1;
}

EXPORT(method_remove) Value method_remove(Value from, Value value) {
  if (kind_of(from) == LIST) {
    int64_t at = find_item(sequence(from), value);
    if (at < 0)
      give_up(BAD_VALUE);
    take_item(sequence(from), at);
  } else if (!take_out(the_set(from), value, 0)) {
    give_up(NO_KEY);
  }
  return NONE;
}

EXPORT(method_discard) Value method_discard(Value set, Value value) {
  take_out(the_set(set), value, 0);
  return NONE;
}

EXPORT(method_reverse) Value method_reverse(Value list) {
  Sequence *of = the_list(list);
  charge((uint64_t)of->length * TURNED_GAS);
  for (uint32_t low = 0, high = of->length; low + 1 < high; low++) {
    high--;
    Value kept = items(of)[low];
    items(of)[low] = items(of)[high];
    items(of)[high] = kept;
  }
  rewritten((uint32_t)of);
  return NONE;
}

EXPORT(method_copy) Value method_copy(Value of) {
  switch (kind_of(of)) {
  case LIST:
    return copy_row(of);
  case DICT:
  case SET:
    return copy_dict(of);
  }
  give_up(NOT_MODELLED);
}

EXPORT(method_clear) Value method_clear(Value of) {
  uint32_t kind = kind_of(of);
  if (kind == LIST) {
    sequence(of)->length = 0;
    return NONE;
  }
  if (kind != DICT && kind != SET)
    give_up(NOT_MODELLED);
  Dict *dict = dict_of(of);
  charge(dict->mask);
  dict->length = dict->used = 0;
  dict->version++;
  memset(index_of(dict), 0, (dict->mask + 1) * 4);
  return NONE;
}

EXPORT(method_count) Value method_count(Value in, Value value) {
  uint32_t count = 0;
  if (is_row(kind_of(in))) {
    Sequence *row = sequence(in);
    for (uint32_t index = 0; index < row->length; index++) {
      charge(items(row)[index] == value ? SAME_GAS : SOUGHT_GAS);
      count += equal_items(items(row)[index], value, 0);
    }
    return integer(count);
  }
  Sequence *of = the_text(in), *what = the_text(value);
  if (what->length != 1)
    give_up(NOT_MODELLED);
  charge(COUNT_TEXT_GAS + (uint64_t)of->length * COUNTED_GAS);
  for (uint32_t index = 0; index < of->length; index++)
    count += text(of)[index] == *text(what);
  return integer(count);
}

EXPORT(method_index) Value method_index(Value in, Value value) {
  int64_t at = is_row(kind_of(in)) ? find_item(sequence(in), value) : find_text(the_text(in), the_text(value));
  if (at < 0)
    give_up(BAD_VALUE);
  return integer(at);
}

EXPORT(method_find) Value method_find(Value in, Value what) { return integer(find_text(the_text(in), the_text(what))); }

EXPORT(method_get) Value method_get(Value dict, Value key, Value otherwise) {
  Entry *entry = find(the_dict(dict), key, hash(key));
  return entry ? entry->value : otherwise;
}

EXPORT(method_set_default) Value method_set_default(Value dict, Value key, Value otherwise) {
  uint32_t with = hash(key);
  Entry *entry = find(the_dict(dict), key, with);
  if (entry)
    return entry->value;
  put(dict_of(dict), key, otherwise, with);
  return otherwise;
}

EXPORT(method_update) Value method_update(Value dict, Value other) {
  the_dict(dict);
  Dict *from = the_dict(other);
  charge((uint64_t)from->used * UPDATED_GAS);
  for (uint32_t number = 0; number < from->used; number++) {
    Entry *entry = entries(from) + number;
    if (entry->key != UNBOUND)
      place(dict_of(dict), entry->key, entry->value, entry->hash);
  }
  return NONE;
}

static Value view(Value dict, uint32_t way) {
  the_dict(dict);
  View *made = (View *)allocate(sizeof(View));
  made->kind = VIEW;
  made->way = way;
  made->dict = dict;
  return pointer((uint32_t)made);
}

EXPORT(method_keys) Value method_keys(Value dict) { return view(dict, KEYS); }
EXPORT(method_values) Value method_values(Value dict) { return view(dict, VALUES); }
EXPORT(method_items) Value method_items(Value dict) { return view(dict, PAIRS); }

// `separator.join(list)`: a list that was made for it.
EXPORT(method_join) Value method_join(Value separator, Value list) {
  Sequence *between = the_text(separator), *parts = the_list(list);
  uint64_t length = 0;
  for (uint32_t index = 0; index < parts->length; index++)
    length += the_text(items(parts)[index])->length + (index ? between->length : 0);
  charge((uint64_t)parts->length * JOINED_GAS + length * COPIED_GAS);
  if (parts->length == 1)
    return items(parts)[0];
  if (length > state.limit)
    give_up(NO_MEMORY);
  if (!length)
    return pointer((uint32_t)&empty_string);
  Value made = make_string(length);
  char *to = text(sequence(made));
  for (uint32_t index = 0; index < parts->length; index++) {
    if (index) {
      memcpy(to, text(between), between->length);
      to += between->length;
    }
    Sequence *part = sequence(items(parts)[index]);
    memcpy(to, text(part), part->length);
    to += part->length;
  }
  return length == 1 ? character(*text(sequence(made))) : made;
}

static Value change_case(Value of, char first, char last) {
  Sequence *from = the_text(of);
  charge((uint64_t)from->length * CHANGED_GAS);
  if (!from->length)
    return of;
  Value made = make_string(from->length);
  char *to = text(sequence(made));
  for (uint32_t index = 0; index < from->length; index++) {
    char letter = text(from)[index];
    to[index] = letter >= first && letter <= last ? letter ^ 32 : letter;
  }
  return from->length == 1 ? character(*to) : made;
}

EXPORT(method_upper) Value method_upper(Value of) { return change_case(of, 'a', 'z'); }
EXPORT(method_lower) Value method_lower(Value of) { return change_case(of, 'A', 'Z'); }

// The text of an integer, at the end of a buffer of 24 characters.
static Value integer_text(int64_t number) {
  char buffer[24], *start = buffer + sizeof(buffer);
  uint64_t left = number < 0 ? -(uint64_t)number : number;
  do {
    *--start = '0' + left % 10;
    left /= 10;
  } while (left);
  if (number < 0)
    *--start = '-';
  charge(WRITE_GAS);
  return make_text(start, buffer + sizeof(buffer) - start);
}

EXPORT(py_to_string) Value py_to_string(Value value) {
  if (is_integer(value))
    return integer_text((int64_t)value >> 1);
  if (value == TRUE)
    return make_text("True", 4);
  if (value == FALSE)
    return make_text("False", 5);
  if (value == NONE)
    return make_text("None", 4);
  if (kind_of(value) != STRING)
    give_up(NOT_MODELLED);
  return value;
}

// Most characters that print a number, a range or brackets, with what follows; and a character of a text within quotes.
#define PRINTED_ITEM 64
#define PRINTED_CHARACTER 4

// Gives up if printing a value might raise: it nests deep, perhaps for ever.
static void check_printable(Value value, int nesting) {
  if (nesting > NESTING_MAX)
    give_up(TOO_DEEP);
  charge(PRINT_GAS);
  state.printed += PRINTED_ITEM;
  uint32_t kind = kind_of(value);
  if (kind == STRING) {
    charge((uint64_t)sequence(value)->length * CHANGED_GAS);
    state.printed += (uint64_t)sequence(value)->length * PRINTED_CHARACTER;
  }
  if (kind == VIEW)
    check_printable(((View *)address(value))->dict, nesting);
  if (is_row(kind))
    for (uint32_t index = 0; index < sequence(value)->length; index++)
      check_printable(items(sequence(value))[index], nesting + 1);
  if (kind == DICT || kind == SET)
    for (uint32_t number = 0; number < dict_of(value)->used; number++) {
      check_printable(entries(dict_of(value))[number].key, nesting + 1);
      check_printable(entries(dict_of(value))[number].value, nesting + 1);
    }
}

// CPython makes a text of all of it, which has to fit there.
EXPORT(py_check_printable) void py_check_printable(Value value) {
  state.printed = 0;
  check_printable(value, 0);
  expect_room(state.printed);
}
