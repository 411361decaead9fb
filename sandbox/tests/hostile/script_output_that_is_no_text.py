# expect: prints "��W"
import sys

sys.stdout.buffer.write(b"\xff\xfeW")
