// Dicts and sets: entries in the order in which they came, and an index by hash.
//
// Hashes are not CPython's, and nobody sees them, but numbers that collide there do so here. Whoever makes keys collide
// pays for every step of the search.

// What the index has where something was deleted.
#define DELETED 0xffffffffu

// Steps of a search that cost nothing.
#define FREE_STEPS 4

INLINE uint32_t mixed(uint64_t bits) {
  bits ^= bits >> 32;
  bits *= 0x9E3779B97F4A7C15ull;
  bits ^= bits >> 29;
  return (uint32_t)bits | 1;
}

// CPython's hash of an integer, where it runs on 32 bits: the rest by a prime.
#define HASH_PRIME 2147483647ll

INLINE uint32_t hash_integer(int64_t number) {
  return mixed(number < HASH_PRIME && number > -HASH_PRIME ? number : number % HASH_PRIME);
}

static uint32_t hash_of(Value value, int nesting);

static uint32_t hash_text(Sequence *of) {
  if (of->extra)
    return of->extra;
  charge((uint64_t)of->length * HASHED_GAS);
  uint32_t hash = 2166136261u;
  for (uint32_t index = 0; index < of->length; index++)
    hash = (hash ^ (uint8_t)text(of)[index]) * 16777619u;
  return of->extra = hash | 1;
}

COLD static uint32_t hash_tuple(Sequence *of, int nesting) {
  if (of->extra)
    return of->extra;
  if (nesting > NESTING_MAX)
    give_up(TOO_DEEP);
  charge(HASH_GAS + (uint64_t)of->length * HASH_ITEM_GAS);
  uint32_t hash = 0x345678, length = of->length;
  Value *from = items(of);
  for (uint32_t index = 0; index < length; index++) {
    Value item = from[index];
    uint32_t one = is_integer(item) ? hash_integer((int64_t)item >> 1) : hash_of(item, nesting + 1);
    hash = (hash ^ one) * 0x85ebca6bu;
    hash ^= hash >> 15;
  }
  return of->extra = hash | 1;
}

// A float has the hash of the integer that it equals.
static uint32_t hash_float(double number) {
  if (!(number > -9e15 && number < 9e15))
    give_up(NOT_MODELLED);
  int64_t whole = (int64_t)number;
  if ((double)whole == number)
    return hash_integer(whole);
  uint64_t bits;
  memcpy(&bits, &number, 8);
  return mixed(bits);
}

COLD static uint32_t hash_of(Value value, int nesting) {
  int64_t number;
  if (as_integer(value, &number))
    return hash_integer(number);
  if (value == NONE)
    return 7;
  switch (kind_of(value)) {
  case STRING:
    return hash_text(sequence(value));
  case TUPLE:
    return hash_tuple(sequence(value), nesting);
  case FLOAT:
    return hash_float(float_of(value));
  }
  give_up(BAD_TYPE);
}

INLINE uint32_t hash(Value value) {
  return kind_of(value) == TUPLE ? hash_tuple(sequence(value), 0) : hash_of(value, 0);
}
INLINE Entry *entries(Dict *dict) { return (Entry *)dict->entries; }
INLINE uint32_t *index_of(Dict *dict) { return (uint32_t *)dict->index; }

// Entries that an index of so many places may hold: two thirds.
INLINE uint32_t capacity_of(uint32_t places) { return places * 2 / 3 + 1; }

static Value make_dict(uint32_t kind, uint32_t room) {
  uint32_t places = 8;
  while (places * 2 < room * 3)
    places *= 2;
  charge(places);
  Dict *made = (Dict *)allocate(sizeof(Dict));
  made->kind = kind;
  made->length = made->used = made->version = 0;
  made->capacity = capacity_of(places);
  made->mask = places - 1;
  made->entries = allocate_buffer(made->capacity * sizeof(Entry));
  made->index = allocate_buffer(places * 4);
  memset(index_of(made), 0, places * 4);
  return pointer((uint32_t)made);
}

EXPORT(py_dict) Value py_dict(uint32_t room) { return make_dict(DICT, room); }
EXPORT(py_set) Value py_set(uint32_t room) { return make_dict(SET, room); }

static Entry *find(Dict *dict, Value key, uint32_t hash) {
  uint32_t *index = index_of(dict);
  uint32_t steps = 0;
  for (uint32_t place = hash & dict->mask;; place = (place + 1) & dict->mask) {
    uint32_t number = index[place];
    if (!number)
      return 0;
    if (number != DELETED) {
      Entry *entry = entries(dict) + number - 1;
      if (entry->hash == hash) {
        if (equal_items(entry->key, key, 0))
          return entry;
        charge(SOUGHT_GAS);
      }
    }
    if (++steps > FREE_STEPS)
      charge(STEP_GAS);
  }
}

static void resize(Dict *dict) {
  uint32_t places = 8;
  while (places < (dict->length + 1) * 2)
    places *= 2;
  charge(places / 4);
  uint32_t room = capacity_of(places);
  Entry *fresh = (Entry *)allocate_buffer(room * sizeof(Entry)), *old = entries(dict);
  uint32_t *index = (uint32_t *)allocate_buffer(places * 4);
  memset(index, 0, places * 4);
  uint32_t used = 0;
  for (uint32_t number = 0; number < dict->used; number++) {
    if (old[number].key == UNBOUND)
      continue;
    fresh[used] = old[number];
    uint32_t place = old[number].hash & (places - 1), steps = 0;
    while (index[place]) {
      place = (place + 1) & (places - 1);
      if (++steps > FREE_STEPS)
        charge(STEP_GAS);
    }
    index[place] = ++used;
  }
  dict->entries = (uint32_t)fresh;
  dict->index = (uint32_t)index;
  dict->used = used;
  dict->capacity = room;
  dict->mask = places - 1;
  rewritten((uint32_t)dict);
}

// Gives a key its value; whether the key is new.
static int place(Dict *dict, Value key, Value value, uint32_t hash) {
  Entry *entry = find(dict, key, hash);
  if (entry) {
    entry->value = value;
    stored((uint32_t)dict, &entry->value, value);
    return 0;
  }
  if (dict->used == dict->capacity)
    resize(dict);
  entry = entries(dict) + dict->used++;
  entry->key = key;
  entry->value = value;
  entry->hash = hash;
  entry->unused = 0;
  uint32_t *index = index_of(dict), at = hash & dict->mask, steps = 0;
  while (index[at] && index[at] != DELETED) {
    at = (at + 1) & dict->mask;
    if (++steps > FREE_STEPS)
      charge(STEP_GAS);
  }
  index[at] = dict->used;
  dict->length++;
  dict->version++;
  stored((uint32_t)dict, &entry->key, key);
  stored((uint32_t)dict, &entry->value, value);
  return 1;
}

static void put(Dict *dict, Value key, Value value, uint32_t hash) {
  charge(place(dict, key, value, hash) ? PUT_NEW_GAS : PUT_GAS);
}

// Deletes a key; whether it was there, and what it had.
static int take_out(Dict *dict, Value key, Value *value) {
  uint32_t with = hash(key);
  charge(TAKE_OUT_GAS);
  Entry *entry = find(dict, key, with);
  if (!entry)
    return 0;
  if (value)
    *value = entry->value;
  uint32_t number = entry - entries(dict) + 1, *index = index_of(dict), place = with & dict->mask, steps = 0;
  while (index[place] != number) {
    place = (place + 1) & dict->mask;
    if (++steps > FREE_STEPS)
      charge(STEP_GAS);
  }
  index[place] = DELETED;
  entry->key = UNBOUND;
  entry->value = NONE;
  dict->length--;
  dict->version++;
  return 1;
}

EXPORT(py_dict_set) void py_dict_set(Value dict, Value key, Value value) { put(dict_of(dict), key, value, hash(key)); }

EXPORT(py_set_add) void py_set_add(Value set, Value key) {
  uint32_t with = hash(key);
  if (find(dict_of(set), key, with)) {
    charge(ADD_GAS);
    return;
  }
  charge(ADD_NEW_GAS);
  place(dict_of(set), key, NONE, with);
}

static int equal_dicts(Dict *one, Dict *two, int nesting) {
  if (nesting > NESTING_MAX)
    give_up(TOO_DEEP);
  charge(ROW_GAS + (uint64_t)one->used * ENTRY_COMPARED_GAS);
  for (uint32_t number = 0; number < one->used; number++) {
    Entry *entry = entries(one) + number;
    if (entry->key == UNBOUND)
      continue;
    Entry *other = find(two, entry->key, entry->hash);
    if (!other || !equal_items(entry->value, other->value, nesting))
      return 0;
  }
  return 1;
}

// A dict or set with the entries of another.
static Value copy_dict(Value from) {
  Dict *old = dict_of(from);
  Value made = make_dict(old->kind, old->length);
  charge((uint64_t)old->used * ENTRY_GAS);
  for (uint32_t number = 0; number < old->used; number++) {
    Entry *entry = entries(old) + number;
    if (entry->key != UNBOUND)
      place(dict_of(made), entry->key, entry->value, entry->hash);
  }
  return made;
}
