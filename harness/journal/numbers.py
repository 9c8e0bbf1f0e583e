"""The types of numbers that a record may hold; a journal with any other type is rejected.

No physical quantity in a record is further from 1 than `LARGEST` or `SMALLEST`. Measured times, in
ns, are between 1e-1 and 1e13, rates below 1e18 per second, counts below 2**63, ratios of two counts
above 1e-19. The bounds leave 10 orders of magnitude beyond that. They are narrow enough that the
product of up to ten such numbers, or quotients of them, can neither overflow nor become 0, so the
statistics and the pages need not expect infinity.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

LARGEST = 1e30
SMALLEST = 1e-30
"""The smallest magnitude of a number that is not 0."""

HIGHEST_CONFIDENCE = 0.9999
"""Above it, the interval of a few placements is so wide that it says nothing; towards 1, it has no
bounds."""


def is_physical(value: float) -> bool:
    """Return whether a record can hold the number as a physical quantity."""
    return value == 0 or SMALLEST <= abs(value) <= LARGEST


def _not_minute(value: float) -> float:
    if 0 < abs(value) < SMALLEST:
        raise PydanticCustomError("minute", "Input should be 0 or at least 1e-30 in magnitude")
    return value


_Minute = AfterValidator(_not_minute)

Whole = Annotated[int, Field(ge=0, lt=2**63)]
Lanes = Annotated[int, Field(ge=0, le=32)]
"""A number of lanes of one warp."""
Finite = Annotated[float, Field(allow_inf_nan=False)]
"""What a kernel computed, which may be anything: its own reading, or the error of its result."""
Real = Annotated[float, Field(ge=-LARGEST, le=LARGEST), _Minute]
Amount = Annotated[float, Field(ge=0, le=LARGEST), _Minute]
Positive = Annotated[float, Field(ge=SMALLEST, le=LARGEST)]
Share = Annotated[float, Field(ge=0, le=1), _Minute]
Duration = Annotated[float, Field(ge=0, lt=2**62), _Minute]
Confidence = Annotated[float, Field(gt=0, le=HIGHEST_CONFIDENCE), _Minute]
