# expect: raised OSError
import os

while True:
    os.write(1, b"W" * 1000)
