import os
import pathlib
import unittest

import app

top = pathlib.Path(__file__).resolve().parent.parent


class Test(unittest.TestCase):
    def test_page(self) -> None:
        self.assertRegex(app.page(), "^HELLO .+!$")

    def test_the_code_is_of_this_checkout(self) -> None:
        self.assertTrue(pathlib.Path(app.__file__).resolve().is_relative_to(top))

    def test_what_git_does_not_carry(self) -> None:
        self.assertIn("TOKEN=secret\n", (top / ".env").read_text())
        self.assertEqual(os.environ["PORT"], os.environ["PORT_WEB"])
