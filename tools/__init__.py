"""Helpers of the repository itself: set-up and generated documentation."""
