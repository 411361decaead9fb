"""Prints the value of each expression that it reads, a line each. values.txt has what it prints with numpy 2.4.6 of PyPI on x86-64:

    python3 evaluate.py < expressions.txt > values.txt
"""

import array, copy, io, json, pickle, statistics, sys
import numpy as np


def value(expression):
    try:
        return ascii(eval(expression)).replace("\n", " ")
    except Exception as error:
        return ascii(error)


for line in sys.stdin.read().splitlines():
    print(value(line))
