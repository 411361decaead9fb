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
        k = "ASDW".index(m)
        for i in range(k):
            b = [list(c) for c in zip(*b[::-1])]
        b = [slide(r) for r in b]
        for i in range(k, 4):
            b = [list(c) for c in zip(*b[::-1])]
        return b
    def rate(b):
        v = sum(b[i][j] * (3 - i + j) ** 2 for i in range(4) for j in range(4))
        for r in b + list(zip(*b)):
            up = down = 0
            for x, y in zip(r, r[1:]):
                d = x.bit_length() ** 2 - y.bit_length() ** 2
                if d > 0:
                    down += d
                else:
                    up -= d
            v -= 5 * min(up, down)
        return v
    def look(b):
        return max(rate(move(b, m)) for m in "WASD")
    moves = [m for m in "WADS" if move(board, m) != board]
    return max(moves, key=lambda m: look(move(board, m)))
