# expect: hang
"""
>>> while True: pass
"""
import doctest

doctest.testmod()
