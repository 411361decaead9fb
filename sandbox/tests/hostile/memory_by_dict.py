# expect: out_of_memory
def strategy(board):
    return {index: bytes(1000) for index in range(10**7)}
