def cheat(observation, honest):
    action = honest(observation)
    equal = {"__eq__": lambda self, other: True, "__hash__": lambda self: 0, "__index__": lambda self: 1 << 20}
    try:
        return type("Same", (type(action),), equal)(action)
    except TypeError:
        return action
