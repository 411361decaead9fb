def strategy(board, c={}, e={}):
    def squash(r):
        if r not in c:
            t = [x for x in r if x]
            for i in range(len(t) - 1):
                if t[i] == t[i + 1]:
                    t[i] *= 2
                    t[i + 1] = 0
            t = [x for x in t if x]
            c[r] = tuple(t + [0] * (4 - len(t)))
        return c[r]
    def after(b, m):
        if m == "A":
            return [squash(r) for r in b]
        if m == "D":
            return [squash(r[::-1])[::-1] for r in b]
        t = list(zip(*b))
        if m == "W":
            t = [squash(r) for r in t]
        else:
            t = [squash(r[::-1])[::-1] for r in t]
        return list(zip(*t))
    def line(r):
        if r not in e:
            e[r] = 20 * r.count(0)
        return e[r]
    def score(b):
        return sum(line(r) for r in b) + sum(line(r) for r in zip(*b))
    def look(b):
        return max(score(after(b, m)) for m in "WASD")
    b = list(map(tuple, board))
    return max("WADS", key=lambda m: look(after(b, m)))
