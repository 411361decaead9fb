"""Chance as a program finds it: all of it follows from the seed that the host gives."""

import _random
import os
import random


class Random(random.Random):
    """Seeded by what follows from the host's seed where a program gives none: there is no entropy to be had."""

    def seed(self, a=None, version=2):
        super().seed(int.from_bytes(_urandom(32)) if a is None else a, version)


_default, _entropy = 0, None
_generator = Random(_default)
Random.__module__ = "random"
random.Random = _random.Random = Random
# So that it stays one of its kind.
random.SystemRandom.__bases__ = (Random,)
random._inst = _generator
for _name in (
    "seed", "random", "uniform", "triangular", "randint", "choice", "randrange", "sample", "shuffle", "choices",
    "normalvariate", "lognormvariate", "expovariate", "vonmisesvariate", "gammavariate", "gauss", "betavariate",
    "binomialvariate", "paretovariate", "weibullvariate", "getstate", "setstate", "getrandbits", "randbytes",
):  # fmt: skip
    setattr(random, _name, getattr(_generator, _name))


def seed(number):
    """Seeds what a program draws from without a seed of its own."""
    global _default
    _default = number
    _generator.seed(number)


def _urandom(size, /):
    """Numbers of a generator of their own, so that an identifier drawn does not move the others."""
    global _entropy
    if _entropy is None:
        _entropy = Random(f"entropy {_default}")
    return _entropy.randbytes(size)


os.urandom = random._urandom = staticmethod(_urandom)
