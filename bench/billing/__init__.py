"""Meters the units that AWS bills, in virtual time, and prices them."""
