# expect: raised UnicodeEncodeError
print("\udc80")
