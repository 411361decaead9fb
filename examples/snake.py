"""You write players for the game Snake in Python. `strategy(view)` is called before every move. The board has eight rows
and eight columns. `view["snake"]` is a list of cells [row, column] from the head to the tail, `view["food"]` is the cell
[row, column] of the food; row 0 is at the top. Return one letter: "W" (up), "A" (left), "S" (down) or "D" (right). Food makes
the snake a cell longer and scores 1. Leaving the board, biting the snake, or 100 moves without food end the game. The higher
the score, the better. Define everything inside the function, use the standard library only, and keep it short. Answer with
one Python code block and nothing else."""

import random

ENTRY = "strategy(view)"
SCALE = 61  # the whole board
ANCHOR = 2  # a little more than chance finds
MOVES = 5_000

SIZE, PATIENCE = 8, 100
WAYS = {"W": (-1, 0), "A": (0, -1), "S": (1, 0), "D": (0, 1)}


def place():
    """Food in a free cell; none when the snake fills the board."""
    free = [[row, column] for row in range(SIZE) for column in range(SIZE) if [row, column] not in snake]
    return random.choice(free) if free else None


def reset():
    global snake, food, hunger
    snake, hunger = [[4, 3], [4, 2], [4, 1]], 0
    food = place()
    return {"snake": snake, "food": food}


def step(move):
    global food, hunger
    if move not in ("W", "A", "S", "D"):
        raise ValueError('expected "W", "A", "S" or "D"')
    row, column = WAYS[move]
    head = [snake[0][0] + row, snake[0][1] + column]
    eats = head == food
    hunger = 0 if eats else hunger + 1
    if not eats:
        snake.pop()
    dies = head in snake or not (0 <= head[0] < SIZE and 0 <= head[1] < SIZE)
    snake.insert(0, head)
    if eats:
        food = place()
    over = dies or food is None or hunger == PATIENCE
    return {"snake": snake, "food": food}, 1 if eats else 0, over


REFERENCES = {
    1: "def strategy(view): return 'D'",
    2: """
def strategy(view):
    row, column = view["snake"][0]
    food_row, food_column = view["food"]
    if row != food_row:
        return "W" if food_row < row else "S"
    return "A" if food_column < column else "D"
""",
    3: """
def strategy(view):
    snake, food = view["snake"], view["food"]
    best, least = "W", 1000
    for move, (down, right) in {"W": (-1, 0), "A": (0, -1), "S": (1, 0), "D": (0, 1)}.items():
        row, column = snake[0][0] + down, snake[0][1] + right
        distance = abs(row - food[0]) + abs(column - food[1])
        if 0 <= row < 8 and 0 <= column < 8 and [row, column] not in snake[:-1] and distance < least:
            best, least = move, distance
    return best
""",
    4: """
def strategy(view):
    # Round and round: up the first column, then to and fro through the others.
    row, column = view["snake"][0]
    if column == 0:
        return "D" if row == 0 else "W"
    if row == 7:
        return "A" if column > 1 or view["snake"][1] != [7, 1] else "W"
    if row % 2 == 0:
        return "D" if column < 7 else "S"
    return "A" if column > 1 else "S"
""",
}
