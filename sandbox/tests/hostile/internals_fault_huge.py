# expect: raised Trap
import sys

names = sys._getframe(1).f_globals
err = names["Err"]
names["_raised"] = lambda error: err("x" * 10_000_000)
raise ValueError
