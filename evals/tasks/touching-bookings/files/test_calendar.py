import unittest

from booking.calendar import Calendar, Taken


class Booking(unittest.TestCase):
    def test_one_begins_when_the_other_ends(self):
        room = Calendar()
        room.book("9:00", "10:00")
        room.book("10:00", "11:00")
        room.book("8:30", "9:00")
        self.assertEqual(len(room.bookings), 3)

    def test_what_overlaps_is_refused(self):
        room = Calendar()
        room.book("9:00", "10:00")
        for start, end in (("9:59", "11:00"), ("8:00", "9:01"), ("9:10", "9:20"), ("8:00", "12:00")):
            with self.assertRaises(Taken, msg=start):
                room.book(start, end)

    def test_free_times_are_never_empty(self):
        room = Calendar("8:00", "12:00")
        room.book("8:00", "9:00")
        room.book("9:00", "9:30")
        self.assertEqual(room.free(), [(570, 720)])
        room.book("9:30", "12:00")
        self.assertEqual(room.free(), [])

    def test_a_day_without_bookings_is_free(self):
        self.assertEqual(Calendar("8:00", "9:00").free(), [(480, 540)])
