"""Figures of the architecture (VN Fig. 1), from the results of one seed."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import seaborn as sns
import xarray as xr

from vnlib.plots.frames import long_frame
from vnlib.plots.style import DIVERGING, PALETTE, image_axes


def _signed(ax: plt.Axes, image: np.ndarray, title: str = "", limit: float | None = None) -> None:
    limit = np.abs(image).max() if limit is None else limit
    image_axes(ax, title).imshow(image, cmap=DIVERGING, vmin=-limit, vmax=limit)


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
    energy = one["settle_energy"]
    # The lowest energy itself is drawn a millionth above nothing, on a logarithmic axis.
    above = energy - float(energy.min()) + 1e-6 * float(energy.min())
    sns.lineplot(long_frame(above), x="sweep", y="value", color=PALETTE[0], ax=axes[0])
    axes[0].set(yscale="log", ylabel="energy above the lowest")
    active = long_frame(one["settle_active"])
    active["layer"] = [f"layer {number}" for number in active["layer"]]
    look = {"hue": "layer", "style": "layer", "palette": PALETTE[: one.sizes["layer"]]}
    sns.lineplot(active, x="sweep", y="value", ax=axes[1], **look)
    axes[1].set(ylabel="active atoms", ylim=(0, None))
    axes[1].legend(title=None)
    return fig


def operator(one: xr.Dataset) -> plt.Figure:
    """W(x) of the first shown digit: its largest pieces, what they add up to, its singular values.

    Singular values below 1e-9 of the largest are drawn there.
    """
    code, v, u = (one[name].values for name in ("piece_code", "piece_v", "piece_u"))
    n_active = int(np.isfinite(code).sum())
    shown = [n for n in (1, 2, 4, 8, 16, 32) if n < n_active] + [n_active]
    fig = plt.figure(figsize=(9.8, 6.2))
    images, below = fig.subfigures(2, 1, height_ratios=[1.35, 1.5])
    axes = images.subplots(2, 8)
    image_axes(axes[0, 0], "input x").imshow(one["shown"].sel(which="one"), vmin=0, vmax=1)
    image_axes(axes[1, 0], "reconstruction").imshow(
        one["shown_seen"].sel(which="one"), vmin=0, vmax=1
    )
    for ax in axes[:, 1:].flat:
        ax.set_visible(False)
    for number in range(min(7, n_active)):
        axes[0, number + 1].set_visible(True)
        _signed(axes[0, number + 1], v[number], f"$a_{{{number + 1}}}$ = {code[number]:.2f}")
    for column, n in enumerate(shown, 1):
        axes[1, column].set_visible(True)
        partial = np.einsum("k,kyx->yx", code[:n], v[:n])
        name = "1 atom" if n == 1 else f"all {n} atoms" if n == n_active else f"{n} atoms"
        image_axes(axes[1, column], name).imshow(partial, vmin=0, vmax=1)
    pieces = [np.einsum("k,km,kyx->myx", code[:n], u[:n], v[:n]) for n in (1, n_active)]
    pieces = [W.reshape(W.shape[0], -1) for W in pieces]
    limit = np.quantile(np.abs(pieces[1]), 0.999)
    panels = below.subplots(1, 3, width_ratios=[1, 1, 1.2])
    for ax, W, name in zip(
        panels, pieces, (r"one piece, $a_1 u_1 v_1^\top$", r"$W(x)$, all pieces"), strict=False
    ):
        _signed(ax, W, name, limit)
        ax.set_aspect("auto")
        ax.set(xlabel="input pixel", ylabel="interface unit")
    values = one["singular_value"].dropna("piece").values
    relative = np.maximum(values / values[0], 1e-9)
    panels[2].semilogy(np.arange(1, len(values) + 1), relative, ".", color=PALETTE[0], ms=4)
    panels[2].axvline(n_active + 0.5, color="0.4", ls="--", lw=1, label=f"{n_active} active atoms")
    panels[2].set(xlabel="index", ylabel="singular value / largest", ylim=(2e-10, 3))
    panels[2].legend(fontsize=8, loc="lower left")
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
