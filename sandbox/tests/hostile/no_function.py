# expect: raised TypeError
strategy = "W"
