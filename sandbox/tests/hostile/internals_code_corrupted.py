# expect: raised Trap
def move():
    return "W"


def strategy(board):
    move.__code__ = move.__code__.replace(co_code=b"\xff\x00" * 20)
    return move()
