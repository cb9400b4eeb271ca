"""Criteria for choosing settings without target labels: of one model's outputs, and of a pool of candidates."""
