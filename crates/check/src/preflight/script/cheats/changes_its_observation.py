def fill(value):
    items = range(len(value)) if isinstance(value, list) else value if isinstance(value, dict) else ()
    for key in items:
        if isinstance(value[key], (list, dict)):
            fill(value[key])
        else:
            value[key] = 1 << 20


def cheat(observation, honest):
    action = honest(observation)
    fill(observation)
    return action
