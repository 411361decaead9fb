def strategy(board, c={}, h={}):
    def slide(r):
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
    def move(b, m):
        if m == "A":
            return [slide(r) for r in b]
        if m == "D":
            return [slide(r[::-1])[::-1] for r in b]
        t = list(zip(*b))
        if m == "W":
            t = [slide(r) for r in t]
        else:
            t = [slide(r[::-1])[::-1] for r in t]
        return list(zip(*t))
    def line(r):
        if r not in h:
            v = 0
            up = down = 0
            for x, y in zip(r, r[1:]):
                d = x.bit_length() - y.bit_length()
                if d > 0:
                    down += d
                else:
                    up -= d
            v -= 5 * min(up, down)
            h[r] = v
        return h[r]
    def value(b):
        return sum(map(line, b + list(zip(*b))))
    def look(b):
        return max(value(move(b, m)) for m in "WASD")
    def chance(b):
        free = [(i, j) for i in range(4) for j in range(4) if b[i][j] == 0]
        free = free[:2]
        t = 0
        for i, j in free:
            r = b[i]
            b[i] = r[:j] + (2,) + r[j + 1:]
            t += look(b)
            b[i] = r
        return t / len(free)
    b = list(map(tuple, board))
    f = chance if sum(r.count(0) for r in b) < 5 else value
    moves = [m for m in "WADS" if move(b, m) != b]
    return max(moves, key=lambda m: f(move(b, m)))
