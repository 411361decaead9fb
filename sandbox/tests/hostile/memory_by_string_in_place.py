# expect: raised TypeError
def strategy(board):
    text = "W"
    while True:
        text += text
