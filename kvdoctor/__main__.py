"""Run the command line with ``python -m kvdoctor``."""

from kvdoctor.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
