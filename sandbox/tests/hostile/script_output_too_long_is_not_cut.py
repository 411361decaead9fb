# expect: bad_value
print("expected")
try:
    print("W" * 2_000_000, flush=True)
except OSError:
    pass
