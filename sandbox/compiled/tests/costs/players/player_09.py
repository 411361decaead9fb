def strategy(board):
    def slide(r):
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
        b = [slide(r) for r in b]
        for i in range(k, 4):
            b = [list(c) for c in zip(*b[::-1])]
        return b
    def score(b):
        v = 10 * (b[0][3] == max(map(max, b)))
        v += 10 * sum(r.count(0) for r in b)
        return v
    def look(b):
        return max(score(move(b, m)) for m in "WASD")
    def chance(b):
        free = [(i, j) for i in range(4) for j in range(4) if b[i][j] == 0]
        free = free[:2]
        t = 0
        for i, j in free:
            b[i][j] = 2
            t += look(b)
            b[i][j] = 0
        return t / len(free)
    f = chance if sum(r.count(0) for r in board) < 4 else look
    best = -1
    choice = "W"
    for m in "WADS":
        n = move(board, m)
        if n == board:
            continue
        s = f(n)
        if s > best:
            best = s
            choice = m
    return choice
