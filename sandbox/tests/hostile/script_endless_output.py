# expect: raised OSError
while True:
    print("W" * 1000)
