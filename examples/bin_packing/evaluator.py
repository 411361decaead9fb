"""You write heuristics for online bin packing in Python. Items of whole sizes from 1 to 100 arrive one after the other, and each has
to be put at once into a bin of size 150. `priority(item, rooms)` is called for every item: `rooms` is a list of the room left in
each bin that the item fits into, the last of which is a new bin. Return a list of as many numbers; the item goes into the bin with the
largest, the first of equal ones. What counts is how few bins are used: combined_score is 1000 less 40 for each per cent of bins above
what the items would fill. Define everything in one program and use the standard library only."""

import importlib.util
import random

SCALE = 1000
SIZE = 150
INSTANCES = 4
ITEMS = 250


def packed(items, priority):
    """Rooms of the bins that the items were put into."""
    bins = []
    for item in items:
        fitting = [place for place, room in enumerate(bins) if room >= item] + [len(bins)]
        rooms = [bins[place] for place in fitting[:-1]] + [SIZE]
        values = list(priority(item, list(rooms)))
        if len(values) != len(rooms):
            raise ValueError(f"{len(values)} priorities for {len(rooms)} bins")
        place = fitting[max(range(len(values)), key=lambda at: values[at])]
        if place == len(bins):
            bins.append(SIZE)
        bins[place] -= item
    return bins


def evaluate(program_path):
    spec = importlib.util.spec_from_file_location("program", program_path)
    program = importlib.util.module_from_spec(spec)
    # What the items are is drawn before the program runs, which could draw them too.
    chance = random.Random(random.random())
    instances = [[chance.randint(20, 100) for _ in range(ITEMS)] for _ in range(INSTANCES)]
    spec.loader.exec_module(program)
    excess = 0.0
    for items in instances:
        least = -(-sum(items) // SIZE)
        excess += (len(packed(items, program.priority)) / least - 1) / INSTANCES
    return {"combined_score": SCALE * max(0.0, 1 - 4 * excess), "excess": excess}
