"""Sizes as programs know them, of 64 bits, where those of the interpreter in here have 32.

Imported after all that keeps `sys.maxsize` for what it hands to C. What a program hands to C itself is refused beyond 32
bits; mended is what programs hand over most.
"""

import _collections_abc
import bisect
import csv
import functools
import re
import sys
import types

# For code of the library that goes by what C takes.
NARROW = types.SimpleNamespace(maxsize=sys.maxsize)
# Programs take it for infinity.
sys.maxsize = 2**63 - 1
# Its hash of a set is that of a frozenset, which C has.
_collections_abc.sys = NARROW

_cached, _limit = functools._lru_cache_wrapper, csv.field_size_limit


class _CacheKind(type):
    def __call__(self, function, maxsize, *settings):
        return _cached(function, maxsize and min(maxsize, NARROW.maxsize), *settings)

    def __instancecheck__(self, value):
        return isinstance(value, _cached)


class _Cache(metaclass=_CacheKind):
    """Makes caches of C, and is their class to who asks."""


def _field_size_limit(*limit):
    return _limit(*(min(most, NARROW.maxsize) for most in limit))


functools._lru_cache_wrapper = _Cache
csv.field_size_limit = staticmethod(_field_size_limit)

# Found by its text, because every other call of these functions would cost twice as much.
_searches_long = re.compile(r"(?<!list)[\[(=,]\s*range\(|bisect\w* as |__getitem__").search


def suit(source):
    """Searches in what is longer than C can count, for a program that may search in such a thing."""
    if "bisect" in source and _searches_long(source):
        left = _searching(bisect.bisect_left, lambda item, x: item < x)
        right = _searching(bisect.bisect_right, lambda item, x: not x < item)
        bisect.bisect_left, bisect.bisect, bisect.bisect_right = map(staticmethod, (left, right, right))


def _searching(search, is_before):
    def bisect(a, x, lo=0, hi=None, *, key=None):
        try:
            return search(a, x, lo, hi, key=key)
        except OverflowError as error:
            # Of C, for which this is too long, or of the program's own code.
            if error.__traceback__.tb_next is not None:
                raise
        if hi is None:
            hi = type(a).__len__(a) if type(a) is not range else a.index(a[-1]) + 1 if a else 0
        while lo < hi:
            middle = (lo + hi) // 2
            if is_before(a[middle] if key is None else key(a[middle]), x):
                lo = middle + 1
            else:
                hi = middle
        return lo

    return bisect
