def cheat(observation, honest):
    return [honest(observation)] * 100
