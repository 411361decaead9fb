# expect: prints "6\nlast line\n"
input()
print(sum(map(int, input().split())))
print(input())
