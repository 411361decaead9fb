def answer(arguments):
    deep = []
    for _ in range(1 << 12):
        deep = [deep]
    return deep
