def strategy(board, c={}, e={}):
    def push(r):
        if r not in c:
            t = [x for x in r if x]
            i = 0
            while i < len(t) - 1:
                if t[i] == t[i + 1]:
                    t[i] *= 2
                    t.pop(i + 1)
                i += 1
            c[r] = tuple(t + [0] * (4 - len(t)))
        return c[r]
    def move(b, m):
        if m in "WS":
            b = list(zip(*b))
        if m in "DS":
            b = [r[::-1] for r in b]
        b = [push(r) for r in b]
        if m in "DS":
            b = [r[::-1] for r in b]
        if m in "WS":
            b = list(zip(*b))
        return b
    def line(r):
        if r not in e:
            v = sum(x * x for x in r)
            up = down = 0
            for x, y in zip(r, r[1:]):
                d = x.bit_length() ** 2 - y.bit_length() ** 2
                if d > 0:
                    down += d
                else:
                    up -= d
            v -= 1 * min(up, down)
            v += 5 * r.count(0)
            e[r] = v
        return e[r]
    def score(b):
        return sum(line(r) for r in b) + sum(line(r) for r in zip(*b))
    def look(b):
        return max(score(move(b, m)) for m in "WASD")
    def chance(b):
        free = [(i, j) for i in range(4) for j in range(4) if b[i][j] == 0]
        free = free[:3]
        t = 0
        for i, j in free:
            r = b[i]
            b[i] = r[:j] + (2,) + r[j + 1:]
            t += look(b)
            b[i] = r
        return t / len(free)
    b = [tuple(r) for r in board]
    f = chance if sum(r.count(0) for r in b) < 4 else score
    moves = [m for m in "WASD" if move(b, m) != b]
    return max(moves, key=lambda m: f(move(b, m)))
