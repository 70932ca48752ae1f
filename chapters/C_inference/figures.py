"""Figures of App. C: fast inference, from the datasets of `studies.inference` and its siblings."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.ticker import LogLocator, NullFormatter

from vnlib.plots.style import PALETTE, look

# Label, colour, marker.
SOLVERS = {
    "ista": ("ISTA", *look("ISTA")),
    "fista": ("FISTA", *look("FISTA")),
    "restart": ("FISTA, restarted", *look("FISTA, restarted")),
    "line_search": ("line search", *look("line search")),
}
PENALTIES = {
    "l1": "ℓ₁",
    "l1, a >= 0": "ℓ₁, a ≥ 0",
    "l0": "ℓ₀",
    "l1, then top-k": "ℓ₁, then top-k",
    "orthogonal m. p.": "orthogonal matching pursuit",
}  # what readers call those that are stored under other names
LINES = {"sweep": "-", "staggered": "--", "recurrent": ":"}
LAYER_COLORS = (PALETTE[4], PALETTE[5], PALETTE[9])
FLOOR = 1e-13  # heights below this are rounding


def stack_name(depth: int, beta: float | None = None) -> str:
    """How a stack is called in figures and tables."""
    name = "1 layer" if depth == 1 else f"{depth} layers"
    return name if beta is None or depth == 1 else rf"{name}, $\beta$ = {beta:g}"


def cells(r: xr.Dataset) -> list[tuple[int, float, str]]:
    """(depth, beta, schedule) of all stacks that differ: one layer has neither beta nor
    schedule.
    """
    depths, betas, schedules = (r[name].values for name in ("depth", "beta", "schedule"))
    return [
        (int(d), float(b), str(s))
        for d in depths
        for b in (betas if d > 1 else betas[:1])
        for s in (schedules if d > 1 else ["sweep"])
    ]


def _dots(
    ax: plt.Axes, rows: Sequence[str], values: dict[str, list[np.ndarray]], **axis: object
) -> None:
    """One row per name; `values[solver]` holds the seeds of each row, every seed a point and the
    median a bar.
    """
    gap = 0.7 / max(len(values), 1)
    for number, (solver, found) in enumerate(values.items()):
        label, color, marker = SOLVERS[solver]
        for row, seeds in enumerate(found):
            y = row + gap * (number - (len(values) - 1) / 2)
            ax.plot(seeds, np.full(len(seeds), y), marker, color=color, ms=4, alpha=0.7)
            ax.plot([np.median(seeds)] * 2, [y - gap / 2, y + gap / 2], color=color, lw=1.5)
        ax.plot([], [], marker, color=color, ms=4, label=label)
    ax.set(yticks=range(len(rows)), ylim=(len(rows) - 0.5, -0.5), **axis)
    ax.set_yticklabels(rows)
    ax.grid(axis="y", color="0.93")


def schedules(r: xr.Dataset) -> plt.Figure:
    """F above its minimum against sweeps and against layer steps, per depth; medians over digits
    and seeds.
    """
    depths, beta = r["depth"].values, float(r["beta"][0])
    fig, axes = plt.subplots(2, len(depths), figsize=(9.8, 5.8), sharey=True, squeeze=False)
    height = r["height"].sel(beta=beta).median("seed").clip(min=FLOOR)
    steps = r["steps"].isel(seed=0)
    for column, depth in enumerate(depths):
        for solver in r["solver"].values:
            for schedule in r["schedule"].values if depth > 1 else ["sweep"]:
                chosen = {"depth": depth, "schedule": schedule}
                style = {"color": SOLVERS[solver][1], "ls": LINES[schedule], "lw": 1.4}
                curve = height.sel(solver=solver, **chosen)
                axes[0, column].plot(r["sweep"], curve, **style)
                axes[1, column].plot(steps.sel(chosen), curve, **style)
        axes[0, column].set(xscale="log", yscale="log", xlabel="sweeps", ylim=(FLOOR / 2, None))
        axes[1, column].set(xscale="log", yscale="log", xlabel="steps on single layers")
        axes[0, column].set_title(stack_name(depth, beta), fontsize=10)
    for row in axes:
        row[0].set_ylabel(r"$(F - F^*)\,/\,F^*$")
    handles = [
        plt.Line2D([], [], color=SOLVERS[s][1], label=SOLVERS[s][0]) for s in r["solver"].values
    ]
    handles += [plt.Line2D([], [], color="0.3", ls=LINES[s], label=s) for s in r["schedule"].values]
    fig.legend(handles=handles, ncols=7, fontsize=8, loc="outside lower center")
    return fig


def same_point(r: xr.Dataset) -> plt.Figure:
    """How far from the reference each settle ends: schedules and methods to the left, starts to the
    right.
    """
    fig, axes = plt.subplots(1, 2, figsize=(9.8, 4.6), width_ratios=[1.1, 1])
    places = cells(r)
    rows = [stack_name(d, b) + ("" if d == 1 else f", {s}") for d, b, s in places]
    found = {
        solver: [
            r["end_distance"].sel(depth=d, beta=b, schedule=s, solver=solver).values
            for d, b, s in places
        ]
        for solver in map(str, r["solver"].values)
    }
    label = r"$|a - a^*|\,/\,|a^*|$ at the end"
    _dots(axes[0], rows, found, xscale="log", xlabel=label)
    starts = list(map(str, r["start"].values))
    found = {
        solver: [
            r["start_distance"].sel(start=start, start_solver=solver).values for start in starts
        ]
        for solver in map(str, r["start_solver"].values)
    }
    _dots(axes[1], starts, found, xscale="log", xlabel=label)
    for ax, title in zip(
        axes, ("schedules and methods", f"starts, {stack_name(int(r['depth'].max()))}"), strict=True
    ):
        ax.axvline(1e-3, color="0.3", ls="--", lw=1)
        ax.set_title(title, fontsize=10)
        ax.tick_params(axis="y", labelsize=8)
    fig.legend(
        *axes[0].get_legend_handles_labels(), ncols=4, fontsize=8, loc="outside lower center"
    )
    return fig


def rates(r: xr.Dataset) -> plt.Figure:
    """One layer: F above its minimum, and the slope of that curve, against the rates of the
    theory.
    """
    fig, axes = plt.subplots(1, 2, figsize=(9.4, 3.6))
    n = r["sweep"].values
    height = r["height"].sel(depth=1, schedule="sweep").isel(beta=0)
    for solver in map(str, r["solver"].values):
        label, color, _ = SOLVERS[solver]
        for seed in height["seed"].values:
            curve = height.sel(solver=solver, seed=seed).values
            shown = curve > FLOOR
            axes[0].plot(
                n[shown],
                curve[shown],
                color=color,
                lw=1,
                label=label if seed == height["seed"][0] else None,
            )
        median = np.log(height.sel(solver=solver).median("seed").clip(min=FLOOR).values)
        slope, middle = np.diff(median) / np.diff(np.log(n)), np.sqrt(n[1:] * n[:-1])
        shown = median[1:] > np.log(10 * FLOOR)
        axes[1].plot(middle[shown], slope[shown], color=color, lw=1.4)
    first = float(height.sel(solver="ista").median("seed")[0])
    for power, style in ((1, "--"), (2, ":")):
        exponent = "" if power == 1 else f"^{power}"
        axes[0].plot(
            n,
            first / n.astype(float) ** power,
            color="0.3",
            ls=style,
            lw=1,
            label=rf"$\propto 1/n{exponent}$",
        )
        axes[1].axhline(-power, color="0.3", ls=style, lw=1)
    axes[0].set(
        xscale="log",
        yscale="log",
        xlabel="sweep n",
        ylabel=r"$(F - F^*)\,/\,F^*$",
        ylim=(FLOOR, None),
    )
    axes[1].set(
        xscale="log", xlabel="sweep n", ylabel="slope of the curve to the left", ylim=(-12, 1)
    )
    axes[0].legend(fontsize=7.5, loc="lower left")
    return fig


def steps(r: xr.Dataset) -> plt.Figure:
    """Sweeps by step size, and the step that the line search finds."""
    fig, axes = plt.subplots(1, 3, figsize=(9.8, 3.6), width_ratios=[1.5, 1, 1])
    factor, depths = r["factor"].values, r["step_depth"].values
    for depth, color, marker in zip(depths, (PALETTE[7], PALETTE[3]), ("s", "o"), strict=False):
        needed = r["step_needed"].sel(step_depth=depth, level=1e-3)
        share = 100 * r["diverged"].sel(step_depth=depth).mean("seed")
        for seed in needed["seed"].values:
            values = needed.sel(seed=seed).values
            axes[0].plot(
                factor[np.isfinite(values)],
                values[np.isfinite(values)],
                marker,
                color=color,
                ms=4,
                alpha=0.7,
            )
        median = needed.median("seed").values
        axes[0].plot(
            factor[np.isfinite(median)],
            median[np.isfinite(median)],
            color=color,
            lw=1,
            label=stack_name(depth),
        )
        for x, percent in zip(factor, share.values, strict=True):
            if percent:
                at = (x, 0.97 - 0.06 * list(depths).index(depth))
                said = {"ha": "center", "fontsize": 7.5, "xycoords": ("data", "axes fraction")}
                said |= {"bbox": {"fc": "w", "ec": "none", "pad": 0.5}}
                axes[0].annotate(f"{percent:.0f} %", at, color=color, **said)
        line = (
            r["needed"]
            .sel(depth=depth, schedule="sweep", solver="line_search", level=1e-3)
            .isel(beta=0)
        )
        axes[0].axhline(float(line.median()), color=color, ls=":", lw=1)
    axes[0].axvline(2, color="0.6", lw=0.8)
    axes[0].set(
        yscale="log", xlabel=r"step size $\eta L$", ylabel=r"sweeps to $F \leq (1 + 10^{-3}) F^*$"
    )
    axes[0].set(xlim=(0, factor.max() + 0.3), ylim=(None, 3 * axes[0].get_ylim()[1]))
    axes[0].yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes[0].yaxis.set_major_formatter("{x:g}")
    axes[0].yaxis.set_minor_formatter(NullFormatter())
    axes[0].legend(fontsize=8, loc="center right", bbox_to_anchor=(1, 0.6))
    for ax, depth in zip(axes[1:], depths, strict=False):
        for layer in range(1, int(depth) + 1):
            found = r["found"].sel(step_depth=depth, layer=layer)
            allowed = r["allowed"].sel(step_depth=depth, layer=layer)
            color = LAYER_COLORS[layer - 1]
            for seed in found["seed"].values:
                name = f"layer {layer}" if seed == found["seed"][0] else None
                ax.plot(r["found_sweep"], found.sel(seed=seed), color=color, lw=1, label=name)
            ax.axhline(float(allowed.median()), color=color, ls="--", lw=1)
        ax.axhline(1, color="0.6", lw=0.8)
        ax.set(xscale="log", xlabel="sweep", ylim=(0, None), title=stack_name(int(depth)))
        ax.title.set_fontsize(10)
        ax.legend(fontsize=7, loc="lower right", labelspacing=0.2)
    axes[1].set_ylabel(r"$\eta L$ of the line search")
    return fig


def starts(r: xr.Dataset) -> plt.Figure:
    """Sweeps from every start, to two heights."""
    fig, axes = plt.subplots(1, 2, figsize=(9.8, 4.0), sharey=True)
    rows = list(map(str, r["start"].values))
    for ax, level in zip(axes, r["level"].values, strict=False):
        needed = r["start_needed"].sel(level=level).transpose("seed", ...)
        found = {
            solver: [needed.sel(start=start, start_solver=solver).values for start in rows]
            for solver in map(str, r["start_solver"].values)
        }
        power = round(np.log10(level))
        _dots(ax, rows, found, xscale="log", xlabel=rf"sweeps to $(F - F^*)/F^* = 10^{{{power}}}$")
        if not np.isfinite(needed).any():  # no start came so far: a logarithmic axis needs limits
            ax.set_xlim(1, 10)
        ax.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        ax.xaxis.set_major_formatter("{x:g}")
        ax.xaxis.set_minor_formatter(NullFormatter())
    axes[0].legend(fontsize=8)
    return fig


def rejection(r: xr.Dataset) -> plt.Figure:
    """The ripples of momentum with and without accept/reject, and how often each energy rises."""
    fig, axes = plt.subplots(1, 2, figsize=(9.4, 3.5), width_ratios=[1.3, 1])
    path = r["guard_path"].isel(seed=0).clip(min=FLOOR)
    n = r["guard_sweep"]
    for solver, guard, style in (
        ("fista", "none", "-"),
        ("fista", "reject", "--"),
        ("restart", "none", "-"),
    ):
        label = SOLVERS[solver][0] + (", accept/reject" if guard == "reject" else "")
        axes[0].plot(
            n,
            path.sel(guard_solver=solver, safeguard=guard),
            color=SOLVERS[solver][1],
            ls=style,
            label=label,
        )
    axes[0].set(yscale="log", xlabel="sweep", ylabel=r"$(F - F^*)\,/\,F^*$")
    axes[0].legend(fontsize=8)
    solvers = list(map(str, r["guard_solver"].values))
    for number, (values, label, color) in enumerate(
        (
            (r["guard_rises"].sel(safeguard="none"), "F", PALETTE[0]),
            (r["guard_rises"].sel(safeguard="reject"), "F, accept/reject on F", PALETTE[9]),
            (r["summed_rises"], "summed layer energies", PALETTE[3]),
        )
    ):
        for column, solver in enumerate(solvers):
            x, seeds = column + 0.22 * (number - 1), 100 * values.sel(guard_solver=solver).values
            axes[1].bar(
                x,
                np.median(seeds),
                0.2,
                color=color,
                alpha=0.5,
                label=label if not column else None,
            )
            axes[1].plot(np.full(len(seeds), x), seeds, "o", color=color, ms=3.5)
    axes[1].set(ylabel="sweeps that raise it (%)", ylim=(-2, 119))
    axes[1].set_xticks(range(len(solvers)), [SOLVERS[s][0] for s in solvers])
    axes[1].legend(fontsize=8, loc="upper right")
    return fig


def limits(r: xr.Dataset) -> plt.Figure:
    """What a hard cap and ReLU messages do to the end of the settle."""
    fig, axes = plt.subplots(1, 3, figsize=(9.8, 3.6))
    starts = [
        n for n in r["cap_height"].dims if n in ("schedule", "multistart_solver", "multistart")
    ]
    spread = r["cap_height"].max(starts)
    rng = np.random.default_rng(0)
    convex = max(float(r["end_height"].max()), float(r["start_end"].max()), 1e-16)
    for column, depth in enumerate(r["cap_depth"].values):
        values = np.maximum(spread.sel(cap_depth=depth).values.ravel(), 1e-16)
        x = column + 0.25 * (rng.random(len(values)) - 0.5)
        axes[0].plot(x, values, "o", color=PALETTE[3], ms=3.5, alpha=0.6)
        axes[0].plot([column - 0.2, column + 0.2], [np.median(values)] * 2, color="0.2", lw=1.5)
    axes[0].axhline(convex, color=PALETTE[0], ls="--", lw=1)
    place = {"transform": axes[0].get_yaxis_transform(), "fontsize": 8, "ha": "center"}
    axes[0].text(0.5, 1.6 * convex, "without a cap, at worst", color=PALETTE[0], **place)
    axes[0].set_xticks(
        range(r.sizes["cap_depth"]), [stack_name(int(d)) for d in r["cap_depth"].values]
    )
    axes[0].set(
        yscale="log",
        ylabel="spread of F over trials / lowest F",
        xlim=(-0.6, r.sizes["cap_depth"] - 0.4),
    )
    axes[0].set_title("hard cap", fontsize=10)
    path = r["cap_path"].median("seed").clip(min=1e-8)
    named = {"plain": "plain steps", "fista": "momentum", "restart": "momentum, restarted"}
    for name, label in named.items():
        one = path.sel(momentum=name)
        axes[1].plot(r["cap_sweep"], one, color=look(label)[0], lw=1.2, label=label)
    axes[1].set(
        xscale="log", yscale="log", xlabel="sweep", ylabel="F above the lowest of the three"
    )
    axes[1].set_title("hard cap, 1 layer", fontsize=10)
    axes[1].legend(fontsize=8)
    for beta, color in zip(r["beta"].values, (PALETTE[4], PALETTE[2]), strict=False):
        for activation, style in (("identity", "--"), ("relu", "-")):
            curve = r["relu_change"].sel(beta=beta, activation=activation).median("seed")
            label = rf"{'ReLU' if activation == 'relu' else 'identity'}, $\beta$ = {beta:g}"
            axes[2].plot(
                r["relu_sweep"], curve.clip(min=1e-14), color=color, ls=style, lw=1.3, label=label
            )
    axes[2].set(xscale="log", yscale="log", xlabel="sweep", ylabel="change of the codes in a sweep")
    axes[2].set_title("ReLU messages, ISTA", fontsize=10)
    axes[2].legend(fontsize=7.5)
    return fig


def support(r: xr.Dataset) -> plt.Figure:
    """Active atoms of layer 1 against sweeps, and against the height that these have reached."""
    depths = (1, int(r["depth"].max()))
    fig, axes = plt.subplots(1, 2 * len(depths), figsize=(9.8, 3.3), sharey=True)
    beta = float(r["beta"][0])
    for pair, depth in zip(axes.reshape(len(depths), 2), depths, strict=True):
        chosen = {"depth": depth, "beta": beta}
        active = r["active"].sel(chosen).sel(layer=1)
        final = active.sel(solver="line_search").isel(sweep=-1)
        for solver in map(str, r["solver"].values):
            label, color, _ = SOLVERS[solver]
            relative = (active.sel(solver=solver) / final).median("seed")
            height = r["height"].sel(chosen).sel(schedule="sweep", solver=solver).median("seed")
            shown = height.values > FLOOR
            # Two that are one line: the later one leaves gaps.
            style = {"color": color, "ls": (0, (3, 2)) if solver == "restart" else "-"}
            pair[0].plot(r["sweep"], relative, label=label, **style)
            pair[1].plot(height.values[shown], relative.values[shown], **style)
        pair[0].set(xscale="log", xlabel="sweep", title=stack_name(depth))
        pair[1].set(xscale="log", xlabel=r"$(F - F^*)\,/\,F^*$", title=stack_name(depth))
        pair[1].invert_xaxis()
    for ax in axes:
        ax.axhline(1, color="0.6", lw=0.8)
        ax.title.set_fontsize(10)
    axes[0].set_ylabel("active atoms of layer 1 / settled")
    axes[0].legend(fontsize=7.5)
    return fig


def penalties(r: xr.Dataset) -> plt.Figure:
    """Error at the same number of active atoms, before and after a refit, and the time of a
    settle.
    """
    order = r["error"].median("seed").sortby(r["error"].median("seed"))["penalty"].values
    fig, axes = plt.subplots(1, 2, figsize=(9.4, 3.8), sharey=True, width_ratios=[1.4, 1])
    for row, name in enumerate(order):
        for kind, face, marker in (("error", "none", "o"), ("error_polished", PALETTE[0], "o")):
            seeds = 100 * r[kind].sel(penalty=name).values
            axes[0].plot(
                seeds, np.full(len(seeds), row), marker, mfc=face, mec=PALETTE[0], ms=5, alpha=0.8
            )
        times = r["time"].sel(penalty=name).values
        axes[1].plot(times, np.full(len(times), row), "s", color=PALETTE[7], ms=4.5, alpha=0.8)
    for face, label in (("none", "as settled"), (PALETTE[0], "refitted on the support")):
        axes[0].plot([], [], "o", mfc=face, mec=PALETTE[0], label=label)
    axes[0].set(
        yticks=range(len(order)),
        ylim=(len(order) - 0.5, -0.5),
        xlabel="error (% of the image's power)",
        xlim=(0, None),
    )
    axes[0].set_yticklabels([PENALTIES.get(name, name) for name in order])
    axes[1].set(xscale="log", xlabel="time (ms per sample)")
    fig.legend(loc="outside upper center", ncols=2, fontsize=8)
    for ax in axes:
        ax.grid(axis="y", color="0.93")
    return fig
