# expect: raised PermissionError
import io


def strategy(board):
    return io.open_code("/etc/passwd").read()
