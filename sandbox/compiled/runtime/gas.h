// What is charged for work that depends on values: the fuel that CPython spends on it, measured by `tests/costs`. The
// rest is charged by compiled code (`src/emit/cost.rs`). Whoever changes a number here changes `COST_TABLE`.

enum {
  // A page of memory that a call uses, and what one costs beside that is used for the first time. This is for the
  // machine: what CPython spends on memory is a part of what its objects cost. No more than a session's limit is ever
  // used for the first time, so that need not pay for all the time that the system takes to find it.
  PAGE_GAS = 4000,
  FRESH_PAGE_GAS = 10000,
  // A character that is copied, changed, hashed, searched, compared.
  COPIED_GAS = 1,
  CHANGED_GAS = 14,
  HASHED_GAS = 8,
  SEARCHED_GAS = 39,
  SOUGHT_CHARACTER_GAS = 21,
  CANDIDATE_GAS = 20,
  MATCHED_GAS = 18,
  SCANNED_GAS = 6,
  COUNTED_GAS = 10,
  COUNT_TEXT_GAS = 350,
  TEXT_GAS = 21,
  // An item that is copied, moved, turned around, compared as one of a row, looked at by `in`, joined.
  ITEM_GAS = 57,
  MOVED_GAS = 5,
  PUSHED_GAS = 17,
  TURNED_GAS = 10,
  ROW_ITEM_GAS = 34,
  ROW_DIFFERS_GAS = 220,
  SOUGHT_GAS = 240,
  SAME_GAS = 80,
  JOINED_GAS = 88,
  REPEATED_GAS = 35,
  // Comparing rows or texts; numbers of two types; two items of a sort.
  ROW_GAS = 150,
  ORDER_GAS = 80,
  MIXED_GAS = 250,
  SORTED_GAS = 86,
  // Containers made of others by an operator.
  REPEAT_GAS = 780,
  JOIN_TUPLES_GAS = 350,
  JOIN_LISTS_GAS = 570,
  JOIN_TEXTS_GAS = 620,
  // Operators between floats.
  FLOAT_GAS = 60,
  FLOAT_REST_GAS = 160,
  FLOAT_REST_BIT_GAS = 12,
  POWER_GAS = 140,
  POWER_STEP_GAS = 67,
  // A subscript from the end; of a dict; a range; a text.
  FROM_END_GAS = 250,
  RANGE_ITEM_GAS = 940,
  FIND_GAS = 200,
  TAKE_GAS = 270,
  // Dicts and sets: an entry that is there, a new one, one that is taken out, one that is copied into a new dict or into
  // one that is there, one that is compared; a step of a search beyond the first four.
  PUT_GAS = 230,
  PUT_NEW_GAS = 470,
  ADD_GAS = 130,
  ADD_NEW_GAS = 310,
  TAKE_OUT_GAS = 450,
  ENTRY_GAS = 75,
  UPDATED_GAS = 70,
  ENTRY_COMPARED_GAS = 250,
  STEP_GAS = 60,
  HASH_GAS = 150,
  HASH_ITEM_GAS = 90,
  // What iterators over others than lists and tuples cost more, to make and at each turn.
  ITERATOR_GAS = 500,
  NEXT_LETTER_GAS = 28,
  CONTAINS_TEXT_GAS = 190,
  // `in` of a range, and of a number between its bounds, which CPython subtracts and divides.
  IN_RANGE_GAS = 670,
  RANGE_REST_GAS = 430,
  NEXT_KEY_GAS = 100,
  NEXT_VALUE_GAS = 150,
  NEXT_PAIR_GAS = 280,
  NEXT_LARGE_GAS = 200,
  NEXT_ROW_GAS = 250,
  NEXT_ROW_ITEM_GAS = 140,
  NEXT_NUMBERED_GAS = 330,
  ZIPPED_GAS = 250,
  // A container made of an iterator, and each of its items.
  DRAIN_GAS = 600,
  DRAINED_GAS = 110,
  EXTEND_GAS = 300,
  // The text of a number, and the number of a text.
  WRITE_GAS = 984,
  READ_GAS = 970,
  PRINT_GAS = 300,
  // `random`.
  SEED_GAS = 20000,
  REFILL_GAS = 6000,
  DRAW_GAS = 4300,
  SHUFFLE_GAS = 350,
};

// The largest integer for which CPython has an object ready.
#define READY_MAX 256
