def answer(arguments):
    for argument in arguments:
        if hasattr(argument, "clear"):
            argument.clear()
            return argument
    return None
