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
        if m == "A":
            return [push(r) for r in b]
        if m == "D":
            return [push(r[::-1])[::-1] for r in b]
        t = [list(c) for c in zip(*b)]
        if m == "W":
            t = [push(r) for r in t]
        else:
            t = [push(r[::-1])[::-1] for r in t]
        return [list(c) for c in zip(*t)]
    def score(b):
        v = 0
        for r in b + list(zip(*b)):
            up = down = 0
            for x, y in zip(r, r[1:]):
                d = x.bit_length() ** 2 - y.bit_length() ** 2
                if d > 0:
                    down += d
                else:
                    up -= d
            v -= 10 * min(up, down)
        v += 20 * sum(r.count(0) for r in b)
        return v
    def look(b):
        return score(b) + max(score(move(b, m)) for m in "WASD")
    def chance(b):
        free = [(i, j) for i in range(4) for j in range(4) if b[i][j] == 0]
        free = free[:2]
        t = 0
        for i, j in free:
            b[i][j] = 2
            t += look(b)
            b[i][j] = 0
        return t / len(free)
    f = chance if sum(r.count(0) for r in board) < 8 else look
    best = -10 ** 9
    ans = "A"
    for m in "ASWD":
        n = move(board, m)
        if n != board:
            s = f(n)
            if s < best:
                best = s
                ans = m
    return ans
