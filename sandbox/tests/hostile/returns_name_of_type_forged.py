# expect: bad_value
def strategy(board):
    return type("W\nnot-compiled\n" * 1000, (), {})()
