"""You write players for a variant of the game 2048 in Python: reach the tile 2048 in as few moves as you can. `strategy(board)`
is called before every move. `board` is a list of four rows of four integers, the top row first; 0 is an empty cell. Return one
letter: "W" (up), "A" (left), "S" (down) or "D" (right). All tiles slide that way; two equal tiles that meet become their sum,
once a move. A game ends with the tile 2048, when no move changes anything, or after 2,000 moves. It scores its largest tile / 512,
less 0.002 for every move, also for one that changes nothing. Define everything inside the function, use the standard library only, and
keep it short. Answer with one Python code block and nothing else."""

import functools
import random

ENTRY = "strategy(board)"
SCALE = 2  # about the tile 2048 after a thousand moves
MOVES = 2_000


def place():
    empty = [(row, column) for row in range(4) for column in range(4) if board[row][column] == 0]
    row, column = random.choice(empty)
    board[row][column] = 2 if random.random() < 0.9 else 4


@functools.cache
def push(line):
    """A line after a push to its first cell."""
    tiles, after = [tile for tile in line if tile], []
    while tiles:
        tile = tiles.pop(0)
        if tiles and tiles[0] == tile:
            tile += tiles.pop(0)
        after.append(tile)
    return tuple(after) + (0,) * (4 - len(after))


def slide(move):
    lines = board if move in "AD" else zip(*board)
    turn = -1 if move in "DS" else 1
    lines = [push(tuple(line)[::turn])[::turn] for line in lines]
    return [list(row) for row in (lines if move in "AD" else zip(*lines))]


def reset():
    global board, largest
    board, largest = [[0] * 4 for _ in range(4)], 0
    place()
    place()
    return board


def step(move):
    global board, largest
    if move not in ("W", "A", "S", "D"):
        raise ValueError('expected "W", "A", "S" or "D"')
    after = slide(move)
    if after != board:
        board = after
        place()
    before, largest = largest, max(map(max, board))
    over = largest >= 2048 or all([slide(way) == board for way in "WASD"])
    return board, (largest - before) / 512 - 0.002, over


REFERENCES = {
    1: """
def strategy(board, turn=[0]):
    turn[0] += 1
    return "WASD"[turn[0] % 4]
""",
    2: """
def strategy(board):
    def push(line):
        tiles, after = [tile for tile in line if tile], []
        while tiles:
            tile = tiles.pop(0)
            if tiles and tiles[0] == tile:
                tile += tiles.pop(0)
            after.append(tile)
        return tuple(after + [0] * (4 - len(after)))

    def worth(line):
        # Empty cells, merges to come, and tiles that rise or fall all the way.
        levels = [tile.bit_length() for tile in line]
        steps = [b ** 3 - a ** 3 for a, b in zip(levels, levels[1:])]
        rises, falls = sum(step for step in steps if step > 0), -sum(step for step in steps if step < 0)
        merges = sum(a == b != 0 for a, b in zip(levels, levels[1:]))
        return 150 * line.count(0) + 700 * merges - 2 * min(rises, falls)

    rows = [tuple(row) for row in board]
    columns = list(zip(*rows))
    best, most = "A", None
    for move, lines, turn in (("A", rows, 1), ("D", rows, -1), ("W", columns, 1), ("S", columns, -1)):
        after = [push(line[::turn])[::turn] for line in lines]
        value = sum(map(worth, after)) + sum(map(worth, zip(*after)))
        if after != lines and (most is None or value > most):
            best, most = move, value
    return best
""",
    3: """
# Two moves ahead, over every place the next tile may drop: big tiles along a snake.
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
""",
}
