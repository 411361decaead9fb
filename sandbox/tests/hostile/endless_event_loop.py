# expect: hang
import asyncio


async def move():
    while True:
        await asyncio.sleep(1e9)


def strategy(board):
    return asyncio.run(move())
