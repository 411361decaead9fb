# expect: gives "W"
def strategy(board):
    nest = None
    for _ in range(10**5):
        nest = (nest,)
    del nest
    return "W"
