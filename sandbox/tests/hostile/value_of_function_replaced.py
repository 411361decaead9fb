# expect: gives "second"
def strategy(board):
    global strategy
    strategy = lambda board: "second"
    return "first"
