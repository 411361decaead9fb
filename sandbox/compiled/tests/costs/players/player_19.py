def strategy(board, c={}, e={}):
    def push(r):
        if r not in c:
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
            c[r] = tuple(o + [0] * (4 - len(o)))
        return c[r]
    def after(b, m):
        if m in "WS":
            b = list(zip(*b))
        if m in "DS":
            b = [push(r[::-1])[::-1] for r in b]
        else:
            b = [push(r) for r in b]
        if m in "WS":
            b = list(zip(*b))
        return b
    def line(r):
        if r not in e:
            v = 200 * (sorted(r) in (list(r), list(r[::-1])))
            v += 50 * r.count(0)
            v += 20 * sum(x == y > 0 for x, y in zip(r, r[1:]))
            e[r] = v
        return e[r]
    def value(b):
        return sum(line(r) for r in b) + sum(line(r) for r in zip(*b))
    def look(b):
        return max(value(after(b, m)) for m in "WASD")
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
    moves = [m for m in "WDAS" if after(b, m) != b]
    return max(moves, key=lambda m: chance(after(b, m)))
