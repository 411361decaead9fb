# expect: prints "early"
import os
import sys

sys.stdout.write("early")
os._exit(0)
print("late")
