// Arithmetic.

// Integers up to here are floats without loss.
#define EXACT_MAX (1ll << 53)

INLINE int is_number(Value value) {
  return is_integer(value) || value == TRUE || value == FALSE || kind_of(value) == FLOAT;
}

// The float that a number is.
static double to_float(Value value) {
  int64_t number;
  if (as_integer(value, &number)) {
    if (number > EXACT_MAX || number < -EXACT_MAX)
      give_up(OVERFLOW);
    return (double)number;
  }
  if (kind_of(value) != FLOAT)
    give_up(BAD_TYPE);
  return float_of(value);
}

static Value concatenate(Value one, Value two, uint32_t kind) {
  Sequence *left = sequence(one), *right = sequence(two);
  uint32_t length = left->length + right->length;
  if (kind == STRING) {
    if (!left->length)
      return two;
    if (!right->length)
      return one;
    return joined_texts(left, right);
  }
  if (kind == TUPLE && !left->length)
    return two;
  if (kind == TUPLE && !right->length)
    return one;
  charge((kind == LIST ? JOIN_LISTS_GAS : JOIN_TUPLES_GAS) + (uint64_t)length * ITEM_GAS);
  Value made = kind == LIST ? py_list(length, length) : py_tuple(length);
  memcpy(items(sequence(made)), items(left), left->length * 8);
  memcpy(items(sequence(made)) + left->length, items(right), right->length * 8);
  return made;
}

// The result of an operator between floats, or a float and an integer.
INLINE Value between_floats(Value one, Value two, double result) {
  charge(kind_of(one) == kind_of(two) ? FLOAT_GAS : MIXED_GAS);
  return make_float(result);
}

EXPORT(py_add) Value py_add(Value one, Value two) {
  int64_t left, right;
  if (as_integer(one, &left) && as_integer(two, &right))
    return integer(left + right);
  uint32_t kind = kind_of(one);
  if (kind == kind_of(two) && (is_row(kind) || kind == STRING))
    return concatenate(one, two, kind);
  return between_floats(one, two, to_float(one) + to_float(two));
}

EXPORT(py_subtract) Value py_subtract(Value one, Value two) {
  int64_t left, right;
  if (as_integer(one, &left) && as_integer(two, &right))
    return integer(left - right);
  return between_floats(one, two, to_float(one) - to_float(two));
}

// Most items that are repeated here.
#define REPEATED_MAX (1 << 24)

// Repeats some bytes until so many are there, each time copying what is there already.
static void fill(char *to, char *from, uint32_t bytes, uint64_t total) {
  memcpy(to, from, bytes);
  for (uint64_t done = bytes; done < total; done *= 2)
    memcpy(to + done, to, done < total - done ? done : total - done);
}

static Value repeat(Value what, Value count) {
  Sequence *of = sequence(what);
  int64_t times = to_size(count);
  if (times < 0)
    times = 0;
  int64_t length = of->length * times;
  if (length > REPEATED_MAX)
    give_up(NO_MEMORY);
  charge(REPEAT_GAS + (uint64_t)length * (of->kind == STRING ? COPIED_GAS : REPEATED_GAS));
  if (of->kind == STRING) {
    if (!length)
      return pointer((uint32_t)&empty_string);
    if (times == 1)
      return what;
    Value made = make_string(length);
    fill(text(sequence(made)), text(of), of->length, length);
    return made;
  }
  if (of->kind == TUPLE && times == 1)
    return what;
  Value made = of->kind == LIST ? py_list(length, length) : py_tuple(length);
  if (length)
    fill((char *)items(sequence(made)), (char *)items(of), of->length * 8, length * 8);
  return made;
}

// Multiplies; whether 64 bits are too few. The compiler's own check multiplies in 128 bits, which WebAssembly has not:
// numbers whose bits are few enough together need none.
INLINE int overflows(int64_t one, int64_t two, int64_t *product) {
  if (__builtin_clzll((one ^ (one >> 63)) | 1) + __builtin_clzll((two ^ (two >> 63)) | 1) > 65) {
    *product = one * two;
    return 0;
  }
  return __builtin_mul_overflow(one, two, product);
}

EXPORT(py_multiply) Value py_multiply(Value one, Value two) {
  int64_t left, right, product;
  if (as_integer(one, &left) && as_integer(two, &right)) {
    if (overflows(left, right, &product))
      give_up(OVERFLOW);
    return integer(product);
  }
  uint32_t kind = kind_of(one);
  if (is_row(kind) || kind == STRING)
    return repeat(one, two);
  kind = kind_of(two);
  if (is_row(kind) || kind == STRING)
    return repeat(two, one);
  return between_floats(one, two, to_float(one) * to_float(two));
}

EXPORT(py_divide) Value py_divide(Value one, Value two) {
  double dividend = to_float(one), divisor = to_float(two);
  if (divisor == 0)
    give_up(ZERO_DIVISION);
  return make_float(dividend / divisor);
}

// What is left of floats, before its sign is that of the divisor. It takes the longer the further apart they are.
static double rest_of(double dividend, double divisor) {
  if (divisor == 0)
    give_up(ZERO_DIVISION);
  if (dividend - dividend != 0 || divisor - divisor != 0)
    give_up(NOT_MODELLED);
  int distance = dividend == 0 ? 0 : ilogb(dividend) - ilogb(divisor);
  charge(FLOAT_REST_GAS + (distance > 0 ? (uint64_t)distance * FLOAT_REST_BIT_GAS : 0));
  return fmod(dividend, divisor);
}

// As float_floor_div of CPython.
static Value floor_divide_floats(double dividend, double divisor) {
  double rest = rest_of(dividend, divisor);
  double quotient = (dividend - rest) / divisor;
  if (rest && (divisor < 0) != (rest < 0))
    quotient -= 1;
  if (!quotient)
    return make_float(__builtin_copysign(0.0, dividend / divisor));
  double whole = floor(quotient);
  if (quotient - whole > 0.5)
    whole += 1;
  return make_float(whole);
}

EXPORT(py_floor_divide) Value py_floor_divide(Value one, Value two) {
  int64_t dividend, divisor;
  if (!as_integer(one, &dividend) || !as_integer(two, &divisor))
    return floor_divide_floats(to_float(one), to_float(two));
  if (!divisor)
    give_up(ZERO_DIVISION);
  int64_t quotient = dividend / divisor;
  if (dividend % divisor && (dividend < 0) != (divisor < 0))
    quotient--;
  return integer(quotient);
}

EXPORT(py_modulo) Value py_modulo(Value one, Value two) {
  int64_t dividend, divisor;
  if (kind_of(one) == STRING)
    give_up(NOT_MODELLED);
  if (as_integer(one, &dividend) && as_integer(two, &divisor)) {
    if (!divisor)
      give_up(ZERO_DIVISION);
    int64_t rest = dividend % divisor;
    return integer(rest && (rest < 0) != (divisor < 0) ? rest + divisor : rest);
  }
  double by = to_float(two), rest = rest_of(to_float(one), by);
  if (!rest)
    return make_float(__builtin_copysign(0.0, by));
  return make_float((by < 0) != (rest < 0) ? rest + by : rest);
}

static Value integer_power(int64_t base, int64_t exponent) {
  int64_t power = 1;
  while (exponent) {
    if (exponent & 1 && overflows(power, base, &power))
      give_up(OVERFLOW);
    exponent >>= 1;
    if (exponent && overflows(base, base, &base))
      give_up(OVERFLOW);
  }
  return integer(power);
}

EXPORT(py_power) Value py_power(Value one, Value two) {
  int64_t base, exponent;
  if (as_integer(one, &base) && as_integer(two, &exponent) && exponent >= 0) {
    if (exponent > 4)
      charge((exponent < 64 ? exponent : 64) * POWER_STEP_GAS);
    return integer_power(base, exponent);
  }
  double of = to_float(one), to = to_float(two);
  // Corner cases, complex results among them, are left to CPython.
  if (of - of != 0 || to - to != 0 || (of == 0 && to <= 0) || (of < 0 && floor(to) != to))
    give_up(NOT_MODELLED);
  charge(POWER_GAS);
  double power = pow(of, to);
  if (__builtin_isinf(power))
    give_up(OVERFLOW);
  return make_float(power);
}

EXPORT(py_negate) Value py_negate(Value value) {
  int64_t number;
  return as_integer(value, &number) ? integer(-number) : make_float(-to_float(value));
}

EXPORT(py_positive) Value py_positive(Value value) {
  int64_t number;
  if (as_integer(value, &number))
    return integer(number);
  if (kind_of(value) != FLOAT)
    give_up(BAD_TYPE);
  return value;
}

EXPORT(py_invert) Value py_invert(Value value) { return integer(~to_integer(value)); }

INLINE int are_bools(Value one, Value two) { return (one == TRUE || one == FALSE) && (two == TRUE || two == FALSE); }

EXPORT(py_and) Value py_and(Value one, Value two) {
  if (are_bools(one, two))
    return boolean(one == TRUE && two == TRUE);
  return integer(to_integer(one) & to_integer(two));
}

EXPORT(py_or) Value py_or(Value one, Value two) {
  if (are_bools(one, two))
    return boolean(one == TRUE || two == TRUE);
  return integer(to_integer(one) | to_integer(two));
}

EXPORT(py_xor) Value py_xor(Value one, Value two) {
  if (are_bools(one, two))
    return boolean(one != two);
  return integer(to_integer(one) ^ to_integer(two));
}

EXPORT(py_shift_left) Value py_shift_left(Value one, Value two) {
  int64_t number = to_integer(one), by = to_integer(two);
  if (by < 0)
    give_up(BAD_VALUE);
  if (!number)
    return integer(0);
  if (by > 61)
    give_up(OVERFLOW);
  int64_t shifted = (int64_t)((uint64_t)number << by);
  if (shifted >> by != number)
    give_up(OVERFLOW);
  return integer(shifted);
}

EXPORT(py_shift_right) Value py_shift_right(Value one, Value two) {
  int64_t number = to_integer(one), by = to_integer(two);
  if (by < 0)
    give_up(BAD_VALUE);
  return integer(number >> (by > 63 ? 63 : by));
}

EXPORT(py_absolute) Value py_absolute(Value value) {
  int64_t number;
  if (as_integer(value, &number))
    return integer(number < 0 ? -number : number);
  return make_float(__builtin_fabs(to_float(value)));
}

EXPORT(py_bit_length) Value py_bit_length(Value value) {
  int64_t number = to_integer(value);
  if (number < 0)
    number = -number;
  return integer(number ? 64 - __builtin_clzll(number) : 0);
}

// Digits that are read without asking whether they fit.
#define DIGITS_MAX 18

static Value parse_integer(Sequence *from) {
  uint32_t at = from->length && (*text(from) == '-' || *text(from) == '+');
  if (from->length == at || from->length - at > DIGITS_MAX)
    give_up(NOT_MODELLED);
  charge(READ_GAS);
  int64_t number = 0;
  for (uint32_t place = at; place < from->length; place++) {
    char digit = text(from)[place];
    if (digit < '0' || digit > '9')
      give_up(NOT_MODELLED);
    number = number * 10 + (digit - '0');
  }
  return integer(at && *text(from) == '-' ? -number : number);
}

EXPORT(py_to_int) Value py_to_int(Value value) {
  int64_t number;
  if (as_integer(value, &number))
    return integer(number);
  if (kind_of(value) == STRING)
    return parse_integer(sequence(value));
  double of = to_float(value);
  if (!(of > -4e18 && of < 4e18))
    give_up(OVERFLOW);
  return integer((int64_t)of);
}

EXPORT(py_to_float) Value py_to_float(Value value) {
  return kind_of(value) == FLOAT ? value : make_float(to_float(value));
}

EXPORT(math_sqrt) Value math_sqrt(Value value) {
  double of = to_float(value);
  if (!(of >= 0) || __builtin_isinf(of))
    give_up(BAD_VALUE);
  return make_float(__builtin_sqrt(of));
}

static double positive(Value value) {
  double of = to_float(value);
  if (!(of > 0) || __builtin_isinf(of))
    give_up(BAD_VALUE);
  return of;
}

EXPORT(math_log) Value math_log(Value value) { return make_float(log(positive(value))); }
EXPORT(math_log2) Value math_log2(Value value) { return make_float(log2(positive(value))); }

static Value whole(Value value, double (*rounded)(double)) {
  int64_t number;
  if (as_integer(value, &number))
    return integer(number);
  double of = rounded(to_float(value));
  if (!(of > -4e18 && of < 4e18))
    give_up(OVERFLOW);
  return integer((int64_t)of);
}

EXPORT(math_floor) Value math_floor(Value value) { return whole(value, floor); }
EXPORT(math_ceil) Value math_ceil(Value value) { return whole(value, ceil); }

// `sum` adds floats so that what is lost of each is kept, since CPython 3.12.
static Value make_sum(double number) {
  Sum *made = (Sum *)allocate(sizeof(Sum));
  made->kind = SUM;
  made->unused = 0;
  made->high = number;
  made->low = 0;
  return pointer((uint32_t)made);
}

EXPORT(py_sum_start) Value py_sum_start(Value start) {
  if (start == TRUE || start == FALSE || kind_of(start) == STRING)
    give_up(NOT_MODELLED);
  return kind_of(start) == FLOAT ? make_sum(float_of(start)) : start;
}

EXPORT(py_sum_step) Value py_sum_step(Value total, Value value) {
  if (kind_of(total) != SUM) {
    Value sum = py_add(total, value);
    return kind_of(sum) == FLOAT ? make_sum(float_of(sum)) : sum;
  }
  Sum *sum = (Sum *)address(total);
  double number = to_float(value), next = sum->high + number;
  if (__builtin_fabs(sum->high) >= __builtin_fabs(number))
    sum->low += (sum->high - next) + number;
  else
    sum->low += (number - next) + sum->high;
  sum->high = next;
  return total;
}

EXPORT(py_sum_end) Value py_sum_end(Value total) {
  if (kind_of(total) != SUM)
    return total;
  Sum *sum = (Sum *)address(total);
  return make_float(sum->low && __builtin_isfinite(sum->low) ? sum->high + sum->low : sum->high);
}
