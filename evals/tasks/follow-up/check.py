import unittest
import temperature

class Check(unittest.TestCase):
    def test_both_ways(self):
        self.assertEqual(temperature.to_celsius(212), 100)
        self.assertEqual(temperature.to_fahrenheit(100), 212)
        self.assertFalse(hasattr(temperature, "fahrenheit"))

unittest.main()
