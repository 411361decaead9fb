# expect: raised ZeroDivisionError
import threading

threading.Thread(target=lambda: 1 / 0).start()
