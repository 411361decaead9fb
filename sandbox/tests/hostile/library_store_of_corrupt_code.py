# expect: raised ValueError
import library
import marshal

# A list in a list in a list, without an end.
library._index["endless"] = (False, 0, 1 << 20)
library._store = b"[\x01\x00\x00\x00" * (1 << 20)

import endless
