"""Scores programs in plain Python: a process for each, a number of them at a time, with a wall-clock limit.

Reads one JSON object from standard input:
    programs       sources, each with a function strategy(board)
    workers        number of processes at a time
    timeout_s      wall-clock limit of a process in seconds, including its start; null: no limit
    start          how a process starts, as in multiprocessing: fork or spawn; calls: there are no processes, all programs
                   play one after the other in this one, and only compiling and the calls of strategy are timed
    freeze_after   number of moves in a row without effect that end a game
    moves_max      number of moves with effect that end a game
    seed           seed of the tiles and of the programs' random numbers
Prints one: wall_s and cpu_s of the whole batch, processes included, and a list of games with ending, score and moves.
"""

import functools
import json
import math
import multiprocessing
import multiprocessing.connection
import os
import random
import resource
import sys
import time
from collections import deque


@functools.lru_cache(maxsize=None)
def slide(row):
    """A row pushed towards its first cell, and the sum of the tiles that merges made."""
    tiles = [tile for tile in row if tile]
    pushed, gained, at = [], 0, 0
    while at < len(tiles):
        if at + 1 < len(tiles) and tiles[at] == tiles[at + 1]:
            pushed.append(2 * tiles[at])
            gained += 2 * tiles[at]
            at += 2
        else:
            pushed.append(tiles[at])
            at += 1
    return pushed + [0] * (4 - len(pushed)), gained


def moved(board, letter):
    """The board after a move, and the points of the move."""
    lines = board if letter in "AD" else [list(column) for column in zip(*board)]
    back = letter in "SD"
    pushed = [slide(tuple(line[::-1] if back else line)) for line in lines]
    lines = [line[::-1] if back else list(line) for line, _ in pushed]
    return (lines if letter in "AD" else [list(row) for row in zip(*lines)]), sum(gained for _, gained in pushed)


def add_tile(board, rng):
    empty = [(row, column) for row in range(4) for column in range(4) if not board[row][column]]
    row, column = rng.choice(empty)
    board[row][column] = 2 if rng.random() < 0.9 else 4


def is_over(board):
    if any(0 in row for row in board):
        return False
    lines = board + [list(column) for column in zip(*board)]
    return not any(line[at] == line[at + 1] for line in lines for at in range(3))


def game(source, rules, counted=lambda function: function):
    """Loads a program and plays one game with it. Its code runs through `counted`."""
    module = {"__name__": "strategy"}
    try:
        code = counted(compile)(source, "strategy", "exec")
    except (SyntaxError, ValueError):
        return {"ending": "not_compiled", "score": 0, "moves": 0}
    rng = random.Random(rules["seed"])
    random.seed(rules["seed"])
    board = [[0] * 4 for _ in range(4)]
    add_tile(board, rng)
    add_tile(board, rng)
    score, moves, idle, ending = 0, 0, 0, None
    try:
        counted(exec)(code, module)
        strategy = counted(module["strategy"])
        while ending is None:
            if is_over(board):
                ending = "game_over"
            elif idle == rules["freeze_after"]:
                ending = "freeze"
            elif moves == rules["moves_max"]:
                ending = "move_limit"
            else:
                letter = strategy([list(row) for row in board])
                if not isinstance(letter, str) or letter not in ("W", "A", "S", "D"):
                    ending = "bad_move"
                    continue
                after, gained = moved(board, letter)
                if after == board:
                    idle += 1
                else:
                    board, score, moves, idle = after, score + gained, moves + 1, 0
                    add_tile(board, rng)
    except BaseException:
        ending = "raised"
    return {"ending": ending, "score": score, "moves": moves}


def play(sender, source, rules):
    """The work of a process. Output of the program is discarded."""
    sys.stdout = open(os.devnull, "w")
    sender.send(game(source, rules))
    sender.close()


def calls_alone(work):
    """Plays all programs in this process; returns their results and the seconds of their own code."""
    seconds = 0.0

    def counted(function):
        def call(*arguments):
            nonlocal seconds
            begin = time.thread_time()
            try:
                return function(*arguments)
            finally:
                seconds += time.thread_time() - begin

        return call

    printed, sys.stdout = sys.stdout, open(os.devnull, "w")
    games = [game(source, work["rules"], counted) for source in work["programs"]]
    sys.stdout = printed
    return games, seconds


def finish(process, receiver):
    process.join()
    process.close()
    receiver.close()


def run(work):
    """Plays all programs; returns their results in order."""
    context = multiprocessing.get_context(work["start"])
    waiting = deque(enumerate(work["programs"]))
    games = [None] * len(waiting)
    running = {}
    while waiting or running:
        while waiting and len(running) < work["workers"]:
            index, source = waiting.popleft()
            receiver, sender = context.Pipe(duplex=False)
            process = context.Process(target=play, args=(sender, source, work["rules"]))
            deadline = time.monotonic() + (work["timeout_s"] or math.inf)
            process.start()
            sender.close()
            running[receiver] = (index, process, deadline)
        first = min(deadline for _, _, deadline in running.values())
        patience = None if first == math.inf else max(0.0, first - time.monotonic())
        for receiver in multiprocessing.connection.wait(list(running), patience):
            index, process, _ = running.pop(receiver)
            try:
                games[index] = receiver.recv()
            except EOFError:
                games[index] = {"ending": "died", "score": 0, "moves": 0}
            finish(process, receiver)
        now = time.monotonic()
        for receiver, (index, process, deadline) in list(running.items()):
            if deadline <= now:
                del running[receiver]
                process.kill()
                games[index] = {"ending": "timed_out", "score": 0, "moves": 0}
                finish(process, receiver)
    return games


def cpu_seconds():
    """Processor seconds of this process and of its children that have ended."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


if __name__ == "__main__":
    work = json.load(sys.stdin)
    # A process gets only the settings that it needs, without the programs.
    rules = {key: work[key] for key in ("freeze_after", "moves_max", "seed")}
    work = {**work, "rules": rules}
    begin, cpu_begin = time.monotonic(), cpu_seconds()
    if work["start"] == "calls":
        played, cpu = calls_alone(work)
        wall = cpu
    else:
        played = run(work)
        wall, cpu = time.monotonic() - begin, cpu_seconds() - cpu_begin
    json.dump({"wall_s": wall, "cpu_s": cpu, "games": played}, sys.stdout)
