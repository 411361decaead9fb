# expect: not_compiled 3
def strategy(board):
    return "W" if "\ud800" else "\N{no such name}"
