# expect: gives "W"
# -*- coding: utf-7 -*-
def strategy(board):
    return "W"  # +AGE-
