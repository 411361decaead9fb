# expect: gives "W"
import gc


def strategy(board):
    gc.unfreeze()
    names = {cls.__name__ for cls in gc.get_objects() if isinstance(cls, type)}
    return "X" if names & {"socket", "Popen", "CDLL", "mmap"} else "W"
