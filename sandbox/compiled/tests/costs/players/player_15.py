def strategy(board, c={}):
    def slide(r):
        if r not in c:
            t = [x for x in r if x]
            o = []
            while t:
                if len(t) > 1 and t[0] == t[1]:
                    o.append(2 * t[0])
                    t = t[2:]
                else:
                    o.append(t[0])
                    t = t[1:]
            c[r] = tuple(o + [0] * (4 - len(o)))
        return c[r]
    def move(b, m):
        k = "ASDW".index(m)
        for i in range(k):
            b = list(zip(*b[::-1]))
        b = [slide(r) for r in b]
        for i in range(k, 4):
            b = list(zip(*b[::-1]))
        return b
    def rate(b):
        v = 20 * sum(r.count(0) for r in b)
        v += 200 * sum(x == y > 0 for r in b + list(zip(*b)) for x, y in zip(r, r[1:]))
        return v
    def look(b):
        return max(rate(move(b, m)) for m in "WASD")
    def chance(b):
        free = [(i, j) for i in range(4) for j in range(4) if b[i][j] == 0]
        t = 0
        for i, j in free:
            r = b[i]
            b[i] = r[:j] + (2,) + r[j + 1:]
            t += look(b)
            b[i] = r
        return t / len(free)
    b = list(map(tuple, board))
    moves = [m for m in "SADW" if move(b, m) != b]
    return max(moves, key=lambda m: chance(move(b, m)))
