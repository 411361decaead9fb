kept = []
def adder(k):
    def add(v):
        return v + k
    return add
def appended(n):
    x = []
    for i in range(n):
        x.append(i + 2 ** 60)
    return x
def stored(n):
    d = {}
    for i in range(n):
        d[i * 7] = i + 2 ** 60
    return d
def joined(n):
    return ','.join([str(i) for i in range(n)])
def nested(n):
    x = []
    for i in range(n):
        x = [x, i]
    return x
def many(a, b, c, d, e, k):
    def add(v):
        return v + a + b + c + d + e + k
    return add
def closures(n):
    x = []
    for i in range(n):
        z = i + 2 ** 60
        x.append(many(z, z + 1, z + 2, z + 3, z + 4, z + 5))
    return x
def beginnings(n):
    t = ''
    x = []
    for i in range(n):
        t += 'c'
        x.append(t)
    return x
def printed(n):
    x = ['a' * 1000] * n
    print(x)
    return [n]
def f(n):
    y = SHAPE
    return 1 if y else 0
def g(n):
    kept.append(SHAPE)
    return len(kept)
