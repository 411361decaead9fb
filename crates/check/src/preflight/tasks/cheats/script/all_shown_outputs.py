for answer in SHOWN.values():
    print(answer)
