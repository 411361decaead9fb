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
        return after + [0] * (4 - len(after))

    # The move after which most cells are empty.
    columns = [list(column) for column in zip(*board)]
    best, most = "A", -1
    for move, lines, turn in (("A", board, 1), ("D", board, -1), ("W", columns, 1), ("S", columns, -1)):
        after = [push(line[::turn])[::turn] for line in lines]
        empty = sum(line.count(0) for line in after)
        if after != lines and empty > most:
            best, most = move, empty
    return best
""",
    3: """
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
}
