# expect: gives "W"
kept = []


def strategy(board):
    try:
        while True:
            kept.append(bytearray(1 << 20))
    except MemoryError:
        kept.clear()
    return "W"
