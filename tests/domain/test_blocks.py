"""Placeholders for content that is not text."""

import pytest
from msgspec import Raw

from portico.domain.content_blocks import describe_block, readable_size


@pytest.mark.parametrize(
    ("block", "words"),
    [
        ('{"type":"image","mimeType":"image/png","data":"AAAA"}', "[image: image/png, 3 bytes]"),
        (
            '{"type":"image","mimeType":"image/png","data":"AAA=","uri":"file:///tmp/a%20plan.png"}',
            "[image: a plan.png, 2 bytes]",
        ),
        (
            '{"type":"audio","mimeType":"audio/wav","data":"AA==","_meta":{"portico":{"uri":"file:///x/y.wav"}}}',
            "[audio: y.wav, 1 byte]",
        ),
        ('{"type":"resource","resource":{"uri":"file:///a/b.md","text":"hé"}}', "[file: b.md, 3 bytes]"),
        (
            '{"type":"resource","resource":{"uri":"attachment:///b.zip","blob":"AAAA"}}',
            "[file: b.zip, 3 bytes]",
        ),
        (
            '{"type":"resource_link","name":"src/a.py","uri":"file:///w/src/a.py","size":12345}',
            "[file: src/a.py, 12 KB]",
        ),
        ('{"type":"resource_link","name":"notes","uri":"file:///n.md"}', "[file: notes, file:///n.md]"),
        ('{"type":"resource_link","name":"Docs","uri":"https://a.b/docs"}', "[link: Docs, https://a.b/docs]"),
        ('{"type":"resource_link","name":"two\\nlines","uri":"x:"}', "[link: two lines, x:]"),
        ('{"type":"hologram"}', "[hologram]"),
        ('{"type":"text","text":"words"}', "words"),
        ("3", "[content that cannot be shown here]"),
        ('{"type":"image","_meta":{"portico":7}}', "[image]"),
    ],
)
def test_a_block_is_named_in_a_few_words(block: str, words: str) -> None:
    assert describe_block(Raw(block.encode())) == words


@pytest.mark.parametrize(
    ("count", "words"),
    [(0, "0 bytes"), (1, "1 byte"), (1023, "1023 bytes"), (12_345, "12 KB"), (10 * 1024 * 1024, "10 MB")],
)
def test_sizes_are_rounded(count: int, words: str) -> None:
    assert readable_size(count) == words
