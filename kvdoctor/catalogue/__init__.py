"""What vLLM's sources and other libraries can say: error sites, releases, live source."""
