# expect: raised ModuleNotFoundError
import sys

sys.meta_path.clear()

import colorsys
