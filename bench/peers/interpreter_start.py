"""Measures the start of an interpreter: starts `python3 -I -c pass` as often as its argument says, one after the other.

Prints wall_s and cpu_s of one start on average.
"""

import json
import resource
import subprocess
import sys
import time


def children_seconds():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    count = int(sys.argv[1])
    begin, cpu_begin = time.monotonic(), children_seconds()
    for _ in range(count):
        subprocess.run([sys.executable, "-I", "-c", "pass"], check=True)
    wall, cpu = time.monotonic() - begin, children_seconds() - cpu_begin
    json.dump({"wall_s": wall / count, "cpu_s": cpu / count}, sys.stdout)
