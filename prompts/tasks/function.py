def largest_gap(numbers):
    gaps = [abs(b - a) for a, b in zip(numbers, numbers[1:])]
    return max(gaps, default=0)
