"""A histogram of batches shows what prometheus_client's own shows."""

from __future__ import annotations

from prometheus_client import REGISTRY, CollectorRegistry, Histogram, generate_latest

from matins.kernel.histogram import BatchHistogram

BOUNDS = (0.01, 0.5, 1, 30)
VALUES = [0.0, 0.01, 0.0100001, 0.4, 0.5, 1.0, 29.9, 30.0, 31.0, 1e9]


def lines(registry: CollectorRegistry, name: str) -> list[str]:
    """Return what is exposed of a metric, without the time of its making."""
    text = generate_latest(registry).decode()
    return [line for line in text.splitlines() if name in line and "_created" not in line]


def test_a_batch_is_counted_as_its_values_one_by_one() -> None:
    name = "matins_test_batches"
    plain = CollectorRegistry()
    single = Histogram(name, "Values", buckets=BOUNDS, registry=plain)
    batches = BatchHistogram(name, "Values", BOUNDS)
    try:
        assert lines(REGISTRY, name) == lines(plain, name)
        for value in VALUES:
            single.observe(value)
        batches.observe(VALUES[:4])
        batches.observe(VALUES[4:])
        assert lines(REGISTRY, name) == lines(plain, name)
    finally:
        REGISTRY.unregister(batches)
