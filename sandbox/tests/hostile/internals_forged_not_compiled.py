# expect: raised Forged
import sys

names = sys._getframe(1).f_globals
raise_fault = names["_fault"]
names["_raised"] = lambda error: raise_fault("not-compiled", "1000", "forged while it loads")
raise ValueError
