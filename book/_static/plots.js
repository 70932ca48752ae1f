/* Lines and paths, drawn by Observable Plot (plot/): what is given are numbers, names and colours. */

(() => {
  "use strict";

  const LETTERS = 11.5, HEIGHT = 232; // px
  const margins = { marginLeft: 46, marginRight: 14, marginTop: 24, marginBottom: 36 };
  const soft = { stroke: "currentColor", strokeOpacity: 0.6 };

  const power = (one) => `10${[...String(Math.round(Math.log10(one)))].map((c) => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(c)]).join("")}`;

  /* An axis as Plot wants it: powers of ten where it is logarithmic. */
  function scaled({ label, low, high, log }, room) {
    const domain = [low, high], clamp = true;
    if (!log) return { scale: { domain, clamp }, axis: { label, ticks: room } };
    const [from, to] = [Math.ceil(Math.log10(low) - 1e-9), Math.floor(Math.log10(high) + 1e-9)], every = Math.ceil((to - from) / room);
    const ticks = Array.from({ length: Math.floor((to - from) / every) + 1 }, (_, n) => 10 ** (from + n * every));
    return { scale: { domain, clamp, type: "log" }, axis: { label, ticks, tickFormat: power } };
  }

  /* Powers and names stay on one line. */
  const unbroken = (text) => text.replaceAll(" × ", "\u00a0×\u00a0").replaceAll("-", "\u2011");

  /* What a tip says of one of `all`, asked only when it is shown; no wider than half of the plot. */
  const told = (all, width) => ({ title: (_, i) => i, format: { title: (i) => unbroken(all[i].said()) }, lineHeight: 1.2, lineWidth: (width / 2 - 36) / LETTERS });

  function plotted(width, options, reached = []) {
    const svg = Plot.plot({ width, style: { fontSize: `${LETTERS}px`, overflow: "visible" }, ...options });
    svg.setAttribute("aria-hidden", "true"); // its box has the name
    const [x, y] = [svg.scale("x"), svg.scale("y")];
    svg.reached = reached.map(([a, b]) => [x.apply(a), b === undefined ? Number(svg.getAttribute("height")) / 2 : y.apply(b)]);
    return svg;
  }

  /* Of each of the `series` its `name`, `colour`, `dash` and `points` { x, y, low, high }; a shaded range and a marked place of x;
     and `rows` { x, said }, whose function tells what is said where one points. */
  function lines({ width, height = HEIGHT, x, y, series, shade, mark, rows = [] }) {
    const across = scaled(x, width / 80), up = scaled(y, 5), here = { x: "x", maxRadius: Infinity };
    const middle = x.log ? Math.sqrt(x.low * x.high) : (x.low + x.high) / 2; // a tip is in the other half than what it tells
    const marks = [
      shade && Plot.rect([shade], { x1: "0", x2: "1", fill: "currentColor", fillOpacity: 0.16 }),
      Plot.frame(soft),
      Plot.axisX({ labelAnchor: "center", labelArrow: "none", ...across.axis }),
      Plot.axisY({ labelAnchor: "top", labelArrow: "none", ...up.axis }),
      ...series.map(({ points, colour }) => points[0]?.low === undefined ? null
        : Plot.areaY(points, { x: "x", y1: "low", y2: "high", fill: colour, fillOpacity: 0.18 })),
      ...series.map(({ points, colour, dash, name }) => Plot.line(points,
        { x: "x", y: "y", stroke: colour, strokeWidth: 1.8, strokeDasharray: dash, className: "line", ariaLabel: () => name })),
      mark === undefined ? null : Plot.ruleX([mark], { className: "mark", stroke: "currentColor", strokeDasharray: "2 2" }),
      Plot.ruleX(rows, Plot.pointerX({ ...here, ...soft })),
      ...series.map(({ points, colour, quiet }) => quiet ? null : Plot.dot(points, Plot.pointerX({ ...here, y: "y", r: 3.5, fill: colour }))),
      Plot.tip(rows, Plot.pointerX({ px: "x", x: (one) => (one.x < middle ? x.high : x.low), maxRadius: Infinity, frameAnchor: "top", pointerSize: 0, ...told(rows, width) })),
    ];
    return plotted(width, { height, ...margins, x: across.scale, y: up.scale, marks }, rows.map((one) => [one.x]));
  }

  /* Paths `points` { x, y, name, colour, said } and their `ends`, in a square from minus to plus `high`, with a dashed `box` within. */
  function paths({ width, high, box, points, ends, label }) {
    const scale = { domain: [-high, high], clamp: true }, axis = { ticks: 5, labelArrow: "none" }, side = { marginLeft: 30, marginRight: 6, marginTop: 20, marginBottom: 34 };
    const marks = [
      Plot.rect([box], { x1: -box, x2: box, y1: -box, y2: box, fill: "none", strokeDasharray: "4 3", ...soft }),
      Plot.frame(soft),
      Plot.axisX({ label: `x ${label}`, labelAnchor: "center", ...axis }),
      Plot.axisY({ label: `y ${label}`, labelAnchor: "top", ...axis }),
      Plot.line(points, { x: "x", y: "y", z: "name", stroke: "colour", strokeWidth: 1.8, className: "line" }),
      Plot.dot(ends, { x: "x", y: "y", fill: "colour", r: 4.5 }),
      Plot.dot(points, Plot.pointer({ x: "x", y: "y", stroke: "currentColor", r: 5 })),
      Plot.tip(points, Plot.pointer({ x: "x", y: "y", ...told(points, width) })),
    ];
    const height = width - side.marginLeft - side.marginRight + side.marginTop + side.marginBottom;
    return plotted(width, { height, ...side, x: scale, y: scale, marks }, points.map((one) => [one.x, one.y]));
  }

  /* `cells` { x, y, colour, inside } of whole numbers, row by row upwards, with names on both axes; those `inside` have a dashed
     border, and the one `at` a place of the list a white one. */
  function cells({ width, height, x, y, cells, at }) {
    const inside = new Set(cells.filter((one) => one.inside).map((one) => `${one.x} ${one.y}`)), edges = [];
    for (const { x, y } of cells.filter((one) => one.inside)) {
      for (const [right, up] of [[1, 0], [-1, 0], [0, 1], [0, -1]]) {
        if (inside.has(`${x + right} ${y + up}`)) continue;
        const [a, b] = [x + (right > 0), y + (up > 0)];
        edges.push({ x1: a, y1: b, x2: a + Math.abs(up), y2: b + Math.abs(right) });
      }
    }
    const named = ({ names }, room) => {
      const every = Math.ceil(names.length / room);
      return { ticks: [...names.keys()].filter((i) => i % every === 0).map((i) => i + 0.5), tickFormat: (i) => names[i - 0.5], tickSize: 0, labelArrow: "none" };
    };
    const scale = ({ names }) => ({ domain: [0, names.length] }), square = { x1: "x", x2: (one) => one.x + 1, y1: "y", y2: (one) => one.y + 1 };
    const line = { x1: "x1", y1: "y1", x2: "x2", y2: "y2", strokeWidth: 2 };
    const marks = [
      Plot.axisX({ label: x.label, labelAnchor: "center", ...named(x, width / 40) }),
      Plot.axisY({ label: y.label, labelAnchor: "top", ...named(y, height / 16) }),
      Plot.rect(cells, { ...square, fill: "colour", shapeRendering: "crispEdges" }),
      Plot.link(edges, { ...line, stroke: "#000" }),
      Plot.link(edges, { ...line, stroke: "#fff", strokeDasharray: "6 5" }),
      ...[["#000", 5], ["#fff", 2]].map(([stroke, strokeWidth]) => Plot.rect([cells[at]], { ...square, fill: "none", stroke, strokeWidth })),
    ];
    return plotted(width, { height, ...margins, marginLeft: 30, x: scale(x), y: scale(y), marks });
  }

  /* The column and the row under a pointer over cells. */
  function under(svg, event) {
    const [x, y] = d3.pointer(event, svg);
    return [svg.scale("x").invert(x), svg.scale("y").invert(y)].map(Math.floor);
  }

  /* Arrow keys point as a hand would, from one place of a plot to the next; `tell` is given what is said there. */
  function keys(box, tell) {
    let at = -1;
    const point = (kind, [x, y] = [0, 0], pointerType = "") => {
      const svg = box.querySelector("svg"), to = new DOMPoint(x, y).matrixTransform(svg.getScreenCTM());
      svg.dispatchEvent(new PointerEvent(kind, { clientX: to.x, clientY: to.y, pointerType }));
      return svg.value;
    };
    box.tabIndex = 0;
    box.setAttribute("role", "application");
    box.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1, Home: -Infinity, End: Infinity }[event.key], { reached } = box.querySelector("svg");
      if (!step || !reached.length) return;
      event.preventDefault();
      at = Math.min(reached.length - 1, Math.max(0, at + step));
      tell(point("pointermove", reached[at])?.said());
    });
    box.addEventListener("blur", () => point("pointerleave", undefined, "mouse"));
  }

  window.vnPlots = { lines, paths, cells, under, keys };
})();
