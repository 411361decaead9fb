# expect: raised OSError
print("W" * (1 << 20))
