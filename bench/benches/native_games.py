"""Times a strategy in plain CPython: loading it for each game, and its calls.

Reads {"source", "games": lists of boards}; prints seconds.
"""

import json
import sys
import time

work = json.load(sys.stdin)
seconds = 0.0
for boards in work["games"]:
    begin = time.perf_counter()
    module = {"__name__": "strategy"}
    exec(compile(work["source"], "strategy", "exec"), module)
    strategy = module["strategy"]
    for board in boards:
        strategy(board)
    seconds += time.perf_counter() - begin
print(seconds)
