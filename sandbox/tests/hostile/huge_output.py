# expect: gives "W"
def strategy(board):
    for _ in range(100):
        print("x" * 10000)
    return "W"
