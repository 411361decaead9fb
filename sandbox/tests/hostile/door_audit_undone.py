# expect: raised Trap
import sys


def strategy(board):
    frame = sys._getframe()
    while frame.f_back is not None:
        frame = frame.f_back
    names = frame.f_globals
    names["_DENIED"] = ()
    if "_audit" in names:
        names["_audit"].__defaults__ = ((), ValueError)
    return open("/etc/passwd").read(1)
