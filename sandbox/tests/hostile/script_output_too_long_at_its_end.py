# expect: bad_value
print("W" * (1 << 20))
