"""The values of a program as JSON, for its host. Arguments come the other way in the interpreter's own format, `marshal`.

None, bool, int within 64 bits, finite float, str, list, and dict with keys of str cross as JSON has them. What JSON has
not is an object with one key, its tag: `{"()": [..]}` a tuple, `{"set": [..]}`, `{"frozenset": [..]}`, `{"bytes": "hex"}`,
`{"complex": [re, im]}`, `{"int": "digits"}`, `{"float": "nan"}`, `{"{}": [[key, value], ..]}` any other dict;
`{"bytearray": "hex"}` is an argument alone. A value of a subclass crosses as one of its base; everything else does not
cross, but for what equals one of these in Python: a bytearray, a view of a dict's keys or items, a read-only dict, and a Decimal or a
Fraction that an int or a float has exactly. What a program could do here is to lie about its own value.
"""

import collections
import decimal
import fractions
import json.encoder
import sys
import types

# Longest text that crosses, in bytes. The host holds it to that, too.
TEXT_MAX = 1 << 20
# Of an int that a program's text may have.
DIGITS_MAX = 4300
# How deep a value may nest: with its tags no more than the 128 levels that readers of JSON take.
DEPTH_MAX = 40
# Each item takes two characters of text at least.
_ITEMS_MAX = TEXT_MAX // 2
# More bits than this have more digits than may cross.
_BITS_MAX = 3 * TEXT_MAX

_TAGS = frozenset(("()", "set", "frozenset", "bytes", "bytearray", "complex", "int", "float", "{}"))
quote = json.encoder.c_encode_basestring
_WORDS = {None: "null", True: "true", False: "false"}
_CONSTANTS = {"inf": '{"float":"inf"}', "-inf": '{"float":"-inf"}', "nan": '{"float":"nan"}'}


class BadValue(Exception):
    """Names what does not cross."""


def too_long(found):
    """The same for what is longer than a text may be."""
    return BadValue(f"{found} (at most {TEXT_MAX} bytes of text can be returned)")


def _too_much(values):
    if len(values) > _ITEMS_MAX:
        return too_long(f"{len(values)} items")
    return BadValue(f"value nested more than {DEPTH_MAX} deep")


def _digits(number):
    if number.bit_length() > _BITS_MAX:
        raise too_long(f"int of {number.bit_length()} bits")
    limit = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    try:
        return int.__repr__(number)
    finally:
        sys.set_int_max_str_digits(limit)


def _int(value, _depth):
    if -0x8000_0000_0000_0000 <= value <= 0x7FFF_FFFF_FFFF_FFFF:
        return int.__repr__(value)
    return f'{{"int":"{_digits(value)}"}}'


def _float(value, _depth):
    text = float.__repr__(value)
    return _CONSTANTS.get(text, text)


def _str(value, _depth):
    if len(value) > TEXT_MAX:
        raise too_long(f"str of {len(value)} characters")
    return quote(value)


def _bytes(value, _depth):
    return f'{{"bytes":"{value.hex()}"}}'


def _complex(value, _depth):
    return f'{{"complex":[{_float(value.real, 0)},{_float(value.imag, 0)}]}}'


def _items(values, depth):
    """An array of these."""
    if depth == 0 or len(values) > _ITEMS_MAX:
        raise _too_much(values)
    kinds = set(map(type, values))
    if len(kinds) == 1:
        (kind,) = kinds
        if kind is int and min(values) >= -0x8000_0000_0000_0000 and max(values) <= 0x7FFF_FFFF_FFFF_FFFF:
            return list.__repr__(list(values)).replace(" ", "")
        if kind is str:
            return "[" + ",".join(map(quote, values)) + "]"
    return "[" + ",".join([_write(value, depth - 1) for value in values]) + "]"


def _tuple(value, depth):
    return '{"()":' + _items(value, depth) + "}"


def _set(value, depth):
    return '{"set":' + _items(value, depth) + "}"


def _frozenset(value, depth):
    return '{"frozenset":' + _items(value, depth) + "}"


def _dict(value, depth):
    if depth == 0 or len(value) > _ITEMS_MAX:
        raise _too_much(value)
    named = all([type(key) is str for key in value])
    if named and not (len(value) == 1 and next(iter(value)) in _TAGS):
        return "{" + ",".join([f"{quote(key)}:{_write(item, depth - 1)}" for key, item in value.items()]) + "}"
    pairs = [f"[{_write(key, depth - 1)},{_write(item, depth - 1)}]" for key, item in value.items()]
    return '{"{}":[' + ",".join(pairs) + "]}"


def _decimal(value, depth):
    # An int of as many digits is expected of no program.
    if value and value.is_finite() and value.adjusted() > DIGITS_MAX:
        raise too_long(f"Decimal with an exponent of {value.adjusted()}")
    return _number(value, value.is_finite() and value == int(value))


def _fraction(value, _depth):
    return _number(value, value.denominator == 1)


def _number(value, is_whole):
    """As the int or float that it equals."""
    if is_whole:
        return _int(int(value), 0)
    try:
        number = float(value)
    except (OverflowError, ValueError):
        number = None
    if number is None or number != value:
        raise BadValue(f"{type(value).__name__} that no float equals")
    return _float(number, 0)


_WRITE = {
    int: _int, float: _float, str: _str, list: _items, tuple: _tuple, dict: _dict, set: _set, frozenset: _frozenset,
    bytes: _bytes, complex: _complex, bool: lambda value, _: _WORDS[value], type(None): lambda *_: "null",
    bytearray: _bytes, type({}.keys()): _set, type({}.items()): _set, decimal.Decimal: _decimal,
    fractions.Fraction: _fraction, types.MappingProxyType: lambda value, depth: _dict(dict(value), depth),
    type(collections.OrderedDict().keys()): _set, type(collections.OrderedDict().items()): _set,
}  # fmt: skip

# How a value of a subclass becomes one of its base, by methods that a subclass cannot replace.
_BASES = (
    (int, int.__pos__), (float, float.__pos__), (complex, complex.__pos__), (str, str.__str__),
    (bytes, lambda value: bytes.__getitem__(value, slice(None))), (list, list.copy),
    (tuple, lambda value: tuple.__getitem__(value, slice(None))), (dict, lambda value: dict(dict.items(value))),
    (set, lambda value: list(set.__iter__(value))), (frozenset, lambda value: list(frozenset.__iter__(value))),
    (bytearray, bytearray.copy), (decimal.Decimal, decimal.Decimal), (fractions.Fraction, fractions.Fraction.__pos__),
)  # fmt: skip


def _write(value, depth):
    kind = type(value)
    way = _WRITE.get(kind)
    if way is not None:
        return way(value, depth)
    for base, plain in _BASES:
        if issubclass(kind, base):
            return _WRITE[base](plain(value), depth)
    raise BadValue(kind.__name__)


def write(value):
    """The value as text; BadValue where it cannot cross."""
    text = _write(value, DEPTH_MAX)
    try:
        size = len(text) if text.isascii() else len(text.encode())
    except UnicodeError:
        raise BadValue("str that is not text") from None
    if size > TEXT_MAX:
        raise too_long(f"value of {size} bytes")
    return text


def with_bytearrays(value):
    """An argument with its bytearrays: `marshal` has none, so they come as pairs of an ellipsis and bytes."""
    kind = type(value)
    if kind is tuple and value[:1] == (...,):
        return bytearray(value[1])
    if kind is list or kind is tuple:
        return kind(map(with_bytearrays, value))
    if kind is dict:
        return {key: with_bytearrays(item) for key, item in value.items()}
    return value
