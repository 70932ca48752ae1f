"""Two models beside the truth, in motion: an HTML fragment of its own that plays without a
network.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from html import escape
from string import Template

import numpy as np
import xarray as xr

from chapters.H_nbody.figures_looks import CAP, DT, EDGE, drawn, title
from chapters.H_nbody.figures_paths import choose, seen_seed, told
from vnlib.plots.frames import group, label
from vnlib.plots.style import PALETTE

SIDE = 200  # of a panel, in units of the drawing
SHOWN = 2.8  # box units from the middle to the edge of a panel
FRAMES = 40

# Trails grow and dots move with the slider; between kept steps positions are interpolated.
SCRIPT = Template("""
(function () {
  var root = document.getElementById("$name"), panels = $paths, times = $times;
  var last = panels[0][0].length - 1;
  var dots = root.querySelectorAll("circle.dot"), trails = root.querySelectorAll("polyline.trail");
  var button = root.querySelector("button"), slider = root.querySelector("input");
  var clock = root.querySelector("output"), running = null;
  function show(at) {
    var n = 0;
    panels.forEach(function (bodies) {
      bodies.forEach(function (path) {
        var i = Math.min(Math.floor(at), last - 1), part = at - i, a = path[i], b = path[i + 1];
        var there = a && b, seen = path.slice(0, i + 1).filter(Boolean);
        if (there) {
          var x = a[0] + part * (b[0] - a[0]), y = a[1] + part * (b[1] - a[1]);
          dots[n].setAttribute("cx", x); dots[n].setAttribute("cy", y);
          seen.push([x, y]);
        }
        dots[n].style.display = there ? "" : "none";
        trails[n].setAttribute("points", seen.join(" "));
        n += 1;
      });
    });
    var i = Math.min(Math.floor(at), last - 1);
    clock.textContent = (times[i] + (at - i) * (times[i + 1] - times[i])).toFixed(2) + " s";
  }
  function stop() { cancelAnimationFrame(running); running = null; button.textContent = "Play"; }
  button.addEventListener("click", function () {
    if (running !== null) { stop(); return; }
    var from = Number(slider.value) >= last ? 0 : Number(slider.value), begun = null;
    button.textContent = "Pause";
    function tick(now) {
      if (begun === null) { begun = now; }
      var at = Math.min(last, from + (now - begun) / $duration * last);
      slider.value = at; show(at);
      if (at < last) { running = requestAnimationFrame(tick); } else { stop(); }
    }
    running = requestAnimationFrame(tick);
  });
  slider.addEventListener("input", function () {
    if (running !== null) { stop(); }
    show(Number(slider.value));
  });
  root.querySelector(".controls").style.display = "flex";
  show(last);
})();
""")


def animation(
    ds: xr.Dataset,
    truth: xr.Dataset,
    *,
    scene: str | None = None,
    models: Sequence[str] | None = None,
    pick: str = "median",
    start: int | None = None,
    reach: float = 2.45,
    length: float = 1.0,
    dt: float = DT,
    seconds: float = 5.0,
) -> str:
    """The bodies of one start, true ones and those of two models, to play, pause and move through.

    Parameters
    ----------
    ds, truth, pick, reach, length
        As for `rollouts.paths`.
    scene
        The last one by default.
    models
        By default those that drift least there at the end, of the Vector Networks and of the
        paper's other models (median over starts).
    start
        Instead of a pick.
    seconds
        How long it plays. Without scripts it shows whole paths.

    Raises
    ------
    ValueError
        For a scene and a model without paths.
    """
    seed, scenes = seen_seed(ds), [str(s) for s in ds["scene"].values]
    scene = scene if scene is not None else scenes[-1]
    if scene not in scenes:
        raise ValueError(f"scene must be one of {', '.join(map(repr, scenes))}, got {scene!r}")
    names = list(models) if models is not None else leading(ds, scene)
    for model in names:
        if not drawn(ds, "path", [model]):
            raise ValueError(f"models must have paths, got {model!r}, which has none")
    found = choose(ds, truth, scene, pick, reach=reach, length=length)
    number = found.start if start is None else start
    reason = told(found) if start is None else f"start {start}"
    rows = np.linspace(0, len(ds["step"]) - 1, min(FRAMES, len(ds["step"]))).round().astype(int)
    steps = ds["step"].values[rows]
    true = (
        truth["position"]
        .sel(panel=scene, step=steps)
        .isel(start=number)
        .transpose("body", "step", "axis")
    )
    shown = [("truth", placed(true.values))]
    said = []
    for model in names:
        one = ds.sel(model=model, seed=seed).isel(start=number)
        path = one["path"].sel(scene=scene).isel(step=rows).transpose("body", "step", "axis")
        end = float(one["drift"].sel(panel=scene).isel(step=-1))
        drift = f"drift {end:.2g} box²" if np.isfinite(end) else "lost"
        shown.append((label(ds, model), placed(path.values)))
        said.append(f"{label(ds, model)}: {drift} after {steps[-1] * dt:.3g} s")
    alternative = (
        f"{title(scene)}, {reason}. True paths of {true.sizes['body']} bodies beside those of "
        "models. "
    )
    alternative += "; ".join(said) + "."
    return _fragment(shown, alternative, said, steps * dt, seconds)


def leading(ds: xr.Dataset, scene: str) -> list[str]:
    """The Vector Network and the other model of the paper that drift least at the end of a
    scene.
    """
    ends = (
        ds["drift"]
        .sel(panel=scene)
        .isel(step=-1)
        .clip(max=CAP)
        .median([d for d in ("seed", "start") if d in ds.dims])
    )
    followed = drawn(ds, "path", [str(m) for m in ds["model"].values])
    kinds = [[m for m in followed if group(ds, m) == kind] for kind in ("vn", "printed")]
    return [min(kind, key=lambda m: float(ends.sel(model=m))) for kind in kinds if kind]


def placed(path: np.ndarray) -> list:
    """Positions (body, step, axis) in a panel's drawing, y downwards, to a tenth of its unit; None
    where lost.
    """
    xy = (path * [1, -1] / SHOWN + 1) * SIDE / 2
    return [
        [[round(float(x), 1), round(float(y), 1)] if np.isfinite(x + y) else None for x, y in b]
        for b in xy
    ]


def _fragment(
    shown: list, alternative: str, said: Sequence[str], times: np.ndarray, seconds: float
) -> str:
    name = (
        "vn-rollout-" + hashlib.sha256(json.dumps([shown, alternative]).encode()).hexdigest()[:10]
    )
    panels = "".join(
        _panel(number, *one, shown[0][1], f"{name}-clip") for number, one in enumerate(shown)
    )
    last = len(times) - 1
    script = SCRIPT.substitute(
        name=name,
        paths=json.dumps([paths for _, paths in shown], separators=(",", ":")),
        times=json.dumps([round(float(t), 4) for t in times]),
        duration=f"{1000 * seconds:g}",
    )
    width = len(shown) * (SIDE + 10)
    return (
        f'<figure id="{name}" class="vn-rollout" style="margin:1em 0;max-width:{width + 20}px">'
        f'<svg role="img" aria-label="{escape(alternative, quote=True)}" viewBox="-2 -18 {width} '
        f'{SIDE + 22}" '
        f'style="width:100%" font-size="12">{panels}</svg>'
        '<div class="controls" style="display:none;gap:.8em;align-items:center">'
        '<button type="button" style="min-width:5em">Play</button>'
        f'<input type="range" min="0" max="{last}" step="any" value="{last}" aria-label="time" '
        'style="flex:1">'
        f'<output style="min-width:4em">{times[-1]:.2f} s</output></div>'
        f"<figcaption>{escape('; '.join(said))}</figcaption><script>{script}</script></figure>"
    )


def _panel(number: int, name: str, paths: list, true: list, clip: str) -> str:
    """Frame, name, the whole true paths in grey, and for each body a trail and a dot."""
    inset, inner = round((1 - EDGE / SHOWN) * SIDE / 2, 1), round(EDGE / SHOWN * SIDE, 1)
    parts = [
        ""
        if number
        else f'<clipPath id="{clip}"><rect width="{SIDE}" height="{SIDE}"/></clipPath>',
        f'<text x="{SIDE / 2:g}" y="-5" text-anchor="middle" '
        f'fill="currentColor">{escape(name)}</text>',
        f'<rect x="{inset}" y="{inset}" width="{inner}" height="{inner}" fill="none" stroke="#999" '
        'stroke-dasharray="4 3"/>',
    ]
    lines = [
        f'<polyline points="{_points(one)}" fill="none" stroke="#999" stroke-width="1"/>'
        for one in true
    ]
    for body, one in enumerate(paths):
        color = PALETTE[body % len(PALETTE)]
        x, y = next((p for p in reversed(one) if p), (0, 0))
        lines.append(
            f'<polyline class="trail" points="{_points(one)}" fill="none" stroke="{color}" '
            f'stroke-width="2"/><circle class="dot" cx="{x}" cy="{y}" r="4.5" fill="{color}"/>'
        )
    parts.append(f'<g clip-path="url(#{clip})">{"".join(lines)}</g>')
    return f'<g transform="translate({number * (SIDE + 10)},0)">{"".join(parts)}</g>'


def _points(path: list) -> str:
    return " ".join(f"{x},{y}" for x, y in filter(None, path))
