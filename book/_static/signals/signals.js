/* A signal of which the reader hides an interval, and the models that fill it in, which fill.js computes. What there is, and
   how it lies in the page, is said in book/_extensions/signals.py. */

(() => {
  "use strict";

  const { short, numbers } = window.vnExplorers;
  const STEPS = 128, LEAST = 4, MOST = 112, FAR = 8; // places of an end; widths of what is hidden; a step of Page Up
  const FIT = 1.6; // from the middle to the border, over the largest value of the signal
  const CALM = 500; // ms without a change before it is told

  /* Numbers as book/_extensions/signals.py lays them. */
  function reading({ f4, u1 }) {
    const size = ({ shape }) => shape.reduce((all, one) => all * one, 1);
    const plain = (one) => Float64Array.from(f4.subarray(one.from, one.from + size(one)));
    const rows = (one) => {
      const count = size(one), wide = one.shape[1], steps = plain(one.steps), found = new Float64Array(count);
      for (let i = 0, level = 0; i < count; i++) {
        const apart = u1[one.from + i] + 256 * u1[one.from + count + i];
        level = ((i % wide ? level : 0) + apart) << 16 >> 16;
        found[i] = level * steps[Math.floor(i / wide)];
      }
      return found;
    };
    const map = ({ weight, step, bias, relu }) => {
      const wide = weight.shape[1], steps = plain(step);
      const W = Float64Array.from({ length: size(weight) }, (_, i) => (u1[weight.from + i] << 24 >> 24) * steps[Math.floor(i / wide)]);
      return { W, bias: bias ? plain(bias) : new Float64Array(weight.shape[0]), relu };
    };
    return { plain, rows, map };
  }

  /* { key: (x, interval, what is chosen for it) => what is drawn } */
  function models(told, data) {
    const { plain, rows, map } = reading(data), n = told.signal.shape[1], atoms = rows(told.atom);
    for (let k = 0; k < atoms.length / n; k++) {
      const atom = atoms.subarray(k * n, (k + 1) * n), norm = Math.sqrt(vnSettle.dot(atom, atom));
      for (let i = 0; i < n; i++) atom[i] /= norm;
    }
    return {
      vn_1: vnFill.dictionary(atoms, n),
      fourier: vnFill.dictionary(vnFill.fourierAndBumps(n), n),
      gaussian: vnFill.gaussian({ mean: rows(told.mean), axes: rows(told.axis), spread: plain(told.spread) }),
      linear: vnFill.interpolate,
      deep_ae: vnFill.network(told.maps.map(map)),
    };
  }

  function live(root, told, data) {
    const n = told.signal.shape[1], fills = models(told, data), signals = reading(data).rows(told.signal), $ = (one) => root.querySelector(one);
    const state = { signal: told.first, ends: told.hidden.map((share) => Math.round(share * STEPS)) };
    const place = (end) => Math.round(end * n / STEPS), [begins, ends] = told.time;
    const seconds = (end) => begins + (ends - begins) * end / STEPS, said = (end) => `${seconds(end).toFixed(2)}\u00a0s`;
    const at = (i) => begins + (ends - begins) * i / (n - 1);
    const name = () => told.examples[state.signal].join(", no. ");

    /* All that is shown: what the models that are picked draw of the signal, and their errors. */
    function read() {
      const x = signals.subarray(n * state.signal, n * (state.signal + 1)), interval = state.ends.map(place);
      const near = vnFill.nearest(told.intervals, state.ends.map((end) => end / STEPS)), zero = vnFill.error(x, new Float64Array(n), interval);
      const picked = [...root.querySelectorAll(".vn-models input:checked")].map((one) => one.value);
      const found = told.models.filter(({ key }) => picked.includes(key)).map((model) => {
        const chosen = told.chosen[model.key]?.[near], drawn = fills[model.key](x, interval, chosen);
        return { ...model, chosen, drawn, error: vnFill.error(x, drawn, interval) };
      });
      return { x, interval, zero, found, near };
    }

    function plot({ x, interval: [from, to], found }) {
      const box = $(".vn-plot"), width = Math.min(608, Math.max(280, box.clientWidth || 560)), FRAME = "#555";
      const points = (values, a, b) => Array.from(values.subarray(Math.max(0, a), Math.min(n, b)), (y, i) => ({ x: at(Math.max(0, a) + i), y }));
      const high = FIT * x.reduce((most, one) => Math.max(most, Math.abs(one)), 0) || 1;
      const svg = vnPlots.lines({
        width, x: { label: "time [s]", low: begins, high: ends }, y: { label: "signal [r.m.s. of training]", low: -high, high },
        shade: [at(from), at(to - 1)],
        series: [
          { name: "hidden", colour: FRAME, dash: "1 3", points: points(x, from, to), quiet: true },
          ...found.map(({ name: one, colour, dash, drawn }) => ({ name: one, colour, dash: dash || undefined, points: points(drawn, from, to), quiet: true })),
          ...[[0, from], [to, n]].map(([a, b]) => ({ name: "seen", colour: FRAME, points: points(x, a, b), quiet: true })),
        ],
      });
      box.replaceChildren(svg);
      const scale = svg.scale("x"), share = (i) => `${100 * scale.apply(at(i)) / width}%`;
      for (const one of root.querySelectorAll("[data-drag]")) {
        one.style.left = share(one.dataset.drag === "1" ? to - 1 : from);
        if (one.dataset.drag === "both") one.style.width = `calc(${share(to - 1)} - ${share(from)})`;
      }
      const lines = found.map(({ name: one }) => one).join(", ");
      box.setAttribute("aria-label", `${name()}, hidden from ${said(state.ends[0])} to ${said(state.ends[1])}${lines && `, filled in by ${lines}`}`);
    }

    function table({ zero, found }) {
      const cell = (kind, text, given = {}) => Object.assign(document.createElement(kind), { textContent: text, ...given });
      const heads = [...root.querySelectorAll("thead th")].map((one) => one.textContent);
      const row = ({ key, name: one, error }) => {
        const line = document.createElement("tr"), head = cell("th", one, { scope: "row" });
        if (key) head.prepend($(`[value="${key}"] ~ .vn-line`).cloneNode(true), " ");
        line.append(head, ...[error, zero ? error / zero : NaN].map((value, i) => {
          const one = cell("td", short(value) || "–");
          one.dataset.head = heads[i];
          return one;
        }));
        return line;
      };
      $("tbody").replaceChildren(row({ name: "Zero", error: zero }), ...found.map(row));
    }

    let calm = null;
    function tell({ zero, found }) {
      const errors = found.map(({ name: one, error }) => `${one} ${short(error)}, ${short(error / zero)} of that`).join("; ");
      const text = `${name()}, hidden from ${said(state.ends[0])} to ${said(state.ends[1])}. Zero errs by ${short(zero)} there${errors && `; ${errors}`}.`;
      clearTimeout(calm);
      calm = setTimeout(() => { $("[role=status]").textContent = text; }, CALM);
    }

    function controls() {
      const [from, to] = state.ends, kept = [[Math.max(0, to - MOST), to - LEAST], [from + LEAST, Math.min(STEPS, from + MOST)]];
      for (const one of root.querySelectorAll("[data-end]")) {
        const end = state.ends[one.dataset.end];
        if (one.tagName === "OUTPUT") one.textContent = said(end);
        else Object.assign(one, { min: 0, max: STEPS, value: end });
        if (one.tagName === "INPUT") one.setAttribute("aria-valuetext", said(end));
      }
      for (const one of root.querySelectorAll("[data-drag]")) {
        const part = one.dataset.drag, whole = part === "both", end = state.ends[whole ? 0 : part];
        const [least, most] = whole ? [0, STEPS - (to - from)] : kept[part];
        const values = { valuemin: least, valuemax: most, valuenow: end, valuetext: whole ? `from ${said(from)} to ${said(to)}` : said(end) };
        for (const [key, value] of Object.entries(values)) one.setAttribute(`aria-${key}`, value);
      }
      $(".vn-title").textContent = `${name()}, hidden from ${said(from)} to ${said(to)}`;
    }

    function show() {
      const found = read();
      controls();
      plot(found);
      table(found);
      tell(found);
    }

    let frame = null;
    const soon = () => {
      frame ??= requestAnimationFrame(() => {
        frame = null;
        show();
      });
    };

    /* Move one end, or the whole, to a place; as far as it goes. */
    function move(part, to) {
      const [from, until] = state.ends, whole = until - from, clip = (value, low, high) => Math.min(high, Math.max(low, value));
      if (part === "both") state.ends = [0, whole].map((more) => clip(to, 0, STEPS - whole) + more);
      else if (part === "0") state.ends = [clip(to, Math.max(0, until - MOST), until - LEAST), until];
      else state.ends = [from, clip(to, from + LEAST, Math.min(STEPS, from + MOST))];
      controls();
      soon();
    }

    const field = $(".vn-field");
    let held = null;
    field.addEventListener("pointerdown", (event) => {
      const handle = event.target.closest("[data-drag]");
      if (!handle || event.button) return;
      event.preventDefault();
      handle.focus({ preventScroll: true });
      handle.setPointerCapture(event.pointerId);
      held = { part: handle.dataset.drag, x: event.clientX, from: state.ends[handle.dataset.drag === "1" ? 1 : 0] };
      handle.classList.add("vn-held");
    });
    field.addEventListener("pointermove", (event) => {
      if (!held) return;
      const scale = $(".vn-plot svg").scale("x"), wide = (scale.apply(ends) - scale.apply(begins)) * $(".vn-plot svg").clientWidth / $(".vn-plot svg").getAttribute("width");
      move(held.part, Math.round(held.from + (event.clientX - held.x) / wide * STEPS));
    });
    for (const kind of ["pointerup", "pointercancel"]) {
      field.addEventListener(kind, ({ target }) => {
        held = null;
        target.classList.remove("vn-held");
      });
    }
    field.addEventListener("keydown", (event) => {
      const part = event.target.dataset.drag, step = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -FAR, PageUp: FAR, Home: -STEPS, End: STEPS }[event.key];
      if (!part || !step) return;
      event.preventDefault();
      move(part, state.ends[part === "1" ? 1 : 0] + step);
    });
    root.querySelector(".vn-picks").addEventListener("input", ({ target }) => {
      if (target.type === "range") {
        move(target.dataset.end, Number(target.value));
        return;
      }
      if (target.tagName === "SELECT") state.signal = Number(target.value);
      soon();
    });

    root.hidden = false;
    show();
    window.addEventListener("resize", soon);
    return { state, read, move, show };
  }

  const all = {};
  for (const root of document.querySelectorAll(".vn-live")) {
    const told = JSON.parse(root.querySelector("script[type='application/json']").textContent);
    all[root.id] = numbers(told.data).then((data) => live(root, told, data));
  }
  window.vnSignals = { all };
})();
