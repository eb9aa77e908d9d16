"""Articles by their slug."""

from articles.slug import slug_of


class Articles:
    def __init__(self):
        self._texts = {}

    def publish(self, title, text):
        """Keep an article and return its slug."""
        slug = slug_of(title)
        self._texts[slug] = text
        return slug

    def text(self, slug):
        return self._texts[slug]

    def __len__(self):
        return len(self._texts)
