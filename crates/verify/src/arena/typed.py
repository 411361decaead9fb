import numpy as __numpy


def __typed(value):
    """The value, with every array as its type, shape and items, and every scalar of numpy as its type and item."""
    if isinstance(value, __numpy.ndarray) and not isinstance(value, __numpy.ma.MaskedArray):
        return (value.dtype.name, value.shape, value.tolist())
    if isinstance(value, __numpy.generic):
        return (value.dtype.name, value.item())
    if isinstance(value, (list, tuple)):
        return (list if isinstance(value, list) else tuple)(map(__typed, value))
    if isinstance(value, dict):
        return {key: __typed(item) for key, item in value.items()}
    return value


def __call_typed(name, arguments):
    owner, _, method = name.partition(".")
    function = globals().get(owner)
    if function is None:
        raise NameError(f"no function `{name}`")
    return __typed((getattr(function(), method) if method else function)(*arguments))
