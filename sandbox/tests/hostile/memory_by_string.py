# expect: out_of_memory
def strategy(board):
    text = "W"
    while True:
        text = "".join([text, text])
