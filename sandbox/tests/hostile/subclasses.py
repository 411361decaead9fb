# expect: raised IndexError
def strategy(board):
    doors = [c for c in object.__subclasses__() if c.__name__ in ("Popen", "FileIO_", "socket")]
    return doors[0]
