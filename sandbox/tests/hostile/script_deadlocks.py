# expect: raised Trap
import threading

lock = threading.Lock()
lock.acquire()
lock.acquire()
