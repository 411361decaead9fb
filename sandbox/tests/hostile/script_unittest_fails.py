# expect: raised SystemExit
import unittest


class Case(unittest.TestCase):
    def test_it(self):
        self.fail()


unittest.main()
