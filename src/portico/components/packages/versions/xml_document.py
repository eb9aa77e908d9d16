"""Small XML documents of Maven, read without entities, which could make them arbitrarily large."""

from xml.etree import ElementTree

XmlElement = ElementTree.Element


def read_xml(text: str) -> XmlElement | None:
    """The root, with names free of namespaces; None for what is not XML, or declares entities."""
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        return None
    try:
        root = ElementTree.fromstring(text)
    except (ElementTree.ParseError, ValueError):
        return None
    for one in root.iter():
        if isinstance(one.tag, str):
            one.tag = one.tag.rpartition("}")[2]
    return root


def child_text(element: XmlElement, name: str) -> str:
    """The text of a child, or nothing."""
    return (element.findtext(name) or "").strip()
