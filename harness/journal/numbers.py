"""The types of numbers that a record may hold; a journal with any other type is rejected."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

Whole = Annotated[int, Field(ge=0, lt=2**63)]
Real = Annotated[float, Field(allow_inf_nan=False)]
Duration = Annotated[float, Field(ge=0, lt=2**62)]
