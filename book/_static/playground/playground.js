/* The playground page: a picture that the reader makes, settled by settle.js and drawn with all that came of it.
   Reads vnDictionary and vnDigits, which vnlib.playground exports. */

(() => {
  "use strict";

  const { format, size: [height, width], atoms: K, about, sparsity, nonnegative, lipschitz, int8 } = vnDictionary;
  if (format !== 1 || vnDigits.format !== 1) throw new Error("the playground's data has another format; export it again");
  const d = width * height;
  const atoms = vnSettle.dictionary(int8, K);
  const digits = vnDigits.labels.map((label, n) => {
    const image = vnSettle.bytes(vnDigits.uint8).subarray(n * d, (n + 1) * d);
    return { label, image: Float64Array.from(image, (ink) => ink / 255) };
  });

  const SETTLED = Infinity, SHOWN = 24;
  const SWEEPS = [0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 20, 25, 30, 40, 50, 70, 100, 150, 200, 300, SETTLED];
  const FRAME = 250; // milliseconds between two steps of a watched settle
  const PAUSE = 700; // milliseconds of rest before anything is said
  const ROUGH = 1e-5, EXACT = 1e-12; // duality gap while the pointer draws, and else
  const $ = (id) => document.getElementById(`vn-${id}`);
  const chosen = (name) => document.querySelector(`input[name="vn-${name}"]:checked`).value;
  const still = matchMedia("(prefers-reduced-motion: reduce)");

  const picture = new Float64Array(d), seen = new Float64Array(d).fill(1);
  const cursor = { x: width >> 1, y: height >> 1 };
  let drawing = null, watching = 0, waiting = 0, saying = 0, result = null, range = 1;

  // --- The settle ---------------------------------------------------------------------------------------------------

  const wholeGram = vnSettle.gram(atoms, d);
  let partGram = { of: "", H: null };

  function gramOf(mask) {
    if (!mask.includes(0)) return wholeGram;
    if (partGram.of !== mask.join("")) partGram = { of: mask.join(""), H: vnSettle.gram(atoms, d, mask) };
    return partGram.H;
  }

  function settle() {
    const hidden = $("hidden").checked;
    const mask = hidden ? seen.slice() : new Float64Array(d).fill(1);
    const x = hidden ? picture.slice() : picture.map((value, i) => value * seen[i]);
    const visible = x.map((value, i) => value * mask[i]);
    const sweeps = SWEEPS[$("sweeps").value];
    const problem = {
      H: gramOf(mask), drive: vnSettle.correlate(atoms, visible), power: vnSettle.dot(visible, visible),
      lipschitz, lambda: sparsity * 2 ** $("sparsity").value, nonnegative: !$("signed").checked,
    };
    const limits = sweeps === SETTLED ? { tol: drawing ? ROUGH : EXACT } : { tol: 0, maxSweeps: sweeps };
    const found = vnSettle.settle(problem, limits);
    const reconstruction = vnSettle.reconstruct(atoms, found.code);
    const residual = reconstruction.map((value, i) => mask[i] * (x[i] - value));
    return { x, mask, lambda: problem.lambda, nonnegative: problem.nonnegative, power: problem.power, ...found,
      reconstruction, residual };
  }

  // --- Drawing ------------------------------------------------------------------------------------------------------

  /* Diverging, safe for the colour-blind: orange below zero, white, blue above. The same stops are in the style sheet. */
  const BELOW = [[255, 255, 255], [253, 174, 97], [127, 59, 8]], ABOVE = [[255, 255, 255], [107, 174, 214], [8, 48, 107]];

  function colour(value) {
    const stops = value < 0 ? BELOW : ABOVE, at = 2 * Math.min(1, Math.abs(value)), from = at < 1 ? 0 : 1;
    return stops[from].map((c, i) => c + (stops[from + 1][i] - c) * (at - from));
  }

  function paint(canvas, values, range, mask) {
    const image = new ImageData(width, height);
    values.forEach((value, i) => {
      const covered = mask && !mask[i];
      const rgb = covered ? ((i % width + (i / width | 0)) % 2 ? [150, 150, 150] : [200, 200, 200]) : colour(value / range);
      image.data.set([...rgb, 255], 4 * i);
    });
    canvas.getContext("2d").putImageData(image, 0, 0);
  }

  function small() {
    return Object.assign(document.createElement("canvas"), { width, height });
  }

  const buffer = small();

  function paintPicture() {
    paint(buffer, picture, range, seen);
    const canvas = $("x"), context = canvas.getContext("2d"), [w, h] = [canvas.width / width, canvas.height / height];
    context.imageSmoothingEnabled = false;
    context.drawImage(buffer, 0, 0, canvas.width, canvas.height);
    if (document.activeElement === canvas && canvas.matches(":focus-visible")) {
      for (const [line, ink] of [[5, "#fff"], [2, "#000"]]) { // seen on paper and on ink
        [context.lineWidth, context.strokeStyle] = [line, ink];
        context.strokeRect(cursor.x * w, cursor.y * h, w, h);
      }
    }
  }

  const signed = (value, places = 2) => `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(places)}`;

  function listAtoms({ code }) {
    const active = [...code.keys()].filter((k) => code[k]).sort((i, j) => Math.abs(code[j]) - Math.abs(code[i]));
    const items = active.slice(0, SHOWN).map((k) => {
      const item = document.createElement("li"), canvas = small(), atom = atoms.subarray(k * d, (k + 1) * d);
      canvas.setAttribute("role", "img");
      canvas.setAttribute("aria-label", `Atom ${k}`);
      paint(canvas, atom, atom.reduce((most, value) => Math.max(most, Math.abs(value)), 0));
      const bar = Object.assign(document.createElement("div"), { className: "vn-bar" });
      bar.style.width = `${100 * Math.abs(code[k] / code[active[0]])}%`;
      bar.style.background = code[k] < 0 ? "rgb(230 97 1)" : "rgb(67 147 195)";
      item.append(canvas, bar, signed(code[k]));
      return item;
    });
    $("atoms").replaceChildren(...items);
    const more = active.length - items.length;
    $("more").textContent = active.length ? (more ? `and ${more} more` : "") : "none";
    return active.length;
  }

  /* For screen readers, once the reader has paused. */
  function say(text) {
    clearTimeout(saying);
    saying = setTimeout(() => { $("said").textContent = text; }, PAUSE);
  }

  function show() {
    const first = !result;
    waiting = 0;
    result = settle();
    const { x, mask, reconstruction, residual, power, misfit, penalty, energy, sweeps, settled } = result;
    range = [picture, reconstruction].flatMap((p) => [...p]).reduce((m, value) => Math.max(m, Math.abs(value)), 1);
    paintPicture();
    paint($("reconstruction"), reconstruction, range);
    paint($("residual"), residual, range, mask);
    $("low").textContent = `−${range.toFixed(1)}`;
    $("high").textContent = range.toFixed(1);
    const active = listAtoms(result), explained = power ? `${(100 * (1 - 2 * misfit / power)).toFixed(1)} %` : "–";
    $("active").textContent = `${active} of ${K}`;
    $("energy").textContent = `${energy.toFixed(2)} = ${misfit.toFixed(2)} misfit + ${penalty.toFixed(2)} sparsity`;
    $("explained").textContent = explained;
    $("done").textContent = settled ? `${sweeps}, settled` : sweeps;
    $("reconstruction").setAttribute("aria-label", `Weighted sum of ${active} atoms; it explains ${explained} of the picture`);
    $("residual").setAttribute("aria-label", `Picture minus that sum; misfit ${misfit.toFixed(2)}`);
    if (!first) say(`${active} of ${K} atoms are active and explain ${explained} after ${sweeps} sweeps.`);
  }

  const soon = () => { waiting = waiting || requestAnimationFrame(show); };

  // --- What the reader does -----------------------------------------------------------------------------------------

  /* A soft brush at a point in pixels; covering is by whole pixels. */
  function brush(px, py) {
    const tool = chosen("tool");
    for (let i = 0; i < d; i++) {
      const far = Math.hypot(i % width + 0.5 - px, Math.floor(i / width) + 0.5 - py);
      if (tool === "cover") seen[i] = far < 2.5 ? 0 : seen[i];
      const ink = Math.min(1, Math.max(0, 1.9 - far));
      if (tool === "draw") picture[i] = Math.max(picture[i], ink);
      if (tool === "erase") [picture[i], seen[i]] = [picture[i] * (1 - ink), ink ? 1 : seen[i]];
    }
    soon();
  }

  function stroke(event) {
    const box = $("x").getBoundingClientRect();
    const to = [(event.clientX - box.left) / box.width * width, (event.clientY - box.top) / box.height * height];
    const from = drawing === true ? to : drawing, steps = Math.ceil(2 * Math.hypot(to[0] - from[0], to[1] - from[1])) || 1;
    for (let s = 1; s <= steps; s++) brush(from[0] + (to[0] - from[0]) * s / steps, from[1] + (to[1] - from[1]) * s / steps);
    drawing = to;
  }

  $("x").addEventListener("pointerdown", (event) => {
    event.currentTarget.setPointerCapture(event.pointerId);
    drawing = true;
    stroke(event);
  });
  $("x").addEventListener("pointermove", (event) => {
    if (drawing) event.getCoalescedEvents().concat(event).forEach(stroke);
  });
  for (const end of ["pointerup", "pointercancel"]) $("x").addEventListener(end, () => { drawing = null; soon(); });

  const MOVES = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  $("x").addEventListener("keydown", (event) => {
    if (event.key in MOVES) {
      const [dx, dy] = MOVES[event.key];
      cursor.x = Math.min(width - 1, Math.max(0, cursor.x + dx));
      cursor.y = Math.min(height - 1, Math.max(0, cursor.y + dy));
      paintPicture();
      const i = cursor.y * width + cursor.x;
      say(`Row ${cursor.y + 1}, column ${cursor.x + 1}: ${seen[i] ? `ink ${picture[i].toFixed(1)}` : "covered"}.`);
    } else if (event.key === " ") brush(cursor.x + 0.5, cursor.y + 0.5);
    else return;
    event.preventDefault();
    event.stopPropagation(); // or the theme turns the page
  });
  for (const change of ["focus", "blur"]) $("x").addEventListener(change, paintPicture);

  function pick(image) {
    const sign = { replace: 1, add: 1, subtract: -1 }[chosen("pick")];
    if (chosen("pick") === "replace") picture.fill(0);
    image.forEach((ink, i) => { picture[i] += sign * ink; });
    soon();
  }

  digits.forEach(({ label, image }, n) => {
    const button = Object.assign(document.createElement("button"), { type: "button" }), canvas = small();
    const twin = vnDigits.labels.indexOf(label) < n;
    button.setAttribute("aria-label", twin ? `Digit ${label}, another one` : `Digit ${label}`);
    paint(canvas, image, 1);
    button.append(canvas);
    button.addEventListener("click", () => pick(image));
    $("digits").append(button);
  });

  const coverWhere = (test) => seen.forEach((_, i) => { if (test(i % width, Math.floor(i / width))) seen[i] = 0; });
  const PRESS = {
    clear: () => { picture.fill(0); seen.fill(1); },
    left: () => coverWhere((x) => x < width / 2),
    lower: () => coverWhere((_, y) => y >= height / 2),
    uncover: () => seen.fill(1),
  };
  for (const [id, act] of Object.entries(PRESS)) $(id).addEventListener("click", () => { act(); soon(); });
  for (const id of ["hidden", "signed"]) $(id).addEventListener("change", soon);

  function labelSliders() {
    const factor = 2 ** $("sparsity").value, sweeps = SWEEPS[$("sweeps").value];
    const texts = { sparsity: `${+factor.toPrecision(3)} × the model's`, sweeps: sweeps === SETTLED ? "until settled" : `${sweeps}` };
    for (const [id, text] of Object.entries(texts)) {
      $(`${id}-value`).textContent = text;
      $(id).setAttribute("aria-valuetext", text);
    }
    soon();
  }

  function stop() {
    clearInterval(watching);
    watching = 0;
    $("watch").textContent = still.matches ? "One step of the settle" : "Watch it settle";
  }

  /* From no sweep to the settled code; step by step, at the reader's own pace, where less motion is wished for. */
  function step() {
    const slider = $("sweeps"), last = SWEEPS.length - 1;
    slider.value = (+slider.value + 1) % (last + 1);
    labelSliders();
    if (watching && +slider.value === last) stop();
  }

  $("watch").addEventListener("click", () => {
    if (still.matches) step();
    else if (watching) stop();
    else {
      $("sweeps").value = 0;
      labelSliders();
      watching = setInterval(step, FRAME);
      $("watch").textContent = "Stop";
    }
  });
  still.addEventListener("change", stop);
  $("sparsity").addEventListener("input", labelSliders);
  $("sweeps").addEventListener("input", () => { stop(); labelSliders(); });

  $("sweeps").max = $("sweeps").value = SWEEPS.length - 1;
  $("signed").checked = !nonnegative;
  $("model").textContent = `The model: one layer of ${K} atoms, ${about}.`;
  stop();
  labelSliders();
  pick(digits[8].image);
  // For the curious, and for tests: settle what is on the page now and hand over all of it.
  globalThis.vnPlayground = { read: () => { show(); return result; } };
})();
