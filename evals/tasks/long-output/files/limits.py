LIMITS = {name: size for size, name in enumerate(("tiny", "small", "large", "huge"), 1)}


def limit(name):
    return LIMITS[name] * (100 if name == "large" else 10)
