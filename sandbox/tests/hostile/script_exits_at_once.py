# expect: prints "early"
import os
import sys

sys.stdout.write("early")
sys.stdout.flush()
sys.stdout.write("kept")
os._exit(0)
print("late")
