def strategy(board):
    def squash(r):
        t = [x for x in r if x]
        i = 0
        while i < len(t) - 1:
            if t[i] == t[i + 1]:
                t[i] *= 2
                t.pop(i + 1)
            i += 1
        return t + [0] * (4 - len(t))
    def after(b, m):
        if m in "WS":
            b = [list(c) for c in zip(*b)]
        if m in "DS":
            b = [r[::-1] for r in b]
        b = [squash(r) for r in b]
        if m in "DS":
            b = [r[::-1] for r in b]
        if m in "WS":
            b = [list(c) for c in zip(*b)]
        return b
    def score(b):
        v = -sum(abs(x - y) for r in b + list(zip(*b)) for x, y in zip(r, r[1:]))
        for r in b + list(zip(*b)):
            up = down = 0
            for x, y in zip(r, r[1:]):
                d = x.bit_length() ** 2 - y.bit_length() ** 2
                if d > 0:
                    down += d
                else:
                    up -= d
            v -= 2 * min(up, down)
        return v
    top = -10 ** 9
    choice = "S"
    for m in "SDAW":
        n = after(board, m)
        if n != board:
            s = score(n)
            if s > top:
                top = s
                choice = m
    return choice
