import sys

sys.excepthook = lambda *values: None
sys.stderr = None
sys.tracebacklimit = 0
raise Exception
