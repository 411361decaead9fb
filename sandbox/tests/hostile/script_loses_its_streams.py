# expect: raised RuntimeError
import sys

sys.stdin = sys.stdout = sys.stderr = None
input()
