# expect: out_of_memory
def strategy(board):
    return bytes(200 << 20)[:1]
