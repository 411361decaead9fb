def strategy(board, seen={}, known={}):
    def slide(r):
        if r not in seen:
            t = [x for x in r if x]
            i = 0
            while i < len(t) - 1:
                if t[i] == t[i + 1]:
                    t[i] *= 2
                    t.pop(i + 1)
                i += 1
            seen[r] = tuple(t + [0] * (4 - len(t)))
        return seen[r]
    def move(b, m):
        if m in "WS":
            b = list(zip(*b))
        if m in "DS":
            b = [r[::-1] for r in b]
        b = [slide(r) for r in b]
        if m in "DS":
            b = [r[::-1] for r in b]
        if m in "WS":
            b = list(zip(*b))
        return b
    def line(r):
        if r not in known:
            v = -200 * sum(abs(x.bit_length() - y.bit_length()) for x, y in zip(r, r[1:]))
            up = down = 0
            for x, y in zip(r, r[1:]):
                d = x.bit_length() ** 2 - y.bit_length() ** 2
                if d > 0:
                    down += d
                else:
                    up -= d
            v -= 10 * min(up, down)
            known[r] = v
        return known[r]
    def score(b):
        return sum(map(line, b)) + sum(map(line, zip(*b)))
    def look(b):
        return max(score(move(b, m)) for m in "WASD")
    def chance(b):
        free = [(i, j) for i in range(4) for j in range(4) if b[i][j] == 0]
        t = 0
        for i, j in free:
            r = b[i]
            b[i] = r[:j] + (2,) + r[j + 1:]
            t += look(b)
            b[i] = r
        return t / len(free)
    b = [tuple(r) for r in board]
    top = -1e9
    ans = "D"
    for m in "DSAW":
        n = move(b, m)
        if n == b:
            continue
        s = chance(n)
        if s > top:
            top = s
            ans = m
    return ans
