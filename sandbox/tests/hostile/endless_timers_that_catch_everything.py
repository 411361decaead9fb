# expect: hang
import asyncio


def again(loop):
    try:
        loop.call_soon(again, loop)
    except BaseException:
        again(loop)


def strategy(board):
    loop = asyncio.new_event_loop()
    again(loop)
    loop.run_forever()
