"""Put on ``PYTHONPATH`` by ``guard.py``: every Python process that a guarded run starts is guarded too."""

import runpy
from pathlib import Path

runpy.run_path(str(Path(__file__).parents[1] / "guard.py"))["hold"]()
