import unittest

from retry.call import call
from retry.policy import Policy


class Flaky:
    def __init__(self, *failures):
        self.failures = list(failures)
        self.calls = 0

    def __call__(self):
        self.calls += 1
        if self.failures:
            raise self.failures.pop(0)
        return "done"


def broken(count):
    return [ConnectionError(str(number)) for number in range(count)]


class Attempts(unittest.TestCase):
    def test_the_number_is_that_of_all_attempts(self):
        flaky, slept = Flaky(*broken(5)), []
        with self.assertRaises(ConnectionError) as caught:
            call(flaky, Policy(attempts=3), sleep=slept.append)
        self.assertEqual((flaky.calls, slept, str(caught.exception)), (3, [1.0, 2.0], "2"))

    def test_one_attempt_never_waits(self):
        flaky, slept = Flaky(*broken(1)), []
        with self.assertRaises(ConnectionError):
            call(flaky, Policy(attempts=1), sleep=slept.append)
        self.assertEqual((flaky.calls, slept), (1, []))

    def test_the_last_may_succeed(self):
        flaky, slept = Flaky(*broken(2)), []
        self.assertEqual(call(flaky, Policy(attempts=3), sleep=slept.append), "done")
        self.assertEqual(slept, [1.0, 2.0])

    def test_other_failures_are_raised_at_once(self):
        flaky, slept = Flaky(ValueError("no")), []
        with self.assertRaises(ValueError):
            call(flaky, sleep=slept.append)
        self.assertEqual((flaky.calls, slept), (1, []))

    def test_no_wait_is_too_long(self):
        flaky, slept = Flaky(*broken(5)), []
        call(flaky, Policy(attempts=6, first=5, longest=12), sleep=slept.append)
        self.assertEqual(slept, [5, 10, 12, 12, 12])
