"""Codes of Portico's own notices, for programs and for cards of their own."""

CHANGED_OUTSIDE_REVIEW = "changed_outside_review"
"""Files of the person changed during a turn that must not touch them."""

CONTINUED_FROM = "continued_from"
"""The session continues another one, whose summary is in the details."""

CONTINUED_WITH = "continued_with"
"""The session was handed to another agent, in the session that is named."""
