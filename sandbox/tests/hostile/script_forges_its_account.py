# expect: raised TypeError
import sys

frame = sys._getframe(1)
frame.f_globals["streams"].Output = frame.f_globals["b"] = None
frame.f_locals["output"].parts = ["no bytes"]
frame.f_locals["output"].parts = None
