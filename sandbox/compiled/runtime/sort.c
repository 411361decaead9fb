// Sorting: merges of neighbours, equal ones in the order in which they were. CPython compares other pairs, but whatever
// two values cannot be compared stand side by side in the end, and there both compare them.

// Shorter runs are sorted by insertion.
#define RUN 8

// Keys and the values that move with them, and room for as many.
typedef struct {
  Value *keys, *values, *spare_keys, *spare_values;
} Columns;

INLINE int comes_before(Value one, Value two, int reversed) { return reversed ? py_less(two, one) : py_less(one, two); }

static void insert_sorted(Columns columns, uint32_t count, int reversed) {
  charge(count * count / 2);
  for (uint32_t next = 1; next < count; next++) {
    Value key = columns.keys[next], value = columns.values[next];
    uint32_t place = next;
    for (; place > 0 && comes_before(key, columns.keys[place - 1], reversed); place--) {
      columns.keys[place] = columns.keys[place - 1];
      columns.values[place] = columns.values[place - 1];
    }
    columns.keys[place] = key;
    columns.values[place] = value;
  }
}

static void merge_sorted(Columns columns, uint32_t count, int reversed) {
  if (count < RUN) {
    insert_sorted(columns, count, reversed);
    return;
  }
  uint32_t half = count / 2, left = 0, right = half;
  Columns upper = {columns.keys + half, columns.values + half, columns.spare_keys, columns.spare_values};
  merge_sorted(columns, half, reversed);
  merge_sorted(upper, count - half, reversed);
  charge(count * 2);
  for (uint32_t place = 0; place < count; place++) {
    int from_right = left == half || (right < count && comes_before(columns.keys[right], columns.keys[left], reversed));
    uint32_t from = from_right ? right++ : left++;
    columns.spare_keys[place] = columns.keys[from];
    columns.spare_values[place] = columns.values[from];
  }
  memcpy(columns.keys, columns.spare_keys, count * 8);
  memcpy(columns.values, columns.spare_values, count * 8);
}

// Sorts a list by keys in another, or by its values.
EXPORT(py_sort) void py_sort(Value list, Value keys, int32_t reversed) {
  Sequence *of = sequence(list);
  Value by = keys == NONE ? copy_row(list) : keys;
  uint32_t spare = allocate_buffer(of->length * 16);
  Columns columns = {items(sequence(by)), items(of), (Value *)spare, (Value *)spare + of->length};
  merge_sorted(columns, of->length, reversed);
  rewritten((uint32_t)of);
}

// While a list is sorted by keys it is empty, for whoever looks. Gives its items as another list.
EXPORT(py_sort_take) Value py_sort_take(Value list) {
  Value taken = copy_row(pointer((uint32_t)the_list(list)));
  sequence(list)->length = 0;
  return taken;
}

// Gives them back, sorted. CPython raises if the list was changed meanwhile.
EXPORT(py_sort_give) void py_sort_give(Value list, Value sorted) {
  Sequence *of = sequence(list), *from = sequence(sorted);
  if (of->length)
    give_up(CHANGED);
  of->items = from->items;
  of->length = from->length;
  of->extra = from->extra;
  rewritten((uint32_t)of);
}

EXPORT(py_check_list) Value py_check_list(Value value) { return pointer((uint32_t)the_list(value)); }
