# expect: raised Trap
import gc


def strategy(board):
    gc.unfreeze()
    streams = [value for value in gc.get_objects() if type(value).__name__ == "FileIO" and not value.closed]
    for stream in streams:
        stream.read(1) if stream.readable() else stream.write(b"W")
    return "W"
