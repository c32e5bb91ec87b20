"""What each shell is told for completion: one module a shell, each with ``script(program)``."""
