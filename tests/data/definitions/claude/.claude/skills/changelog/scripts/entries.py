print("entries")
