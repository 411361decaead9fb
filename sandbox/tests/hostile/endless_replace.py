# expect: hang
def strategy(board):
    text = "ab" * 10**6
    for _ in range(10**6):
        text = text.replace("ab", "ba")
    return "W"
