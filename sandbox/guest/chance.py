"""Chance as a program finds it: all of it follows from the seed that the host gives."""

import os
import random


class Random(random.Random):
    """Seeded by the host where a program gives no seed: there is no entropy to be had."""

    default = 0

    def __init__(self, x=None):
        super().__init__(Random.default if x is None else x)

    def seed(self, a=None, version=2):
        super().seed(Random.default if a is None else a, version)


_generator, _entropy = Random(), None
random.Random = Random
random._inst = _generator
for _name in (
    "seed", "random", "uniform", "triangular", "randint", "choice", "randrange", "sample", "shuffle", "choices",
    "normalvariate", "lognormvariate", "expovariate", "vonmisesvariate", "gammavariate", "gauss", "betavariate",
    "binomialvariate", "paretovariate", "weibullvariate", "getstate", "setstate", "getrandbits", "randbytes",
):  # fmt: skip
    setattr(random, _name, getattr(_generator, _name))


def seed(number):
    """Seeds what a program draws from without a seed of its own."""
    Random.default = number
    _generator.seed(number)


def _urandom(size, /):
    """Numbers of a generator of their own, so that an identifier drawn does not move the others."""
    global _entropy
    if _entropy is None:
        _entropy = Random(f"entropy {Random.default}")
    return _entropy.randbytes(size)


os.urandom = random._urandom = staticmethod(_urandom)
