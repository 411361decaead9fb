# expect: hang
def strategy(board):
    while True:
        try:
            return "W"
        finally:
            continue
