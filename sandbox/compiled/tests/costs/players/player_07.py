def strategy(board):
    def push(r):
        t = [x for x in r if x]
        i = 0
        while i < len(t) - 1:
            if t[i] == t[i + 1]:
                t[i] *= 2
                t.pop(i + 1)
            i += 1
        return t + [0] * (4 - len(t))
    def move(b, m):
        k = "ASDW".index(m)
        for i in range(k):
            b = [list(c) for c in zip(*b[::-1])]
        b = [push(r) for r in b]
        for i in range(k, 4):
            b = [list(c) for c in zip(*b[::-1])]
        return b
    def value(b):
        return 1 * sum(r.count(0) for r in b)
    def look(b):
        return value(b) + max(value(move(b, m)) for m in "WASD")
    top = -1e9
    ans = "W"
    for m in "WDSA":
        n = move(board, m)
        s = look(n)
        if s > top:
            top = s
            ans = m
    return ans
