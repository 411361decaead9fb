print("\n" * 100)
