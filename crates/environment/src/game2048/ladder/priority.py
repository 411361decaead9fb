def strategy(board):
    """The first of A, S, D, W that moves anything."""

    def moves(lines):
        return any(b and a in (0, b) for line in lines for a, b in zip(line, line[1:]))

    columns = list(zip(*board))
    if moves(board):
        return "A"
    if moves([column[::-1] for column in columns]):
        return "S"
    if moves([row[::-1] for row in board]):
        return "D"
    return "W"
