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
    def shift(b, m):
        if m in "WS":
            b = [list(c) for c in zip(*b)]
        if m in "DS":
            b = [push(r[::-1])[::-1] for r in b]
        else:
            b = [push(r) for r in b]
        if m in "WS":
            b = [list(c) for c in zip(*b)]
        return b
    def value(b):
        v = -sum(abs(x - y) for r in b + list(zip(*b)) for x, y in zip(r, r[1:]))
        for r in b + list(zip(*b)):
            up = down = 0
            for x, y in zip(r, r[1:]):
                d = x.bit_length() - y.bit_length()
                if d > 0:
                    down += d
                else:
                    up -= d
            v -= 100 * min(up, down)
        return v
    def look(b):
        return max(value(shift(b, m)) for m in "WASD")
    def chance(b):
        free = [(i, j) for i in range(4) for j in range(4) if b[i][j] == 0]
        t = 0
        for i, j in free:
            b[i][j] = 2
            t += look(b)
            b[i][j] = 0
        return t / len(free)
    moves = [m for m in "SWAD" if shift(board, m) != board]
    return max(moves, key=lambda m: chance(shift(board, m)))
