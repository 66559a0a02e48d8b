"""Recognize placeholders: unknown values of analytics tools, and unfilled macros of ad platforms and email
software. Pure.
"""

from __future__ import annotations

import re

_NOTHING = frozenset(
    {
        "(none)",
        "(not set)",
        "(not provided)",
        "(direct)",
        "(organic)",
        "(referral)",
        "(cross-network)",
        "(other)",
        "(data deleted)",
        "(data not available)",
        "(unset)",
        "(unknown)",
        "(null)",
        "(undefined)",
        "none",
        "null",
        "undefined",
        "nan",
        "nil",
        "n/a",
        "not set",
        "not provided",
        "unset",
        "[object object]",
    }
)
"""Lower-case, with blanks for `_` and `+`. Google Analytics uses those in parentheses for missing
values.
"""
_MACROS = (
    r"\{\{",  # {{campaign.name}}, also if cut off
    r"\{[$%]?[A-Za-z_][\w.: -]{0,99}[$%]?\}",  # {campaignid}, {%name%}
    r"\$[{(][\w.: -]{1,100}[)}]",  # ${CAMPAIGN_NAME}
    r"\[\[[^]\[]{1,100}\]\]",  # [[campaign]]
    r"%%[\w.: -]{1,100}%%",  # %%KEYWORD%%
    r"@@[\w.: -]{1,100}@@",
    r"##[\w.: -]{1,100}##",
    r"\*\|[\w.: -]{1,100}\|\*",  # *|CAMPAIGN_UID|*
    r"<%[^<>]{1,100}%>",  # <%= name %>
    r"\b__[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*__(?!\w)",
)
_MACRO = re.compile("|".join(_MACROS))
_WHOLE_VALUE = re.compile(
    r"\{.*\}|__.*__|%[A-Za-z][A-Za-z0-9_]*%|\$[A-Za-z][A-Za-z0-9_]*\$|<[A-Za-z][\w. -]*>"
    r"|\[[A-Za-z]+[._][\w.]*\]",
    re.DOTALL,
)
"""Macros that may occur inside campaign names: they count only as the whole value."""
_SIGNS = re.compile(r"[{}%$@#*<\[]|__")


def is_placeholder(value: str) -> bool:
    """Recognize `(not set)`, `undefined`, `{{campaign.name}}`."""
    if value.strip().lower().replace("_", " ").replace("+", " ") in _NOTHING:
        return True
    if _SIGNS.search(value) is None:
        return False
    return _MACRO.search(value) is not None or _WHOLE_VALUE.fullmatch(value.strip()) is not None
