# expect: raised SystemError
def move():
    return "W"


def strategy(board):
    code = move.__code__
    move.__code__ = code.replace(co_consts=(), co_code=b"\x53\x7f" + code.co_code)
    return move()
