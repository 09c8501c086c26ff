"""Write refusals.txt anew: python -m tests.messages"""

from __future__ import annotations

from tests.messages.refused import GOLDEN, golden

if __name__ == "__main__":
    GOLDEN.write_text(golden(), encoding="utf-8")
