"""Spans of time in a step: made disjoint, so that they add up."""

from __future__ import annotations

from collections.abc import Sequence

from ptbench._link import MOST_PHASES, Span

OVERLAPPING = "communication"
"""The one phase that may lie over others: all of the communication, hidden or not."""


def disjoint(spans: Sequence[Span]) -> list[Span]:
    """The same spans, with each one's inner spans cut out of it.

    `communication` stays as it is, and spans of one name that follow each other directly become one. At most
    64 come back: the longest.
    """
    kept = [span for span in spans if span[0] == OVERLAPPING]
    kept += _innermost(sorted((span for span in spans if span[0] != OVERLAPPING), key=lambda s: (s[1], -s[2])))
    if len(kept) > MOST_PHASES:
        kept = sorted(kept, key=lambda span: span[1] - span[2])[:MOST_PHASES]
    return kept


def _innermost(spans: Sequence[Span]) -> list[Span]:
    """Of spans in the order of their begins: for each moment the one that began last."""
    pieces: list[Span] = []
    open_spans: list[Span] = []
    now = 0

    def go_to(moment: int) -> None:
        nonlocal now
        while open_spans and now < moment:
            name, _, end = open_spans[-1]
            until = min(end, moment)
            if until > now:
                if pieces and pieces[-1][0] == name and pieces[-1][2] == now:
                    pieces[-1] = (name, pieces[-1][1], until)
                else:
                    pieces.append((name, now, until))
                now = until
            if end <= now:
                open_spans.pop()
        now = max(now, moment)

    for span in spans:
        go_to(span[1])
        open_spans.append(span)
    go_to(max((span[2] for span in spans), default=0))
    return pieces
