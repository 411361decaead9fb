def strategy(board):
    def push(r):
        t = [x for x in r if x]
        for i in range(len(t) - 1):
            if t[i] == t[i + 1]:
                t[i] *= 2
                t[i + 1] = 0
        t = [x for x in t if x]
        return t + [0] * (4 - len(t))
    def move(b, m):
        k = "ASDW".index(m)
        for i in range(k):
            b = [list(c) for c in zip(*b[::-1])]
        b = [push(r) for r in b]
        for i in range(k, 4):
            b = [list(c) for c in zip(*b[::-1])]
        return b
    def rate(b):
        return sum(x * x for r in b for x in r)
    def look(b):
        return max(rate(move(b, m)) for m in "WASD")
    top = -1e9
    ans = "D"
    for m in "DWAS":
        n = move(board, m)
        if n == board:
            continue
        s = look(n)
        if s > top:
            top = s
            ans = m
    return ans
