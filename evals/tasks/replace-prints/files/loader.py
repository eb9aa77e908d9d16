def load(names):
    print("loading")
    for name in names:
        print("loading", name)
    print("done")
    return len(names)
