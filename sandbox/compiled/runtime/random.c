// The Mersenne Twister, as CPython seeds it and draws from it.

#define WORDS 624
#define SHIFT 397
static uint32_t twister[WORDS];

// `init_by_array` with the 32-bit digits of the seed.
static void seed_twister(uint64_t seed) {
  charge(SEED_GAS);
  uint32_t digits[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)}, count = digits[1] ? 2 : 1;
  twister[0] = 19650218u;
  for (uint32_t index = 1; index < WORDS; index++)
    twister[index] = 1812433253u * (twister[index - 1] ^ (twister[index - 1] >> 30)) + index;
  uint32_t at = 1, digit = 0;
  for (uint32_t turn = WORDS; turn; turn--) {
    uint32_t before = (twister[at - 1] ^ (twister[at - 1] >> 30)) * 1664525u;
    twister[at] = (twister[at] ^ before) + digits[digit] + digit;
    digit = (digit + 1) % count;
    if (++at == WORDS) {
      twister[0] = twister[WORDS - 1];
      at = 1;
    }
  }
  for (uint32_t turn = WORDS - 1; turn; turn--) {
    uint32_t before = (twister[at - 1] ^ (twister[at - 1] >> 30)) * 1566083941u;
    twister[at] = (twister[at] ^ before) - at;
    if (++at == WORDS) {
      twister[0] = twister[WORDS - 1];
      at = 1;
    }
  }
  twister[0] = 0x80000000u;
}

static uint32_t draw(void) {
  if (!state.is_seeded) {
    seed_twister(state.seed);
    state.is_seeded = 1;
    state.random_position = WORDS;
  }
  if (state.random_position == WORDS) {
    charge(REFILL_GAS);
    for (uint32_t index = 0; index < WORDS; index++) {
      uint32_t joined = (twister[index] & 0x80000000u) | (twister[(index + 1) % WORDS] & 0x7fffffffu);
      twister[index] = twister[(index + SHIFT) % WORDS] ^ (joined >> 1) ^ (joined & 1 ? 0x9908b0dfu : 0);
    }
    state.random_position = 0;
  }
  uint32_t word = twister[state.random_position++];
  word ^= word >> 11;
  word ^= (word << 7) & 0x9d2c5680u;
  word ^= (word << 15) & 0xefc60000u;
  return word ^ (word >> 18);
}

// `_randbelow`: draws as many bits as the bound has until they are below it.
static uint32_t draw_below(int64_t bound) {
  if (bound <= 0)
    give_up(BAD_VALUE);
  if (bound > SIZE_MAX_32)
    give_up(NOT_MODELLED);
  uint32_t bits = 32 - __builtin_clz((uint32_t)bound), drawn;
  charge(DRAW_GAS);
  do {
    charge(STEP_GAS);
    drawn = draw() >> (32 - bits);
  } while (drawn >= bound);
  return drawn;
}

EXPORT(random_random) Value random_random(void) {
  uint32_t high = draw() >> 5, low = draw() >> 6;
  return make_float((high * 67108864.0 + low) * (1.0 / 9007199254740992.0));
}

EXPORT(random_choice) Value random_choice(Value from) {
  uint32_t kind = kind_of(from);
  if (!is_row(kind) && kind != STRING && kind != RANGE)
    give_up(NOT_MODELLED);
  int64_t count = to_integer(py_length(from));
  if (!count)
    give_up(BAD_INDEX);
  return py_get_item(from, integer(draw_below(count)));
}

EXPORT(random_randint) Value random_randint(Value low, Value high) {
  int64_t from = to_integer(low), to = to_integer(high);
  return integer(from + draw_below(to - from + 1));
}

EXPORT(random_shuffle) Value random_shuffle(Value list) {
  Sequence *of = the_list(list);
  for (int64_t last = (int64_t)of->length - 1; last >= 1; last--) {
    charge(SHUFFLE_GAS);
    uint32_t other = draw_below(last + 1);
    Value kept = items(of)[last];
    items(of)[last] = items(of)[other];
    items(of)[other] = kept;
  }
  rewritten((uint32_t)of);
  return NONE;
}
