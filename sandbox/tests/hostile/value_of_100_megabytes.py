# expect: out_of_memory
def strategy(board):
    return ["W" * 50_000_000, "A" * 50_000_000]
