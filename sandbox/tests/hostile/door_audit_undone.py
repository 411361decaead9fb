# expect: raised Trap
import _io
import sys


def strategy(board):
    frame = sys._getframe()
    while frame.f_back is not None:
        frame = frame.f_back
    names = frame.f_globals
    if "_audit" in names:
        names["_audit"].__self__.clear()
    return _io.FileIO("/etc/passwd").read(1)
