"""Figures of the architecture (VN Fig. 1), from the results of one seed."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import seaborn as sns
import xarray as xr

from vnlib.plots.frames import long_frame
from vnlib.plots.style import DIVERGING, PALETTE, image_axes


def _signed(ax: plt.Axes, image: np.ndarray, title: str = "", size: float = 8.5) -> None:
    limit = np.abs(image).max()
    image_axes(ax, title, size).imshow(image, cmap=DIVERGING, vmin=-limit, vmax=limit)


def atoms(one: xr.Dataset) -> plt.Figure:
    """The most used atoms of layer 1, each with the share of test digits that use it."""
    n = one.sizes["atom_rank"]
    columns = 12
    fig, axes = plt.subplots(
        -(-n // columns), columns, figsize=(9.6, 0.98 * -(-n // columns) + 0.2)
    )
    for ax in axes.flat[n:]:
        ax.set_visible(False)
    for ax, index in zip(axes.flat, range(n), strict=False):
        atom = one["atom"].isel(atom_rank=index).values
        _signed(ax, atom, f"{100 * float(one['atom_use'][index]):.0f} %")
    return fig


def settle(one: xr.Dataset) -> plt.Figure:
    """Energy and active atoms of the first shown digit, sweep by sweep."""
    fig, axes = plt.subplots(1, 2, figsize=(8.8, 3.1))
    energy = long_frame(one["settle_energy"])
    sns.lineplot(energy, x="sweep", y="value", color=PALETTE[0], ax=axes[0])
    axes[0].set(ylabel="joint energy", ylim=(0, None))
    active = long_frame(one["settle_active"])
    active["layer"] = [f"layer {number}" for number in active["layer"]]
    look = {"hue": "layer", "style": "layer", "palette": PALETTE[: one.sizes["layer"]]}
    sns.lineplot(active, x="sweep", y="value", ax=axes[1], **look)
    axes[1].set(ylabel="active atoms", ylim=(0, None))
    axes[1].legend(title=None)
    return fig


def pieces(one: xr.Dataset) -> plt.Figure:
    """The first shown digit: its largest pieces, and what the first few of them add up to."""
    code, v = one["piece_code"].values, one["piece_v"].values
    n_active = int(np.isfinite(code).sum())
    shown = [n for n in (1, 4, 16) if n < n_active] + [n_active]
    fig, axes = plt.subplots(2, 5, figsize=(7.4, 3.5))
    for ax in axes[:, 1:].flat:
        ax.set_visible(False)
    for ax, name, image in zip(
        axes[:, 0], ("input", "reconstruction"), (one["shown"], one["shown_seen"]), strict=True
    ):
        image_axes(ax, name, 11).imshow(image.sel(which="one"), vmin=0, vmax=1)
    for number, ax in enumerate(axes[0, 1 : 1 + n_active]):
        ax.set_visible(True)
        _signed(ax, v[number], f"$a_{{{number + 1}}} = {code[number]:.1f}$", size=11)
    for n, ax in zip(shown, axes[1, 1:], strict=False):
        ax.set_visible(True)
        partial = np.einsum("k,kyx->yx", code[:n], v[:n])
        name = "1 atom" if n == 1 else f"all {n} atoms" if n == n_active else f"{n} atoms"
        image_axes(ax, name, 11).imshow(partial, vmin=0, vmax=1)
    return fig


def operator(one: xr.Dataset) -> plt.Figure:
    """W(x) of the first shown digit: the sizes of its coefficients and its singular values.

    Singular values below 1e-9 of the largest are drawn there.
    """
    code, values = (one[name].dropna("piece").values for name in ("piece_code", "singular_value"))
    fig, axes = plt.subplots(1, 2, figsize=(8.8, 3.1), sharex=True)
    sizes = np.sort(np.abs(code))[::-1]
    for ax, one_kind, name in (
        (axes[0], sizes / sizes[0], "coefficient / largest"),
        (axes[1], np.maximum(values / values[0], 1e-9), "singular value / largest"),
    ):
        ax.semilogy(np.arange(1, len(one_kind) + 1), one_kind, ".", color=PALETTE[0], ms=4)
        ax.axvline(len(code) + 0.5, color="0.4", ls="--", lw=1, label=f"{len(code)} active atoms")
        ax.set(xlabel="index", ylabel=name)
    axes[1].set(ylim=(2e-10, 3))
    axes[1].legend(fontsize=9, loc="lower left")
    return fig


def superposition(one: xr.Dataset) -> plt.Figure:
    """Two digits and their sum: images, reconstructions, and the coefficients of all atoms in
    use.
    """
    fig, axes = plt.subplots(3, 3, figsize=(9.6, 5.2), width_ratios=[1, 1, 5])
    names = {"one": "first digit", "other": "second digit", "sum": "their sum"}
    codes = one["shown_code"]
    in_first, in_second = (codes.sel(which=w).values != 0 for w in ("one", "other"))
    kinds = {
        "only first": in_first & ~in_second,
        "both": in_first & in_second,
        "only second": ~in_first & in_second,
        "neither": ~in_first & ~in_second,
    }
    colors = dict(zip(kinds, (PALETTE[0], PALETTE[2], PALETTE[1], PALETTE[7]), strict=True))
    used = (codes.values != 0).any(0)
    order = np.concatenate([np.flatnonzero(mask & used) for mask in kinds.values()])
    color = np.concatenate(
        [[colors[kind]] * int((mask & used).sum()) for kind, mask in kinds.items()]
    )
    limit = np.abs(codes.values).max() * 1.1
    for row, which in enumerate(names):
        image_axes(axes[row, 0], names[which]).imshow(one["shown"].sel(which=which), vmin=0, vmax=1)
        image_axes(axes[row, 1], "reconstruction").imshow(
            one["shown_seen"].sel(which=which), vmin=0, vmax=1
        )
        axes[row, 2].bar(
            np.arange(len(order)), codes.sel(which=which).values[order], color=color, width=1.0
        )
        axes[row, 2].set(ylim=(-limit, limit), ylabel="coefficient", xticks=[])
    axes[2, 2].set_xlabel("atoms in use by any of the three, grouped by who uses them")
    handles = [plt.Rectangle((0, 0), 1, 1, color=colors[k], label=k) for k in kinds]
    axes[0, 2].legend(
        handles=handles, ncols=4, fontsize=8, loc="upper center", bbox_to_anchor=(0.5, 1.35)
    )
    return fig
