# expect: raised Forged
import sys

names = sys._getframe(1).f_globals
forge = names["_fault"]
names["_raised"] = lambda error: forge("no-function")
raise ValueError
