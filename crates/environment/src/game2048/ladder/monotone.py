"""One move ahead: empty cells, merges to come, and lines that rise or fall all the way."""

PUSHED = {}
WORTH = {}


def push(line):
    if line not in PUSHED:
        tiles, out = [tile for tile in line if tile], []
        while tiles:
            tile = tiles.pop(0)
            if tiles and tiles[0] == tile:
                tile += tiles.pop(0)
            out.append(tile)
        PUSHED[line] = tuple(out + [0] * (4 - len(out)))
    return PUSHED[line]


def worth(line):
    if line not in WORTH:
        up = down = merges = 0
        for a, b in zip(line, line[1:]):
            merges += a == b != 0
            step = b.bit_length() ** 3 - a.bit_length() ** 3
            up += max(step, 0)
            down += max(-step, 0)
        WORTH[line] = 150 * line.count(0) + 700 * merges - 2 * min(up, down)
    return WORTH[line]


def strategy(board):
    rows = [tuple(row) for row in board]
    columns = list(zip(*rows))
    best, most = "A", None
    for move, lines in (("A", rows), ("D", rows), ("W", columns), ("S", columns)):
        if move in "AW":
            pushed = [push(line) for line in lines]
        else:
            pushed = [push(line[::-1])[::-1] for line in lines]
        if pushed == lines:
            continue
        value = sum(map(worth, pushed)) + sum(map(worth, zip(*pushed)))
        if most is None or value > most:
            best, most = move, value
    return best
