"""The tests here run with old versions too: they find their samples, and need nothing of the other tests'."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
