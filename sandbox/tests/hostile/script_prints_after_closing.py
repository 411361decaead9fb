# expect: raised ValueError
import sys

sys.stdout.close()
print("lost")
