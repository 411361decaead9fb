# expect: no_function
strategy = "W"
