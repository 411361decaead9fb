# expect: stack_overflow
class Mirror:
    def __getattr__(self, name):
        return getattr(self, name + "_")


def strategy(board):
    return Mirror().move
