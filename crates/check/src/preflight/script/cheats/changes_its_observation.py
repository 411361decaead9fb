def cheat(observation, honest):
    import copy

    def fill(value):
        items = range(len(value)) if isinstance(value, list) else value if isinstance(value, dict) else ()
        for key in items:
            if isinstance(value[key], (list, dict)):
                fill(value[key])
            else:
                value[key] = 1 << 20

    # A player may keep what it is shown, and would be another one if that changed.
    action = honest(copy.deepcopy(observation))
    fill(observation)
    return action
