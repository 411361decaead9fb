# expect: raised ZeroDivisionError
import sys


class Output:
    def flush(self):
        1 / 0


sys.stdout = Output()
