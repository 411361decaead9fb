# expect: raised Trap
import sys

names = sys._getframe(1).f_globals
err = names["Err"]
names["_raised"] = lambda error: err(12345)
raise ValueError
