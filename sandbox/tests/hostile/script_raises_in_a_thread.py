# expect: prints "beside it\n"
import threading

threading.Thread(target=lambda: 1 / 0).start()
print("beside it")
