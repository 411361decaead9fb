# expect: raised SystemExit
import sys

print("done")
sys.exit(3)
