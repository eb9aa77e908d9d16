"""The log names the prompt file that a text was made from, and older logs read as before."""

from portico.domain.events import PromptSubmitted
from portico.domain.payload_codec import decode_payload, encode_payload
from portico.domain.values import PromptReference


def test_a_log_without_prompt_files_is_unchanged() -> None:
    before = b'{"text":"hi"}'
    assert decode_payload("prompt_submitted", before) == PromptSubmitted(text="hi")
    assert encode_payload(PromptSubmitted(text="hi")) == before


def test_the_prompt_file_is_named_with_version_and_fingerprint() -> None:
    source = PromptReference(name="explain", version="1", fingerprint="ab")
    asked = PromptSubmitted(text="hi", prompt=source)
    assert encode_payload(asked) == (
        b'{"text":"hi","prompt":{"name":"explain","fingerprint":"ab","version":"1"}}'
    )
    assert decode_payload("prompt_submitted", encode_payload(asked)) == asked
