# expect: raised SystemExit
import sys

sys.exit(0)
