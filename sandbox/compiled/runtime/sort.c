// Sorting as CPython's `list.sort` does it: runs that are there already, short ones filled up by insertion, and merges of
// neighbours, in leaps where one of them gives many items at once. So it compares about as often, and each comparison is paid for. Which pairs are
// compared is another matter, but whatever two values cannot be compared stand side by side in the end, and there both
// compare them.

// Shorter lists are sorted by insertion; others are cut in runs of half as many at least.
#define RUN 64
#define RUNS_MAX 40

// Items that one run gives before the others of it are sought by leaps.
#define STREAK 7

// Keys and the values that move with them, and room for as many.
typedef struct {
  Value *keys, *values, *spare_keys, *spare_values;
  int reversed;
} Columns;

typedef struct {
  uint32_t start, length;
} Run;

INLINE int comes_before(Columns *columns, Value one, Value two) {
  charge(SORTED_GAS);
  return columns->reversed ? py_less(two, one) : py_less(one, two);
}

INLINE void move_column(Value *to, Value *from, uint32_t count) { memmove(to, from, count * sizeof(Value)); }

static void turn_around(Value *values, uint32_t count) {
  for (uint32_t low = 0, high = count; low + 1 < high; low++) {
    high--;
    Value kept = values[low];
    values[low] = values[high];
    values[high] = kept;
  }
}

// Whether one of the sorted keys stays before another: that one goes `after` its equals, or before them.
INLINE int stays_before(Columns *columns, Value known, Value key, int after) {
  return after ? !comes_before(columns, key, known) : comes_before(columns, known, key);
}

// Where a key belongs among those from `low` to `high`.
static uint32_t place_of(Columns *columns, Value *keys, Value key, uint32_t low, uint32_t high, int after) {
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (stays_before(columns, keys[middle], key, after))
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

// The same where that is near the first of them.
static uint32_t near_place_of(Columns *columns, Value *keys, Value key, uint32_t low, uint32_t high, int after) {
  uint32_t step = 1;
  for (; low + step <= high && stays_before(columns, keys[low + step - 1], key, after); step *= 2)
    low += step;
  return place_of(columns, keys, key, low, low + step <= high ? low + step - 1 : high, after);
}

// The length of the run that begins here, once it ascends.
static uint32_t count_run(Columns *columns, uint32_t start, uint32_t end) {
  Value *keys = columns->keys;
  uint32_t next = start + 1;
  if (next >= end)
    return end - start;
  int descends = comes_before(columns, keys[next], keys[next - 1]);
  for (next++; next < end && comes_before(columns, keys[next], keys[next - 1]) == descends; next++)
    ;
  if (descends) {
    turn_around(keys + start, next - start);
    turn_around(columns->values + start, next - start);
  }
  return next - start;
}

// Inserts what follows the first so many of a run.
static void insert(Columns *columns, uint32_t start, uint32_t sorted, uint32_t end) {
  for (uint32_t next = start + sorted; next < end; next++) {
    Value key = columns->keys[next], value = columns->values[next];
    uint32_t place = place_of(columns, columns->keys, key, start, next, 1);
    charge((uint64_t)(next - place) * MOVED_GAS);
    move_column(columns->keys + place + 1, columns->keys + place, next - place);
    move_column(columns->values + place + 1, columns->values + place, next - place);
    columns->keys[place] = key;
    columns->values[place] = value;
  }
}

// Merges two runs that stand side by side.
static void merge(Columns *columns, Run left, Run right) {
  Value *keys = columns->keys, *values = columns->values;
  uint32_t end = right.start + right.length;
  // What is in its place already.
  left.start = place_of(columns, keys, keys[right.start], left.start, right.start, 1);
  if (left.start == right.start)
    return;
  end = place_of(columns, keys, keys[right.start - 1], right.start, end, 0);
  uint32_t count = right.start - left.start, taken = 0, next = right.start, to = left.start, streak = 0, given;
  Value *left_keys = columns->spare_keys, *left_values = columns->spare_values;
  move_column(left_keys, keys + left.start, count);
  move_column(left_values, values + left.start, count);
  for (int was_right = 0; taken < count; to += given) {
    int from_right = next < end && comes_before(columns, keys[next], left_keys[taken]);
    streak = from_right == was_right ? streak + 1 : 1;
    was_right = from_right;
    given = 1;
    if (next == end)
      given = count - taken;
    else if (streak >= STREAK && from_right)
      given = near_place_of(columns, keys, left_keys[taken], next, end, 0) - next;
    else if (streak >= STREAK)
      given = near_place_of(columns, left_keys, keys[next], taken, count, 1) - taken;
    Value *key = from_right ? keys + next : left_keys + taken;
    Value *value = from_right ? values + next : left_values + taken;
    keys[to] = *key;
    values[to] = *value;
    if (given > 1) {
      move_column(keys + to, key, given);
      move_column(values + to, value, given);
    }
    *(from_right ? &next : &taken) += given;
  }
}

// Merges the last runs until each is longer than the two after it together, or all of them.
static uint32_t collapse(Columns *columns, Run *runs, uint32_t count, int all) {
  while (count > 1) {
    uint32_t last = count - 1, at = last - 1;
    if (at > 0 && runs[at - 1].length <= runs[at].length + runs[last].length) {
      if (runs[at - 1].length < runs[last].length)
        at--;
    } else if (!all && runs[at].length > runs[last].length) {
      break;
    }
    merge(columns, runs[at], runs[at + 1]);
    runs[at].length += runs[at + 1].length;
    for (uint32_t next = at + 1; next < last; next++)
      runs[next] = runs[next + 1];
    count--;
  }
  return count;
}

static void sort_columns(Columns *columns, uint32_t length) {
  uint32_t least = length, odd = 0, count = 0;
  for (; least >= RUN; least >>= 1)
    odd |= least & 1;
  least += odd;
  Run runs[RUNS_MAX];
  for (uint32_t start = 0; start < length;) {
    uint32_t sorted = count_run(columns, start, length), end = start + sorted;
    if (sorted < least) {
      end = length - start < least ? length : start + least;
      insert(columns, start, sorted, end);
    }
    runs[count++] = (Run){start, end - start};
    start = end;
    count = collapse(columns, runs, count, 0);
  }
  collapse(columns, runs, count, 1);
}

// Sorts a list by keys in another, or by its values.
EXPORT(py_sort) void py_sort(Value list, Value keys, int32_t reversed) {
  Sequence *of = sequence(list);
  uint32_t spare = allocate_buffer(of->length * 24);
  Value *by = keys == NONE ? (Value *)spare + 2 * of->length : items(sequence(keys));
  if (keys == NONE)
    move_column(by, items(of), of->length);
  Columns columns = {by, items(of), (Value *)spare, (Value *)spare + of->length, reversed};
  sort_columns(&columns, of->length);
  rewritten((uint32_t)of);
}

// While a list is sorted by keys it is empty, for whoever looks, and lies nowhere, so that whatever stores in it has to
// find it a place. Gives its items as another list.
EXPORT(py_sort_take) Value py_sort_take(Value list) {
  Sequence *of = the_list(list);
  Value taken = copy_row(list);
  of->length = of->items = of->extra = 0;
  return taken;
}

// Gives them back, sorted. CPython raises if something was stored meanwhile, even if the list is empty again.
EXPORT(py_sort_give) void py_sort_give(Value list, Value sorted) {
  Sequence *of = sequence(list), *from = sequence(sorted);
  if (of->items)
    give_up(CHANGED);
  of->items = from->items;
  of->length = from->length;
  of->extra = from->extra;
  rewritten((uint32_t)of);
}

EXPORT(py_check_list) Value py_check_list(Value value) { return pointer((uint32_t)the_list(value)); }
