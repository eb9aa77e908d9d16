from blog.text import short, slug


def main(title):
    return f"{slug(title)}: {short(title)}"
