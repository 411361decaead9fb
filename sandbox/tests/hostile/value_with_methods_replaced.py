# expect: gives {"()":["W",{"set":[1]},{"a":"b"}]}
class Tuple(tuple):
    def __iter__(self):
        while True:
            yield "A"

    __getitem__ = __len__ = __class__ = None


class Set(set):
    __iter__ = __len__ = None


class Dict(dict):
    items = keys = __iter__ = __len__ = None


class Text(str):
    __str__ = __len__ = encode = isascii = None


def strategy(board):
    return Tuple((Text("W"), Set([1]), Dict(a="b")))
