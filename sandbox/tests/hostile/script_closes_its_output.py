# expect: prints "kept\n"
import sys

print("kept")
sys.stdout.close()
sys.stdin.close()
sys.stderr.close()
