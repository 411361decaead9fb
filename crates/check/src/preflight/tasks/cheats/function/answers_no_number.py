def answer(arguments):
    return float("nan")
