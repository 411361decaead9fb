# expect: raised PermissionError
def strategy(board):
    with open("/tmp/move", "w") as file:
        file.write("W")
    return "W"
