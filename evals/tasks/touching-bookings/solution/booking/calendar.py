"""The bookings of one room on one day."""

from booking.interval import Interval, clock


class Taken(Exception):
    pass


class Calendar:
    def __init__(self, opens="8:00", closes="18:00"):
        self.day = Interval(clock(opens), clock(closes))
        self.bookings = []

    def book(self, start, end):
        wanted = Interval(clock(start), clock(end))
        if wanted.start < self.day.start or wanted.end > self.day.end:
            raise Taken("the room is closed")
        for booked in self.bookings:
            if booked.overlaps(wanted):
                raise Taken(f"booked from {booked.start} to {booked.end}")
        self.bookings.append(wanted)
        return wanted

    def free(self):
        """The intervals in which nothing is booked, in order."""
        found = []
        begin = self.day.start
        for booked in sorted(self.bookings):
            if begin < booked.start:
                found.append((begin, booked.start))
            begin = booked.end
        if begin < self.day.end:
            found.append((begin, self.day.end))
        return found
