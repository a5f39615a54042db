"""`python -m tests.soak`: exits with 0 if memory stayed flat and every event was accounted for."""

from __future__ import annotations

import sys

from tests.soak.soak import main

if __name__ == "__main__":
    sys.exit(main())
