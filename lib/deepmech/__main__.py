"""``python -m deepmech``: the command line."""

import sys

from deepmech.cli import main

if __name__ == "__main__":
    sys.exit(main())
