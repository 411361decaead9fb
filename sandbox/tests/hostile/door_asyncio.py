# expect: gives "W"
import asyncio


async def move():
    return "W"


def strategy(board):
    return asyncio.run(move())
