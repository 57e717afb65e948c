"""What becomes of an execution: claimed, tried again, cancelled, expired, parked, redriven, called back."""
