def strategy(board):
    def slide(r):
        t = [x for x in r if x]
        for i in range(len(t) - 1):
            if t[i] == t[i + 1]:
                t[i] *= 2
                t[i + 1] = 0
        t = [x for x in t if x]
        return t + [0] * (4 - len(t))
    def move(b, m):
        if m == "A":
            return [slide(r) for r in b]
        if m == "D":
            return [slide(r[::-1])[::-1] for r in b]
        t = [list(c) for c in zip(*b)]
        if m == "W":
            t = [slide(r) for r in t]
        else:
            t = [slide(r[::-1])[::-1] for r in t]
        return [list(c) for c in zip(*t)]
    def score(b):
        v = 10 * (b[0][3] == max(map(max, b)))
        v += 5 * sum(x == y > 0 for r in b + list(zip(*b)) for x, y in zip(r, r[1:]))
        return v
    def look(b):
        return max(score(move(b, m)) for m in "WASD")
    def chance(b):
        free = [(i, j) for i in range(4) for j in range(4) if b[i][j] == 0]
        t = 0
        for i, j in free:
            b[i][j] = 2
            t += look(b)
            b[i][j] = 0
        return t / len(free)
    top = -10 ** 9
    choice = "S"
    for m in "SDWA":
        n = move(board, m)
        if n == board:
            continue
        s = chance(n)
        if s > top:
            top = s
            choice = m
    return choice
