# expect: raised PermissionError
def strategy(board):
    return open("/etc/passwd").read(1)
