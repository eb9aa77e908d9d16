import unittest

from editor.document import Document


class Undo(unittest.TestCase):
    def test_there_and_back(self):
        document = Document("one")
        document.append(" two")
        document.replace(0, 3, "1")
        document.undo()
        document.undo()
        self.assertEqual(document.text, "one")
        document.redo()
        document.redo()
        self.assertEqual(document.text, "1 two")

    def test_a_new_edit_leaves_nothing_to_redo(self):
        document = Document()
        document.append("first")
        document.undo()
        document.append("second")
        document.redo()
        self.assertEqual(document.text, "second")
        document.undo()
        self.assertEqual(document.text, "")

    def test_an_edit_after_a_redo_counts_too(self):
        document = Document()
        document.append("a")
        document.append("b")
        document.undo()
        document.undo()
        document.redo()
        document.append("c")
        document.redo()
        self.assertEqual(document.text, "ac")

    def test_nothing_to_undo(self):
        document = Document("as it was")
        document.undo()
        document.redo()
        self.assertEqual(document.text, "as it was")
