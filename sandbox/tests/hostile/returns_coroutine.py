# expect: bad_value
async def strategy(board):
    return "W"
