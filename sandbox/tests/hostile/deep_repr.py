# expect: hang
def strategy(board):
    nest = []
    for _ in range(10**5):
        nest = [nest]
    return repr(nest)
