"""A debugger that nobody sits at; `doctest` derives one of its own from it."""


class Pdb:
    def __init__(self, *_, **__):
        pass

    def set_trace(self, *_, **__):
        raise PermissionError("a program has no debugger")

    def reset(self):
        pass

    set_continue, run = reset, set_trace


def set_trace(*_, **__):
    Pdb().set_trace()


post_mortem = pm = run = set_trace
