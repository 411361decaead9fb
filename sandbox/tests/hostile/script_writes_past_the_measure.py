# expect: raised Trap
import sys

output = sys.stdout.buffer
output.parts = [b"W" * (1 << 21)]
