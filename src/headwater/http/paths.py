"""The rest of a path as one parameter, whatever it holds: `{name:rest}`.

Starlette's own `path` stops at a line break, so an address with one would be answered that there
is no such path instead of what is wrong with it.
"""

from __future__ import annotations

from starlette.convertors import Convertor, register_url_convertor

REST = "rest"


class _Rest(Convertor[str]):
    regex = r"[\s\S]*"

    def convert(self, value: str) -> str:
        return value

    def to_string(self, value: str) -> str:
        return value


register_url_convertor(REST, _Rest())
