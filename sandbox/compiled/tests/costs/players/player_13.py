def strategy(board):
    def slide(r):
        o = []
        last = 0
        for x in r:
            if x == 0:
                continue
            if x == last:
                o[-1] = 2 * x
                last = 0
            else:
                o.append(x)
                last = x
        return o + [0] * (4 - len(o))
    def move(b, m):
        if m in "WS":
            b = [list(c) for c in zip(*b)]
        if m in "DS":
            b = [slide(r[::-1])[::-1] for r in b]
        else:
            b = [slide(r) for r in b]
        if m in "WS":
            b = [list(c) for c in zip(*b)]
        return b
    def value(b):
        v = 10 * sum(x >= y for r in b + list(zip(*b)) for x, y in zip(r, r[1:]))
        v += 1 * sum(x == y > 0 for r in b + list(zip(*b)) for x, y in zip(r, r[1:]))
        return v
    def look(b):
        return value(b) + max(value(move(b, m)) for m in "WASD")
    def chance(b):
        free = [(i, j) for i in range(4) for j in range(4) if b[i][j] == 0]
        t = 0
        for i, j in free:
            b[i][j] = 2
            t += look(b)
            b[i][j] = 0
        return t / len(free)
    best = -10 ** 9
    choice = "W"
    for m in "WADS":
        n = move(board, m)
        if n == board:
            continue
        s = chance(n)
        if s > best:
            best = s
            choice = m
    return choice
