# expect: raised FileNotFoundError
def strategy(board):
    return open("/etc/passwd").read(1)
