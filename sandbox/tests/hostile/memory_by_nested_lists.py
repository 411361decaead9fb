# expect: out_of_memory
def strategy(board):
    nest = []
    while True:
        nest = [nest, [0] * 10**6]
