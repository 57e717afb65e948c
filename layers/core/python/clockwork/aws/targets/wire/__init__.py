"""Connections to webhook receivers: checked addresses, bounds in time and bytes, kept between deliveries."""
