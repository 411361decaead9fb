answers = list(SHOWN.values())
print(answers[0].splitlines()[0] if answers and answers[0] else "")
