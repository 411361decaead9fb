def strategy(board, memo={}, vals={}):
    def push(r):
        if r not in memo:
            t = [x for x in r if x]
            memo[r] = tuple(t + [0] * (4 - len(t)))
        return memo[r]
    def move(b, m):
        k = "ASDW".index(m)
        for i in range(k):
            b = list(zip(*b[::-1]))
        b = [push(r) for r in b]
        for i in range(k, 4):
            b = list(zip(*b[::-1]))
        return b
    def line(r):
        if r not in vals:
            v = sum(x * x for x in r)
            v += sum(x * w for x, w in zip(r, (3, 2, 1, 0)))
            v += 50 * sum(x == y > 0 for x, y in zip(r, r[1:]))
            vals[r] = v
        return vals[r]
    def value(b):
        return sum(line(r) for r in b) + sum(line(r) for r in zip(*b))
    def look(b):
        return value(b) + max(value(move(b, m)) for m in "WASD")
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
    moves = [m for m in "WASD" if move(b, m) != b]
    return max(moves, key=lambda m: chance(move(b, m)))
