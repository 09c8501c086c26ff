"""Write docs/coverage.md anew: python -m tests.coverage"""

from __future__ import annotations

import tempfile
from pathlib import Path

from tests.coverage.table import DOCUMENT, asked, document, outcomes

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder, asked(Path(folder)) as questions:
        DOCUMENT.write_text(document(outcomes(questions)), encoding="utf-8")
