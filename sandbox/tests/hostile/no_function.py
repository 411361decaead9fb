# expect: raised NameError
strategy = "W"
