# expect: stack_overflow
def strategy(board):
    compile("a" + ".a" * 100000, "", "eval")
    return "W"
