"""What pages on force composition share: the order of models, the names of laws and of panels,
the step of paths, and errors by number of forces.

Results are those of VN Fig. 4, over model, seed, inference (joint, passes), forces (15 sets) and
bodies (5, 4, 3), with the coordinates label and group of the model.
"""

from __future__ import annotations

from collections.abc import Sequence

import xarray as xr

from vnlib.plots.frames import in_groups

GROUPS = {"vn": "Vector Network", "printed": "other models of the paper", "control": "controls"}
LAWS = {"gravity": "gravity", "spring": "spring", "drag": "drag", "lorentz": "Lorentz"}
DT = 0.005  # s, of a step of a path
FAR = 10.0  # box, where what is lost is drawn; two opposite corners of the box are 7 apart
MEAN = "random"  # the model that predicts the mean: the paper's chance level
MSE = "mean squared error [(box/s²)²]"
RELATIVE = "relative mean squared error"


def in_order(
    results: xr.Dataset, groups: Sequence[str] = tuple(GROUPS), *, mean: bool = False
) -> list[str]:
    """The models of some groups, in the order of the groups; Random only if asked
    for.
    """
    return [m for g in groups for m in in_groups(results, g) if mean or m != MEAN]


def title(panel: str) -> str:
    """A set of forces to read: "spring + drag"; all four are "all four forces"."""
    laws = panel.split("+")
    return "all four forces" if len(laws) == len(LAWS) else " + ".join(LAWS[law] for law in laws)


def mixed(values: xr.DataArray | xr.Dataset, dim: str = "forces") -> xr.DataArray:
    """Which sets of forces have several."""
    return values[dim].str.contains(r"\+")


def error(results: xr.Dataset, *, relative: bool = False, inference: str = "joint") -> xr.DataArray:
    """Mean squared errors (model, seed, forces, bodies), or these over the mean square of true
    accelerations.
    """
    found = results["mse"].sel(inference=inference, drop=True)
    return found / results["power"] if relative else found


def by_number(values: xr.DataArray) -> xr.DataArray:
    """Means over the sets of each number of forces, over number instead of forces."""
    return values.groupby((values["forces"].str.count(r"\+") + 1).rename("number")).mean()


def inside_and_out(values: xr.DataArray) -> tuple[xr.DataArray, xr.DataArray]:
    """Mean over single forces with five bodies, and over mixtures with any number of bodies."""
    several = mixed(values)
    return (
        values.where(~several).sel(bodies=5).mean("forces"),
        values.where(several).mean(("forces", "bodies")),
    )
