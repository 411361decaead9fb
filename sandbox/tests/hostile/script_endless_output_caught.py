# expect: hang
while True:
    try:
        print("W" * 1000)
    except OSError:
        pass
