def strategy(board):
    """The move whose merges are worth most now."""

    def push(line):
        tiles = [tile for tile in line if tile]
        out, gain = [], 0
        while tiles:
            tile = tiles.pop(0)
            if tiles and tiles[0] == tile:
                tile += tiles.pop(0)
                gain += tile
            out.append(tile)
        return out + [0] * (4 - len(out)), gain

    columns = [list(column) for column in zip(*board)]
    best, most = "W", -1
    for move, lines in (
        ("A", board),
        ("S", [column[::-1] for column in columns]),
        ("D", [row[::-1] for row in board]),
        ("W", columns),
    ):
        pushed = [push(line) for line in lines]
        if [line for line, _ in pushed] != lines:
            gain = sum(gain for _, gain in pushed)
            if gain > most:
                best, most = move, gain
    return best
