# expect: gives {"{}":[["()",{"{}":[["set",[1]]]}]]}
def strategy(board):
    return {"()": {"set": [1]}}
