"""Calls a function until it succeeds."""

import time

from retry.policy import Policy


def call(function, policy=Policy(), *, retry_on=(ConnectionError,), sleep=time.sleep):
    """Return what the function returns. The last failure is raised; others than `retry_on` are raised at once."""
    for seconds in policy.waits():
        try:
            return function()
        except retry_on:
            sleep(seconds)
    return function()
