# expect: raised Trap
import gc


def strategy(board):
    gc.get_referents(str.__dict__)[0]["strip"] = lambda self: "A"
    gc.get_referents(str.__dict__)[0].pop("encode")
    return "W".strip()
