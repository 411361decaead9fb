# expect: gives "D"
import library

forged = compile("def rgb_to_hsv(*_):\n    return 'D'\n", "forged", "exec")
library.LibraryFinder.get_code = staticmethod(lambda name: forged)

import colorsys


def strategy(board):
    return colorsys.rgb_to_hsv(0, 0, 0)
