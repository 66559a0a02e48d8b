from __future__ import annotations

from headwater.http.inputs.emails import WRITTEN_EMAIL
from headwater.http.inputs.parameters import Parameter

EMAIL = Parameter(
    name="email",
    kind=WRITTEN_EMAIL,
    description="Any address the contact has or had, merged contacts' included.",
    required=True,
)
