print("Judge it.")
