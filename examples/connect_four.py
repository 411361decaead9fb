"""You write players for the game Connect Four in Python. `strategy(grid)` is called whenever it is your turn. `grid` is a
list of six rows of seven integers, the top row first: 0 is an empty cell, 1 is a piece of yours, 2 one of your opponent's.
Return the number of a column from 0 to 6 that is not full; your piece falls to its lowest empty cell. Four in a row, a column
or a diagonal win. You play five games, and begin every other one. A game that you win scores 1, a full board 0.5. The opponent
wins when it can and stops you when it must, and else plays anywhere. The higher the score, the better. Define everything
inside the function, use the standard library only, and keep it short. Answer with one Python code block and nothing else."""

import random

ENTRY = "strategy(grid)"
SCALE = 5  # every game won
ANCHOR = 0.5  # a little more than blind play wins
MOVES = 105

GAMES = 5
ROWS, COLUMNS = range(6), range(7)
LINES = {(row, column): [] for row in ROWS for column in COLUMNS}  # of a cell: the other three of each four with it
for row, column in LINES:
    for down, right in ((0, 1), (1, 0), (1, 1), (1, -1)):
        four = [(row + i * down, column + i * right) for i in range(4)]
        if four[3] in LINES:
            for cell in four:
                LINES[cell].append([other for other in four if other != cell])


def free(column):
    """The row in which a piece comes to rest; none in a full column."""
    return next((row for row in reversed(ROWS) if board[row][column] == 0), None)


def wins(player, column):
    """Whether a piece there makes four in a row."""
    cell = free(column), column
    return any([all([board[r][c] == player for r, c in line]) for line in LINES[cell]])


def begin():
    global board
    board = [[0] * 7 for _ in ROWS]
    if played % 2:
        reply()


def reply():
    """The opponent's piece; whether it wins."""
    columns = [column for column in COLUMNS if board[0][column] == 0]
    winning = [column for column in columns if wins(2, column)]
    threats = [column for column in columns if wins(1, column)]
    column = (winning or threats or [random.choice(columns)])[0]
    board[free(column)][column] = 2
    return bool(winning)


def reset():
    global played
    played = 0
    begin()
    return board


def step(column):
    global played
    if type(column) is not int or column not in COLUMNS or board[0][column] != 0:
        raise ValueError("expected a column from 0 to 6 that is not full")
    reward = 1 if wins(1, column) else 0
    board[free(column)][column] = 1
    over = reward == 1 or (0 in board[0] and reply())
    if not over and 0 not in board[0]:
        reward, over = 0.5, True
    if over:
        played += 1
        begin()
    return board, reward, played == GAMES


REFERENCES = {
    1: "def strategy(grid): return grid[0].index(0)",
    2: """
def strategy(grid):
    # Wins and stops in columns alone, and else plays near the middle.
    free = [column for column in range(7) if grid[0][column] == 0]
    for player in (1, 2):
        for column in free:
            if [row[column] for row in grid if row[column] != 0][:3] == [player] * 3:
                return column
    return min(free, key=lambda column: abs(column - 3))
""",
    3: """
def strategy(grid):
    def wins(player, column):
        row = max(row for row in range(6) if grid[row][column] == 0)
        for down, right in ((0, 1), (1, 0), (1, 1), (1, -1)):
            run = 1
            for way in (1, -1):
                r, c = row + way * down, column + way * right
                while 0 <= r < 6 and 0 <= c < 7 and grid[r][c] == player:
                    run, r, c = run + 1, r + way * down, c + way * right
            if run >= 4:
                return True
        return False

    columns = sorted((column for column in range(7) if grid[0][column] == 0), key=lambda column: abs(column - 3))
    for player in (1, 2):
        for column in columns:
            if wins(player, column):
                return column
    return columns[0]
""",
}
