def strategy(board, turn=[0]):
    turn[0] += 1
    return "AS"[turn[0] % 2]
