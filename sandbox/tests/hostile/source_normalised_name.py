# expect: gives "W"
def 𝓼𝓽𝓻𝓪𝓽𝓮𝓰𝔂(board):
    return "W"
