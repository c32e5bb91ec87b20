"""The form of the knowledge files: reading them, checking them, turning them into typed values.

``yaml_text`` reads a small, safe part of YAML; ``fields`` holds the form of a record as data;
``shape`` compares a file with it; ``decode`` makes the Record; ``meaning`` checks what only the
whole record can tell (declared names, types, ranges); ``schema`` writes the form as JSON Schema.
"""
