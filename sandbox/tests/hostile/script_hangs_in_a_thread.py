# expect: hang
import threading


def forever():
    while True:
        pass


threading.Thread(target=forever, daemon=True).start()
print("beside it")
