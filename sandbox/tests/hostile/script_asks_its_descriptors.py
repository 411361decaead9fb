# expect: prints "False False 2 0 1 17\n"
import os
import sys

streams = sys.stdin, sys.stdout
print(*(stream.isatty() for stream in streams), sys.stderr.fileno(), *(s.fileno() for s in streams), os.fstat(0).st_size)
