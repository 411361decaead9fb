# expect: raised EOFError
import library

library._index["colorsys"] = (False, 1 << 60, 1 << 61)

import colorsys
