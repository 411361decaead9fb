// Truth, equality and order.

static int equal_dicts(Dict *one, Dict *two, int nesting);

EXPORT(py_truth) int32_t py_truth(Value value) {
  if (is_integer(value))
    return value != 0;
  if (value == TRUE)
    return 1;
  if (value == FALSE || value == NONE)
    return 0;
  switch (kind_of(value)) {
  case LIST:
  case TUPLE:
  case STRING:
  case DICT:
  case SET:
    return sequence(value)->length != 0;
  case FLOAT:
    return float_of(value) != 0;
  case RANGE:
    return range_length((Range *)address(value)) != 0;
  case FUNCTION:
  case ITERATOR:
    return 1;
  }
  give_up(NOT_MODELLED);
}

// The order of two numbers (-1, 0, 1); whether they are numbers.
static int order_numbers(Value one, Value two, int *order) {
  int64_t left, right;
  if (as_integer(one, &left) && as_integer(two, &right)) {
    *order = left < right ? -1 : left > right;
    return 1;
  }
  if (!is_number(one) || !is_number(two))
    return 0;
  if (kind_of(one) != kind_of(two))
    charge(MIXED_GAS);
  // Every integer lies between the infinities, be it exact as a float or not.
  double infinity = __builtin_inf();
  int left_infinite = kind_of(one) == FLOAT && __builtin_fabs(float_of(one)) == infinity;
  int right_infinite = kind_of(two) == FLOAT && __builtin_fabs(float_of(two)) == infinity;
  double first = right_infinite && kind_of(one) != FLOAT ? 0 : to_float(one);
  double second = left_infinite && kind_of(two) != FLOAT ? 0 : to_float(two);
  *order = first < second ? -1 : first > second;
  return 1;
}

static int equal_values(Value one, Value two, int nesting);
static int equal_others(Value one, Value two, int nesting);

// How many of the first so many characters are the same.
static uint32_t common_prefix(Sequence *one, Sequence *two, uint32_t length) {
  uint32_t same = 0;
  while (same < length && text(one)[same] == text(two)[same])
    same++;
  charge((uint64_t)same * TEXT_GAS);
  return same;
}

// Whether two items are equal: the same object is.
INLINE int equal_items(Value one, Value two, int nesting) {
  return one == two || (!(is_integer(one) && is_integer(two)) && equal_values(one, two, nesting));
}

static int equal_rows(Sequence *one, Sequence *two, int nesting) {
  uint32_t length = one->length;
  if (length != two->length)
    return 0;
  if (nesting > NESTING_MAX)
    give_up(TOO_DEEP);
  Value *left = items(one), *right = items(two);
  uint32_t same = 0;
  while (same < length && equal_items(left[same], right[same], nesting + 1))
    same++;
  charge(ROW_GAS + (uint64_t)same * ROW_ITEM_GAS + (same < length ? ROW_DIFFERS_GAS : 0));
  return same == length;
}

// Rows are what programs compare most: this has few variables, so that a call saves few registers.
COLD static int equal_values(Value one, Value two, int nesting) {
  uint32_t kind = kind_of(one);
  if (is_row(kind) && kind_of(two) == kind)
    return equal_rows(sequence(one), sequence(two), nesting);
  return equal_others(one, two, nesting);
}

COLD static int equal_others(Value one, Value two, int nesting) {
  uint32_t kind = kind_of(one);
  if (kind == NO_OBJECT || kind == FLOAT || kind != kind_of(two)) {
    int order;
    if (order_numbers(one, two, &order))
      return order == 0;
    // A view of keys or items may equal a set.
    uint32_t other = kind_of(two);
    if ((kind == SET && other == VIEW) || (kind == VIEW && other == SET))
      give_up(NOT_MODELLED);
    return one == two;
  }
  Sequence *left = sequence(one), *right = sequence(two);
  switch (kind) {
  case STRING:
    if (left->length != right->length || left == right)
      return left == right;
    return common_prefix(left, right, left->length) == left->length;
  case DICT:
  case SET:
    return left->length == right->length && equal_dicts((Dict *)left, (Dict *)right, nesting + 1);
  case RANGE:
  case VIEW:
    give_up(NOT_MODELLED);
  }
  return one == two;
}

EXPORT(py_equal) int32_t py_equal(Value one, Value two) {
  if (is_integer(one) && is_integer(two))
    return one == two;
  return equal_values(one, two, 0);
}

static int order_texts(Sequence *one, Sequence *two) {
  uint32_t common = one->length < two->length ? one->length : two->length;
  charge(ORDER_GAS);
  uint32_t same = common_prefix(one, two, common);
  return same < common ? (uint8_t)text(one)[same] - (uint8_t)text(two)[same] : one->length < two->length ? -1 : one->length > two->length;
}

// Whether the first comes before the second, or is the same where `or_equal`.
static int precedes(Value one, Value two, int or_equal, int nesting) {
  int order;
  if (order_numbers(one, two, &order))
    return order < 0 || (or_equal && order == 0);
  uint32_t kind = kind_of(one);
  if (kind == NO_OBJECT || kind != kind_of(two))
    give_up(BAD_TYPE);
  Sequence *left = sequence(one), *right = sequence(two);
  if (kind == STRING) {
    order = order_texts(left, right);
    return order < 0 || (or_equal && order == 0);
  }
  if (!is_row(kind))
    give_up(BAD_TYPE);
  if (nesting > NESTING_MAX)
    give_up(TOO_DEEP);
  uint32_t common = left->length < right->length ? left->length : right->length;
  uint32_t same = 0;
  while (same < common && equal_items(items(left)[same], items(right)[same], nesting))
    same++;
  charge(ROW_GAS + (uint64_t)same * ROW_ITEM_GAS + (same < common ? ROW_DIFFERS_GAS : 0));
  if (same < common)
    return precedes(items(left)[same], items(right)[same], or_equal, nesting + 1);
  return left->length < right->length || (or_equal && left->length == right->length);
}

EXPORT(py_less) int32_t py_less(Value one, Value two) {
  if (is_integer(one) && is_integer(two))
    return (int64_t)one < (int64_t)two;
  return precedes(one, two, 0, 0);
}

EXPORT(py_less_equal) int32_t py_less_equal(Value one, Value two) {
  if (is_integer(one) && is_integer(two))
    return (int64_t)one <= (int64_t)two;
  return precedes(one, two, 1, 0);
}

// Whether two values are one object. Numbers, strings and tuples may be one in CPython where they are two here.
EXPORT(py_is) int32_t py_is(Value one, Value two) {
  if (!is_integer(one) && !is_integer(two) && (!is_pointer(one) || !is_pointer(two)))
    return one == two;
  uint32_t kind = kind_of(one);
  if (is_integer(one) != is_integer(two) || kind != kind_of(two))
    return 0;
  switch (kind) {
  case LIST:
  case DICT:
  case SET:
  case FUNCTION:
    return one == two;
  }
  give_up(NOT_MODELLED);
}
