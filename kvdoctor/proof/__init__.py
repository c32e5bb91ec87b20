"""Proof against vLLM itself: the guard functions of the user's own installation, really called."""
