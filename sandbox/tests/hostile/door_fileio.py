# expect: raised PermissionError
import io


def strategy(board):
    return io.FileIO(0).read(1)
