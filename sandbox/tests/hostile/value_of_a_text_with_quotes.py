# expect: gives "\"],[\"W\\"
def strategy(board):
    return '"],["W' + chr(92)
