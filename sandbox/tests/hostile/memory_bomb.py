# expect: out_of_memory
def strategy(board):
    kept = []
    while True:
        kept.append(bytearray(1 << 20))
