// Objects as they are made.

// One string for every character, and the empty ones.
typedef struct {
  Sequence string;
  char text[8];
} Character;
static Character characters[128] __attribute__((aligned(8)));
static Sequence empty_string __attribute__((aligned(8)));
static Sequence empty_tuple __attribute__((aligned(8)));

#define INTEGER_MAX ((1ll << 62) - 1)

INLINE Value integer(int64_t number) {
  if (UNLIKELY(number > INTEGER_MAX || number < -INTEGER_MAX))
    give_up(OVERFLOW);
  return (Value)number << 1;
}

INLINE Value boolean(int condition) { return condition ? TRUE : FALSE; }

// The number that an integer or bool is; whether it is one.
INLINE int as_integer(Value value, int64_t *number) {
  if (is_integer(value))
    *number = (int64_t)value >> 1;
  else if (value == TRUE || value == FALSE)
    *number = value == TRUE;
  else
    return 0;
  return 1;
}

INLINE int64_t to_integer(Value value) {
  int64_t number;
  if (!as_integer(value, &number))
    give_up(BAD_TYPE);
  return number;
}

// A number that CPython takes for a length or an index.
INLINE int64_t to_size(Value value) {
  int64_t number = to_integer(value);
  if (number > SIZE_MAX_32 || number < -SIZE_MAX_32 - 1)
    give_up(OVERFLOW);
  return number;
}

// A float. One that is not a number is left to the interpreter: it does not equal itself.
static Value make_float(double number) {
  if (number != number)
    give_up(NOT_A_NUMBER);
  Float *made = (Float *)allocate(sizeof(Float));
  made->kind = FLOAT;
  made->unused = 0;
  made->value = number;
  return pointer((uint32_t)made);
}

INLINE double float_of(Value value) { return ((Float *)address(value))->value; }

EXPORT(py_list) Value py_list(uint32_t length, uint32_t capacity) {
  Sequence *made = (Sequence *)allocate(sizeof(Sequence));
  made->kind = LIST;
  made->length = length;
  made->extra = capacity;
  made->items = allocate_buffer(capacity * 8);
  return pointer((uint32_t)made);
}

EXPORT(py_tuple) Value py_tuple(uint32_t length) {
  if (!length)
    return pointer((uint32_t)&empty_tuple);
  uint32_t at = allocate(sizeof(Sequence) + length * 8);
  Sequence *made = (Sequence *)at;
  made->kind = TUPLE;
  made->length = length;
  made->items = at + sizeof(Sequence);
  made->extra = 0;
  return pointer(at);
}

// A string of two characters or more; others are there already.
static Value make_string(uint32_t length) {
  uint32_t at = allocate(sizeof(Sequence) + length);
  Sequence *made = (Sequence *)at;
  made->kind = STRING;
  made->length = length;
  made->items = at + sizeof(Sequence);
  made->extra = 0;
  return pointer(at);
}

INLINE Value character(char code) { return pointer((uint32_t)&characters[code & 127]); }

// A string of these characters.
static Value make_text(const char *from, uint32_t length) {
  if (length == 0)
    return pointer((uint32_t)&empty_string);
  if (length == 1)
    return character(*from);
  charge((uint64_t)length * COPIED_GAS);
  Value made = make_string(length);
  memcpy(text(sequence(made)), from, length);
  return made;
}

// A text that begins with another and lies in the same place, if that was the last to be joined: so CPython too lets
// `text += more` grow in place.
static Value extended_text(Sequence *left, Sequence *right) {
  charge(JOIN_TEXTS_GAS + (uint64_t)right->length * COPIED_GAS);
  // A text that something else has too, such as a list, stays and is copied there; nobody knows here what has it.
  state.unmade += left->length;
  expect_room(0);
  memcpy((void *)state.joined, text(right), right->length);
  state.joined += right->length;
  Sequence *made = (Sequence *)allocate(sizeof(Sequence));
  *made = (Sequence){STRING, left->length + right->length, left->items, 0};
  return pointer((uint32_t)made);
}

static Value joined_texts(Sequence *left, Sequence *right) {
  uint32_t length = left->length + right->length;
  if (left->items + left->length == state.joined && right->length <= state.joined_max - state.joined)
    return extended_text(left, right);
  charge(JOIN_TEXTS_GAS + (uint64_t)length * COPIED_GAS);
  // Short ones have no room to grow.
  uint32_t room = length < 32 ? 0 : length;
  uint32_t at = allocate(sizeof(Sequence) + length + room);
  Sequence *made = (Sequence *)at;
  *made = (Sequence){STRING, length, at + sizeof(Sequence), 0};
  memcpy(text(made), text(left), left->length);
  memcpy(text(made) + left->length, text(right), right->length);
  if (room) {
    state.joined = made->items + length;
    state.joined_max = state.joined + room;
  }
  return pointer(at);
}

EXPORT(py_cell) Value py_cell(Value value) {
  Cell *made = (Cell *)allocate(sizeof(Cell));
  made->kind = CELL;
  made->unused = 0;
  made->value = value;
  return pointer((uint32_t)made);
}

EXPORT(py_cell_set) void py_cell_set(Value cell, Value value) {
  Cell *of = (Cell *)address(cell);
  of->value = value;
  stored((uint32_t)of, &of->value, value);
}

EXPORT(py_function)
Value py_function(uint32_t function, uint32_t parameter_count, Value defaults, uint32_t cell_count) {
  Closure *made = (Closure *)allocate(sizeof(Closure) + 8 * cell_count);
  made->kind = FUNCTION;
  made->cell_count = cell_count;
  made->function = function;
  made->parameter_count = parameter_count;
  made->defaults = defaults;
  return pointer((uint32_t)made);
}

EXPORT(py_range) Value py_range(Value start, Value stop, Value step) {
  Range *made = (Range *)allocate(sizeof(Range));
  made->kind = RANGE;
  made->unused = 0;
  made->start = to_integer(start);
  made->stop = to_integer(stop);
  made->step = to_integer(step);
  if (!made->step)
    give_up(BAD_VALUE);
  return pointer((uint32_t)made);
}

static int64_t range_length(Range *range) {
  int64_t up = range->step > 0;
  int64_t distance = up ? range->stop - range->start : range->start - range->stop;
  int64_t step = up ? range->step : -range->step;
  return distance > 0 ? (distance - 1) / step + 1 : 0;
}

EXPORT(py_append) void py_append(Value list, Value value) {
  Sequence *of = sequence(list);
  if (UNLIKELY(of->length == of->extra)) {
    uint32_t capacity = of->extra < 4 ? 4 : of->extra * 2;
    if (of->items + of->extra * 8 == state.top && is_young(of->items)) {
      // The last thing in memory: it grows where it is.
      allocate((capacity - of->extra) * 8);
      ((uint32_t *)of->items)[-1] = capacity * 8;
    } else {
      charge((uint64_t)of->length * COPIED_GAS);
      uint32_t moved = allocate_buffer(capacity * 8);
      memcpy((void *)moved, items(of), of->length * 8);
      of->items = moved;
      rewritten((uint32_t)of);
    }
    of->extra = capacity;
  }
  Value *place = items(of) + of->length++;
  *place = value;
  stored((uint32_t)of, place, value);
}

// A fresh list of the items of a list or tuple.
static Value copy_row(Value row) {
  Sequence *from = sequence(row);
  charge((uint64_t)from->length * ITEM_GAS);
  Value made = py_list(from->length, from->length);
  memcpy(items(sequence(made)), items(from), from->length * 8);
  return made;
}
