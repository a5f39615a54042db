"""What the routes share: how they get at the office, and what they may answer besides."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Depends, Path, Request

from stream_bayes.web.api.schemas import Problem
from stream_bayes.web.readmodel.request_queue import Place
from stream_bayes.web.services.labeling_service import LabelingService


async def _office(request: Request) -> LabelingService:
    office = request.app.state.office
    assert isinstance(office, LabelingService)
    return office


def _place(
    partition: Annotated[int, Path(ge=0, lt=2**31, description="Of the observation that the question is about.")],
    offset: Annotated[int, Path(ge=0, lt=2**63)],
) -> Place:
    return partition, offset


TheOffice = Annotated[LabelingService, Depends(_office)]
ThePlace = Annotated[Place, Depends(_place)]


def problems(*codes: int) -> dict[int | str, dict[str, Any]]:
    """The answers that say why something was not done, for the description of a route."""
    return {code: {"model": Problem} for code in (*codes, 400, 401, 413, 415, 421, 422, 429)}
