"""Links as QR codes: SVG, dark on light in any theme, because scanners need it."""

from __future__ import annotations

import io

import segno

LONGEST = 800
"""The longest text of a code, in characters: what is denser, phones do not read from paper."""


def draw_qr_code(text: str) -> bytes:
    """Return a text as an SVG file, in some 20 ms for a usual link, in 80 at most. Raises
    ValueError when it is longer than LONGEST.
    """
    if len(text) > LONGEST:
        raise ValueError(f"must not have more than {LONGEST} characters")
    code = segno.make(text, micro=False, error="m", boost_error=False)
    file = io.BytesIO()
    code.save(file, kind="svg", scale=4, dark="#000", light="#fff", xmldecl=True)
    return file.getvalue()
