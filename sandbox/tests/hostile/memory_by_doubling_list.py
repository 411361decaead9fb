# expect: out_of_memory
def strategy(board):
    cells = [0]
    while True:
        cells.extend(cells)
