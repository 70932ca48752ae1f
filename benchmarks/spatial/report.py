"""How a decoder of positions does, as a dataset."""

from __future__ import annotations

import numpy as np
import torch
import xarray as xr
from jaxtyping import Float, Real
from torch import nn

from vnlib.evaluate import predict


def peak_distance(
    images: Float[np.ndarray, "batch y x"],
    x: Real[np.ndarray, " batch"],
    y: Real[np.ndarray, " batch"],
) -> Real[np.ndarray, " batch"]:
    """Distance in pixels between each image's brightest pixel and (x, y), the larger of the two
    axes.
    """
    rows, columns = np.unravel_index(images.reshape(len(images), -1).argmax(1), images.shape[1:])
    return np.maximum(abs(columns - x), abs(rows - y))


def decoder_report(model: nn.Module, data: xr.Dataset, *, samples: list[int]) -> xr.Dataset:
    """How a decoder does at every position of a data set of codes and images.

    Parameters
    ----------
    data
        `code` (position, code), `image` (position, y, x), `position_x`, `position_y`, `split`
        (position).
    samples
        Positions whose predicted images are kept.

    Returns
    -------
    xr.Dataset
        The error map `mse` (position), its mean per split (`mse_val`, `mse_id`, `mse_ood`, ...),
        the share of peaks within one pixel, `sample_image`, and for models with sparse codes the
        share of atoms in use.
    """
    device = next(model.parameters()).device
    prediction = predict(model, torch.from_numpy(data["code"].values).to(device)).cpu().numpy()
    error = ((prediction.astype(np.float64) - data["image"].values) ** 2).mean((1, 2))
    hit = peak_distance(prediction, data["position_x"].values, data["position_y"].values) <= 1
    report = xr.Dataset(
        {"mse": ("position", error, {"units": "1", "long_name": "mean squared error per pixel"})}
    )
    for name, split in (("train", "train"), ("val", "val"), ("id", "id_test"), ("ood", "ood")):
        inside = (data["split"] == split).values
        report[f"mse_{name}"] = ((), error[inside].mean(), {"units": "1", "split": split})
        report[f"hit_{name}"] = (
            (),
            hit[inside].mean(),
            {"units": "1", "long_name": "peak within 1 px"},
        )
    report["sample_image"] = (("sample", "y", "x"), prediction[samples], {"units": "1"})
    infer = getattr(model, "codes", None)
    codes = infer(torch.from_numpy(data["code"].values).to(device)) if infer else ()
    share = float(torch.cat([(c != 0).float() for c in codes], 1).mean()) if codes else np.nan
    report["active_share"] = (
        (),
        share,
        {"units": "1", "long_name": "share of atoms with nonzero coefficients"},
    )
    report["n_parameters"] = ((), sum(p.numel() for p in model.parameters()), {"units": "1"})
    return report.assign_coords(sample=samples)
