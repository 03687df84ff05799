"""Renderer process of charts: one specification a line in, one image a line out.

Apart from the evaluating process, because the renderer aborts its process where it meets what it cannot write.
"""

from __future__ import annotations

import base64
import json
import sys
from typing import Any


def main() -> None:
    """Answer every line of standard input with {"image": base64} or {"error": text}."""
    answers = sys.stdout.buffer
    _answer(_TRIVIAL)
    for line in sys.stdin.buffer:
        answers.write(json.dumps(_answer(json.loads(line))).encode() + b"\n")
        answers.flush()


def _answer(job: dict[str, Any]) -> dict[str, str]:
    try:
        return {"image": base64.b64encode(_image(**job)).decode()}
    except Exception as error:
        if job is not _TRIVIAL:
            # What follows a refused chart can be refused with it, once.
            _answer(_TRIVIAL)
        return {"error": str(error).strip().split("\n")[0]}


_TRIVIAL: dict[str, Any] = {
    "specification": '{"data": {"values": [{}]}, "mark": "point"}',
    "form": "svg",
    "scale": 1,
}
"""A chart that starts the renderer while the evaluating process still draws the first one."""


def _image(specification: str, form: str, scale: float) -> bytes:
    import vl_convert

    if form == "png":
        png: bytes = vl_convert.vegalite_to_png(specification, scale=scale, allowed_base_urls=[])
        return png
    return vl_convert.vegalite_to_svg(specification, allowed_base_urls=[]).encode()


if __name__ == "__main__":
    main()
