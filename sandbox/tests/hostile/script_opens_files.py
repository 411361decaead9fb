# expect: raised FileNotFoundError
open("answers.txt").read()
