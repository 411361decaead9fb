# expect: raised ValueError
import library

library._store = bytes(len(library._store))

import colorsys
