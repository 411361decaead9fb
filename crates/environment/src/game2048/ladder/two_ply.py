"""Two moves ahead, over every place the next tile may drop: big tiles along a snake."""

SNAKE = ((15, 14, 13, 12), (8, 9, 10, 11), (7, 6, 5, 4), (0, 1, 2, 3))
PUSHED = {}
WORTH = {}


def push(line):
    found = PUSHED.get(line)
    if found is None:
        tiles, out = [tile for tile in line if tile], []
        while tiles:
            tile = tiles.pop(0)
            if tiles and tiles[0] == tile:
                tile += tiles.pop(0)
            out.append(tile)
        found = PUSHED[line] = tuple(out + [0] * (4 - len(out)))
    return found


def worth(rows):
    total = 0
    for key in enumerate(rows):
        value = WORTH.get(key)
        if value is None:
            value = WORTH[key] = sum(tile << power for tile, power in zip(key[1], SNAKE[key[0]]))
        total += value
    return total


def replies(rows):
    columns = tuple(zip(*rows))
    left = tuple([push(row) for row in rows])
    if left != rows:
        yield "A", left
    right = tuple([push(row[::-1])[::-1] for row in rows])
    if right != rows:
        yield "D", right
    up = tuple([push(column) for column in columns])
    if up != columns:
        yield "W", tuple(zip(*up))
    down = tuple([push(column[::-1])[::-1] for column in columns])
    if down != columns:
        yield "S", tuple(zip(*down))


def strategy(board):
    best, most = "A", -1
    for move, rows in replies(tuple(map(tuple, board))):
        total = places = 0
        for i, row in enumerate(rows):
            for j in range(4):
                if row[j] == 0:
                    dropped = rows[:i] + (row[:j] + (2,) + row[j + 1 :],) + rows[i + 1 :]
                    total += max([worth(after) for _, after in replies(dropped)], default=0)
                    places += 1
        if total / places > most:
            best, most = move, total / places
    return best
