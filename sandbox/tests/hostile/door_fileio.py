# expect: raised PermissionError
import _io


def strategy(board):
    return _io.FileIO(0).read(1)
