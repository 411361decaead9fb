# expect: hang
import atexit


@atexit.register
def forever():
    while True:
        pass
