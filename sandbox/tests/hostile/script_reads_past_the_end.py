# expect: raised EOFError
while True:
    input()
