# expect: raised NameError
import builtins

for name in list(vars(builtins)):
    if name not in ("BaseException", "strategy"):
        delattr(builtins, name)


def strategy(board):
    return "W"
