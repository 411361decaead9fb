def priority(item, rooms):
    # The first bin that it fits into.
    return [-at for at in range(len(rooms))]
