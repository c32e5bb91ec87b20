"""Answers made readable: JSON, plain text, notes, explanations, pictures."""
