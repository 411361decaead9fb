def strategy(board, seen={}, known={}):
    def push(r):
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
            b = [push(r[::-1])[::-1] for r in b]
        else:
            b = [push(r) for r in b]
        if m in "WS":
            b = list(zip(*b))
        return b
    def line(r):
        if r not in known:
            v = -500 * sum(x.bit_length() ** 3 for x in r)
            v += 20 * r.count(0)
            v += 500 * (max(r) in (r[0], r[3]))
            known[r] = v
        return known[r]
    def score(b):
        return sum(map(line, b)) + sum(map(line, zip(*b)))
    def look(b):
        return score(b) + max(score(move(b, m)) for m in "WASD")
    b = list(map(tuple, board))
    moves = [m for m in "AWDS" if move(b, m) != b]
    return max(moves, key=lambda m: look(move(b, m)))
