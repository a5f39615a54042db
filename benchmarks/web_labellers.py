"""Labellers for the load on a page: each leases a label request, reads for a while, answers, and listens for news."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import httpx

LABELLERS = 50
SECONDS = 60.0
READING_SECONDS = 2.0
"""In the mean: faster than people are who do this all day."""
GLANCE_SECONDS = 2.0
"""So often the page asks what the answers changed and how the worker is doing, as long as there is news."""
_TIMEOUT = 30.0


class Shift:
    """All labellers together, and what they have seen: seconds of each kind of request, and errors."""

    def __init__(self, http: httpx.AsyncClient, csrf: str) -> None:
        self._http = http
        self._headers = {"x-csrf-token": csrf}
        self.seconds: dict[str, list[float]] = {"next": [], "label": [], "daily-stats": [], "status": []}
        self.errors: Counter[str] = Counter()
        self.news = 0

    async def work(self, number: int, until: float) -> None:
        """One labeller, until the end of the shift."""
        chance = Random(number)
        name = f"labeller-{number}"
        await asyncio.sleep(READING_SECONDS * chance.random())
        beside = [asyncio.create_task(task) for task in (self._listen(), self._glance(name, until))]
        while time.perf_counter() < until:
            found = await self._timed("next", "POST", "/api/requests/next", {"labeller": name})
            label_request = found.get("request")
            await asyncio.sleep(READING_SECONDS * chance.uniform(0.5, 1.5))
            if label_request is None:
                continue
            place = label_request["place"]
            path = f"/api/requests/{place['partition']}/{place['offset']}/label"
            label = chance.choice(label_request["choices"])
            await self._timed("label", "POST", path, {"labeller": name, "label": label})
        for task in beside:
            if task.done():
                # Raises what ended it early.
                task.result()
            task.cancel()

    async def _timed(self, what: str, method: str, path: str, body: Any = None) -> dict[str, Any]:
        begun = time.perf_counter()
        try:
            answer = await self._http.request(method, path, json=body, headers=self._headers)
        except httpx.HTTPError as problem:
            self.errors[type(problem).__name__] += 1
            return {}
        self.seconds[what].append(time.perf_counter() - begun)
        if answer.status_code != 200:
            self.errors[f"{answer.status_code} {answer.json()['code']}"] += 1
            return {}
        return dict(answer.json())

    async def _glance(self, name: str, until: float) -> None:
        """The lines about the answers and the worker, as the page keeps them up to date."""
        while time.perf_counter() < until:
            await self._timed("daily-stats", "GET", f"/api/daily-stats?labeller={name}")
            await self._timed("status", "GET", "/api/status")
            await asyncio.sleep(GLANCE_SECONDS)

    async def _listen(self) -> None:
        async with self._http.stream("GET", "/api/events", timeout=None) as stream:
            async for line in stream.aiter_lines():
                self.news += line.startswith("data:")


async def main(address: str, path: str) -> None:
    """Write down what they have seen."""
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=None)
    async with httpx.AsyncClient(base_url=address, timeout=_TIMEOUT, limits=limits) as http:
        session = (await http.get("/api/session")).json()
        shift = Shift(http, session["csrf"])
        until = time.perf_counter() + SECONDS
        await asyncio.gather(*(shift.work(number, until) for number in range(LABELLERS)))
    Path(path).write_text(json.dumps({"seconds": shift.seconds, "errors": shift.errors, "news": shift.news}))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
