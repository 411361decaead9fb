# expect: raised PermissionError
open("answers.txt", "w")
