# expect: prints ""
import io
import sys

sys.stdout = sys.__stdout__ = io.StringIO()
print("elsewhere")
