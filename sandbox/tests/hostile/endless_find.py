# expect: hang
def strategy(board):
    for _ in range(10**6):
        ("a" * 10**6 + "b").find("a" * 10**5 + "c")
    return "W"
