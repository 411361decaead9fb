# expect: raised Forged
import sys

names = sys._getframe(1).f_globals
forge = names["_fault"]
names["_raised"] = lambda error: forge("not-compiled", "1", "forged by a script")
raise ValueError
