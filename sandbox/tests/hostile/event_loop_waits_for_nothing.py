# expect: raised RuntimeError
import asyncio


async def move():
    await asyncio.Future()


def strategy(board):
    return asyncio.run(move())
