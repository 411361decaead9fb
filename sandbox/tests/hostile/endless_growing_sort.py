# expect: raised ValueError
def strategy(board):
    cells = list(range(1000))
    cells.sort(key=lambda cell: cells.append(cell) or cell)
    return "W"
