def cheat(observation, honest):
    return str(honest(observation)) * 100
