"""Convert this process's counters to OpenTelemetry's format. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from math import inf
from typing import cast

from msgspec import Struct
from opentelemetry.sdk.metrics.export import (
    AggregationTemporality,
    Histogram,
    HistogramDataPoint,
    Metric,
    MetricsData,
    NumberDataPoint,
    ResourceMetrics,
    ScopeMetrics,
    Sum,
)
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from prometheus_client.metrics_core import Metric as Family
from prometheus_client.samples import Sample

OURS = "headwater_"
"""The prefix of our own metrics; others are the library's."""
_TEMPORALITY = AggregationTemporality.CUMULATIVE
_UNKNOWN = cast("float", None)
"""Prometheus stores no minimum and maximum, and the protocol doesn't need them."""

Labels = tuple[tuple[str, str], ...]


class _Period(Struct, frozen=True):
    """The time that a metric covers, in nanoseconds since 1970."""

    began: int
    ended: int


@dataclass
class _Buckets:
    up_to: dict[float, float] = field(default_factory=dict[float, float])
    """Upper bound → cumulative count."""
    total: float = 0.0


def make_metrics_data(families: Iterable[Family], resource: Resource, began: int, ended: int) -> MetricsData:
    """Return `headwater_…` counters and histograms of a period in nanoseconds since 1970."""
    time = _Period(began, ended)
    scope = InstrumentationScope("headwater")
    metrics = [metric for family in families for metric in _read(family, time)]
    scoped = ScopeMetrics(scope, metrics, "")
    return MetricsData([ResourceMetrics(resource, [scoped], "")])


def _read(family: Family, time: _Period) -> Iterator[Metric]:
    if not family.name.startswith(OURS) or not family.samples:
        return
    if family.type == "counter":
        points = [
            NumberDataPoint(sample.labels, time.began, time.ended, sample.value)
            for sample in family.samples
            if sample.name.endswith("_total")
        ]
        data = Sum(points, _TEMPORALITY, is_monotonic=True)
        yield Metric(family.name, family.documentation, "1", data)
    elif family.type == "histogram":
        samples = _gather(family.samples)
        points = [_point(labels, buckets, time) for labels, buckets in samples.items()]
        yield Metric(family.name, family.documentation, "s", Histogram(points, _TEMPORALITY))


def _gather(samples: Iterable[Sample]) -> Mapping[Labels, _Buckets]:
    by_labels: defaultdict[Labels, _Buckets] = defaultdict(_Buckets)
    for sample in samples:
        labels = tuple((name, text) for name, text in sample.labels.items() if name != "le")
        if sample.name.endswith("_bucket"):
            by_labels[labels].up_to[float(sample.labels["le"])] = sample.value
        elif sample.name.endswith("_sum"):
            by_labels[labels].total = sample.value
    return by_labels


def _point(labels: Labels, buckets: _Buckets, time: _Period) -> HistogramDataPoint:
    """Return a histogram's point: Prometheus counts everything up to a bound, OpenTelemetry what
    lies between two.

        le  0.1  1  +Inf          bounds  0.1  1
            2    5  6       →     counts  2    3  1
    """
    bounds = sorted(buckets.up_to)
    up_to = [int(buckets.up_to[bound]) for bound in bounds]
    bucket_counts = [count - before for count, before in zip(up_to, [0, *up_to], strict=False)]
    return HistogramDataPoint(
        dict(labels),
        time.began,
        time.ended,
        up_to[-1] if up_to else 0,
        buckets.total,
        bucket_counts,
        [bound for bound in bounds if bound != inf],
        min=_UNKNOWN,
        max=_UNKNOWN,
    )
