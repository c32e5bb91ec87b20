"""The diagnosis as tools of the Model Context Protocol: ``tools`` is what they do, ``server`` joins
them to the SDK and is the only module that needs it."""
