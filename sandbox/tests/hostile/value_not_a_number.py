# expect: gives [{"float":"nan"},{"float":"-inf"}]
def strategy(board):
    return [float("nan"), -1e999]
