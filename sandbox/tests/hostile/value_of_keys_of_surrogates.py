# expect: bad_value
def strategy(board):
    return {"\udcff": 1}
