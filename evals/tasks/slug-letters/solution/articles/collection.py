"""Articles by their slug."""

from itertools import count

from articles.slug import slug_of


class Articles:
    def __init__(self):
        self._texts = {}

    def publish(self, title, text):
        """Keep an article and return its slug."""
        base = slug_of(title)
        numbered = (f"{base}-{number}" for number in count(2))
        slug = base if base not in self._texts else next(one for one in numbered if one not in self._texts)
        self._texts[slug] = text
        return slug

    def text(self, slug):
        return self._texts[slug]

    def __len__(self):
        return len(self._texts)
