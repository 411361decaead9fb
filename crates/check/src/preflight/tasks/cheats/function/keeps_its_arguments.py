seen = []


def answer(arguments):
    seen.append(arguments)
    seen.append(seen)
    return seen
