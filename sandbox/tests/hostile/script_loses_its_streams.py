# expect: raised AttributeError
import sys

sys.stdin = sys.stdout = sys.stderr = None
input()
