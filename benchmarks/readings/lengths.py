"""The choice of how long networks are trained: as in their figure, or twice as long."""

from __future__ import annotations

from collections.abc import Container, Sequence

from benchmarks.baselines.longer import TWIN
from benchmarks.readings.choices import Choice, Exclusion, Reading


def length(figure: str) -> Choice:
    """As long as in a figure, or twice as long."""
    options = {"once": f"as long as in {figure}", "twice": "twice as long"}
    return Choice(name="length", says="networks are trained", options=options)


def untwinned(network: Choice, twinned: Sequence[str]) -> Exclusion:
    """Leaves out networks that nobody trained twice as long."""
    others = [name for name in network.options if name not in twinned]
    return Exclusion(
        why="these networks were not trained twice as long",
        options={network.name: others, "length": ["twice"]},
    )


def of_length(model: str, reading: Reading) -> str:
    """The model as long trained as a reading says."""
    return f"{model}{TWIN}" if reading["length"] == "twice" else model


def rival_of_length(model: str, reading: Reading, there: Container[str]) -> str:
    """The same of a rival; the model itself where nobody trained it twice as long."""
    twin = of_length(model, reading)
    return twin if twin in there else model
