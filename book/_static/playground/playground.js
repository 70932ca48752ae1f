/* The playground page: a picture that the reader makes, settled by settle.js and drawn with all that came of it, beside
   what other models draw with as many coefficients; or by two layers, which two_layers.js shows. */

(() => {
  "use strict";

  const { width, height, d, K, atoms, digits, atom, paint, small, signed } = vnPictures;
  const { about, sparsity, nonnegative, lipschitz } = vnDictionary;
  const models = vnModels.read(vnOpponents);
  const deep = globalThis.vnLayers ? vnTwoLayers(vnLayers) : null; // the page does without it

  const SETTLED = Infinity, SHOWN = 24;
  const SWEEPS = [0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 20, 25, 30, 40, 50, 70, 100, 150, 200, 300, SETTLED];
  const FRAME = 250; // milliseconds between two steps of a watched settle
  const FIRST = 8; // the place of the digit that is there at first
  const PAUSE = 700; // milliseconds of rest before anything is said
  const ROUGH = 1e-5, EXACT = 1e-12; // duality gap while the pointer draws, and else
  const $ = (id) => document.getElementById(`vn-${id}`);
  const chosen = (name) => document.querySelector(`input[name="vn-${name}"]:checked`).value;
  const still = matchMedia("(prefers-reduced-motion: reduce)");

  const picture = new Float64Array(d), seen = new Float64Array(d).fill(1);
  const cursor = { x: width >> 1, y: height >> 1 };
  const edits = new Map(); // atoms that the reader removed or doubled
  let picks = null; // the digits that the picture is the sum of; null once something else is drawn
  let drawing = null, watching = 0, waiting = 0, saying = 0, acted = false, result = null, range = 1;

  // --- The settle ---------------------------------------------------------------------------------------------------

  const layers = () => +chosen("layers");

  /* What is settled, and how far, by whichever network. */
  function scene() {
    const hidden = $("hidden").checked;
    const mask = hidden ? seen.slice() : new Float64Array(d).fill(1);
    const x = hidden ? picture.slice() : picture.map((value, i) => value * seen[i]);
    const visible = x.map((value, i) => value * mask[i]);
    const sweeps = SWEEPS[$("sweeps").value];
    const limits = sweeps === SETTLED ? { tol: drawing ? ROUGH : EXACT } : { tol: 0, maxSweeps: sweeps };
    return { x, mask, visible, power: vnSettle.dot(visible, visible), factor: 2 ** $("sparsity").value, limits };
  }

  function settle({ x, mask, visible, power, factor, limits }) {
    const problem = {
      H: vnPictures.gram(mask), drive: vnSettle.correlate(atoms, visible), power,
      lipschitz, lambda: sparsity * factor, nonnegative: !$("signed").checked,
    };
    const base = vnSettle.settle(problem, limits), edited = edit(base, problem, limits);
    const found = { ...edited, ...vnSettle.measure(edited.code, problem) };
    const reconstruction = vnSettle.reconstruct(atoms, found.code), used = found.code.filter(Boolean).length;
    const drawn = { network: reconstruction };
    for (const [name, draw] of Object.entries(models)) drawn[name] = draw(visible, used);
    return { x, mask, visible, lambda: problem.lambda, nonnegative: problem.nonnegative, power, ...found,
      reconstruction, drawn, used, base: base.code, change: found.energy - base.energy,
      operated: digits.map(({ image }) => vnSettle.operate(atoms, found.code, image)) };
  }

  /* The settled code without the atoms that the reader removed, the doubled ones doubled. */
  function edit(base, problem, limits) {
    const of = (kind) => [...edits.keys()].filter((k) => edits.get(k) === kind), removed = of("removed");
    const found = removed.length && $("again").checked ? vnSettle.settleWithout(problem, removed, limits) : base;
    const code = found.code.slice();
    for (const k of removed) code[k] = 0;
    for (const k of of("doubled")) code[k] *= 2;
    return { ...found, code };
  }

  /* The residual's sum of squares over the picture's, where `where` says so; null where there is no picture. */
  function error(x, drawn, where) {
    let left = 0, power = 0;
    x.forEach((value, i) => {
      left += where(i) ? (value - drawn[i]) ** 2 : 0;
      power += where(i) ? value ** 2 : 0;
    });
    return power ? left / power : null;
  }

  // --- Drawing ------------------------------------------------------------------------------------------------------

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

  const percent = (share, places = 1) => (share === null ? "–" : `${(100 * share).toFixed(places)}\u00a0%`);

  /* What each model draws or leaves over, with its error on what it saw and on what was hidden from the network. */
  function paintModels({ x, mask, drawn }) {
    const residual = $("residual").checked, covered = seen.includes(0);
    for (const [name, values] of Object.entries(drawn)) {
      const canvas = $(name), left = values.map((value, i) => mask[i] * (x[i] - value));
      paint(canvas, residual ? left : values, range, residual ? mask : null);
      const errors = [error(x, values, (i) => mask[i]), covered ? error(picture, values, (i) => !seen[i]) : null];
      const text = `${percent(errors[0])}${errors[1] === null ? "" : `, covered\u00a0${percent(errors[1], 0)}`}`;
      $(`${name}-error`).textContent = text;
      canvas.setAttribute("aria-label", `${canvas.dataset.name}, ${residual ? "residual" : "reconstruction"}: error ${text}`);
    }
  }

  const SAID = { removed: "removed", doubled: "× 2" };

  /* Atoms in use and removed ones, in an order that no removal changes. */
  function listAtoms({ code, base }) {
    const size = (k) => Math.abs(base[k]) || Math.abs(code[k]);
    const active = [...code.keys()].filter((k) => size(k)).sort((i, j) => size(j) - size(i));
    const focused = document.activeElement?.dataset?.atom;
    const items = active.slice(0, SHOWN).map((k) => {
      const item = document.createElement("li"), canvas = small();
      const button = Object.assign(document.createElement("button"), { type: "button" });
      const edited = edits.get(k), text = edited === "removed" ? SAID.removed : signed(code[k]);
      paint(canvas, atom(k));
      button.dataset.atom = k;
      if (edited) button.dataset.edited = edited;
      button.setAttribute("aria-label", `Atom ${k}: ${text}${edited === "doubled" ? ", doubled" : ""}`);
      button.setAttribute("aria-pressed", Boolean(edited));
      const bar = Object.assign(document.createElement("span"), { className: "vn-bar" });
      bar.style.width = `${Math.min(100, 100 * Math.abs(code[k]) / size(active[0]))}%`;
      bar.style.background = code[k] < 0 ? "rgb(230 97 1)" : "rgb(67 147 195)";
      button.append(canvas, bar, text);
      item.append(button);
      return item;
    });
    $("atoms").replaceChildren(...items);
    if (focused !== undefined) $("atoms").querySelector(`[data-atom="${Number(focused)}"]`)?.focus();
    const more = active.length - items.length;
    $("more").textContent = active.length ? (more ? `and ${more} more` : "") : "none";
    $("restore").disabled = !edits.size;
  }

  /* W(x) of the code, acting on each digit; one scale for all. */
  function paintOperator({ operated }) {
    const most = operated.flatMap((p) => [...p]).reduce((m, value) => Math.max(m, Math.abs(value)), 0);
    operated.forEach((p, n) => paint($("operated").children[n].querySelector("canvas:last-of-type"), p, most || 1));
  }

  /* For screen readers, once the reader has paused. */
  function say(text) {
    clearTimeout(saying);
    if (acted) saying = setTimeout(() => { $("said").textContent = text; }, PAUSE);
  }

  function show() {
    waiting = 0;
    const two = layers() === 2;
    result = (two ? deep.settle : settle)(scene());
    range = [picture, result.reconstruction].flatMap((p) => [...p]).reduce((m, value) => Math.max(m, Math.abs(value)), 1);
    paintPicture();
    paintModels(result);
    $("low").textContent = `−${range.toFixed(1)}`;
    $("high").textContent = range.toFixed(1);
    $("failed").hidden = true;
    if (two) say(deep.show(result, Boolean(drawing)));
    else showOne(result);
  }

  function showOne({ power, misfit, penalty, energy, sweeps, settled, used, change }) {
    listAtoms(result);
    paintOperator(result);
    $("length").textContent = `${used} ${used === 1 ? "coefficient" : "coefficients"}`;
    const explained = power ? percent(1 - 2 * misfit / power) : "–", changed = edits.size ? `${signed(change)} by your change` : "";
    $("active").textContent = `${used} of ${K}`;
    $("energy").textContent = `${energy.toFixed(2)}\u00a0ink² = ${misfit.toFixed(2)} misfit + ${penalty.toFixed(2)} sparsity${changed && `, ${changed}`}`;
    $("explained").textContent = explained;
    $("done").textContent = settled ? `${sweeps}, settled` : sweeps;
    $("failed").hidden = !(power > 1 && settled && !edits.size && 4 * misfit > power);
    say(`${used} of ${K} atoms are active and explain ${explained} after ${sweeps} sweeps${changed && `; the energy ${changed}`}.`);
  }

  const soon = () => { waiting = waiting || requestAnimationFrame(show); };

  // --- What the reader does -----------------------------------------------------------------------------------------

  /* A soft brush at a point in pixels; covering is by whole pixels. */
  function brush(px, py) {
    const tool = chosen("tool");
    edits.clear();
    if (tool !== "cover") picks = null;
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

  function pick(n) {
    const mode = chosen("pick"), sign = mode === "subtract" ? -1 : 1;
    if (mode === "replace") picks = [];
    if (mode === "replace") picture.fill(0);
    add(sign, n);
    edits.clear();
    soon();
  }

  function add(sign, n) {
    picks?.push([sign, n]);
    digits[n].image.forEach((ink, i) => { picture[i] += sign * ink; });
  }

  digits.forEach(({ label, image }, n) => {
    const button = Object.assign(document.createElement("button"), { type: "button" }), canvas = small();
    const name = digits.slice(0, n).some((one) => one.label === label) ? `Digit ${label}, another one` : `Digit ${label}`;
    button.setAttribute("aria-label", name);
    paint(canvas, image, 1);
    button.append(canvas);
    button.addEventListener("click", () => pick(n));
    $("digits").append(button);
    const item = document.createElement("li"), probe = small();
    paint(probe, image, 1);
    item.append(probe, small(`W(x) acting on: ${name}`));
    $("operated").append(item);
  });

  $("atoms").addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    const k = +button.dataset.atom;
    if (edits.has(k)) edits.delete(k);
    else edits.set(k, chosen("edit"));
    soon();
  });

  const coverWhere = (test) => seen.forEach((_, i) => { if (test(i % width, Math.floor(i / width))) seen[i] = 0; });
  const PRESS = {
    clear: () => { picture.fill(0); seen.fill(1); picks = null; },
    left: () => coverWhere((x) => x < width / 2),
    lower: () => coverWhere((_, y) => y >= height / 2),
    uncover: () => seen.fill(1),
  };
  for (const [id, act] of Object.entries(PRESS)) $(id).addEventListener("click", () => { edits.clear(); act(); soon(); });
  $("restore").addEventListener("click", () => { edits.clear(); soon(); });
  for (const id of ["again", "residual"]) $(id).addEventListener("change", soon);
  for (const id of ["hidden", "signed"]) $(id).addEventListener("change", () => { edits.clear(); soon(); });

  function labelSliders() {
    const factor = 2 ** $("sparsity").value, sweeps = SWEEPS[$("sweeps").value];
    const texts = { sparsity: `${+factor.toPrecision(3)} × the model's`, sweeps: sweeps === SETTLED ? "until settled" : `${sweeps}` };
    for (const [id, text] of Object.entries(texts)) {
      $(`${id}-value`).textContent = text;
      $(id).setAttribute("aria-valuetext", text);
    }
    soon();
  }

  /* Show what belongs to the chosen network. */
  function turn() {
    for (const part of document.querySelectorAll("#vn-playground [data-layers]")) part.hidden = +part.dataset.layers !== layers();
    $("model").textContent = layers() === 2 ? deep.about
      : `The network: one layer of ${K} atoms, ${about}. The others: ${vnOpponents.about}.`;
    soon();
  }

  for (const input of document.querySelectorAll("input[name=vn-layers]")) input.addEventListener("change", turn);
  $("feedback").addEventListener("input", soon);

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

  function watch() {
    $("sweeps").value = 0;
    labelSliders();
    watching = setInterval(step, FRAME);
    $("watch").textContent = "Stop";
  }

  $("watch").addEventListener("click", () => {
    if (still.matches) step();
    else if (watching) stop();
    else watch();
  });
  still.addEventListener("change", finish);
  $("sparsity").addEventListener("input", () => { edits.clear(); labelSliders(); });
  $("sweeps").addEventListener("input", () => { stop(); labelSliders(); });

  /* End the settle that plays by itself, if one does; whatever the reader does ends it. */
  function finish() {
    if (watching) $("sweeps").value = SWEEPS.length - 1;
    stop();
    labelSliders();
  }

  for (const kind of ["pointerdown", "keydown", "click"]) {
    document.addEventListener(kind, (event) => {
      if (!acted && !$("watch").contains(event.target)) finish();
      acted = true;
    }, { capture: true });
  }

  // --- Links ----------------------------------------------------------------------------------------------------------

  const { min, max, step: rung } = $("sparsity");
  const LIMITS = { d, digits: digits.length, atoms: K, feedbacks: deep?.feedbacks ?? 10, sparsity: [+min, +max, +rung],
    sweeps: SWEEPS.filter(Number.isFinite) };
  const BOXES = { signed: false, known: true, again: false, residual: false }; // whether a flag is a box that is not ticked
  const boxOf = (flag) => $(flag === "known" ? "hidden" : flag);

  function restore(fragment) {
    const state = fragment.startsWith("vn=") ? vnState.decode(fragment, LIMITS) : undefined;
    if (state === null) $("shared").textContent = "This link holds no state of this page, or a damaged one.";
    if (!state) return false;
    $("shared").textContent = state.layers === 2 && !deep ? "The network of two layers is missing; this is the other one." : "";
    const choose = (name, value) => { document.querySelector(`input[name="vn-${name}"][value="${value}"]`).checked = true; };
    stop();
    choose("layers", deep ? state.layers : 1);
    choose("edit", state.doubling ? "doubled" : "removed");
    $("sweeps").value = SWEEPS.indexOf(state.sweeps ?? SETTLED);
    $("feedback").value = state.feedback ?? deep?.own;
    turn();
    picks = state.picks && [];
    if (picks) picture.fill(0);
    else picture.set(state.picture);
    state.picks?.forEach(([sign, n]) => add(sign, n));
    seen.set(state.seen);
    for (const [flag, inverse] of Object.entries(BOXES)) boxOf(flag).checked = state[flag] !== inverse;
    $("sparsity").value = state.sparsity;
    edits.clear();
    for (const kind of ["removed", "doubled"]) state[kind].forEach((k) => edits.set(k, kind));
    labelSliders();
    return true;
  }

  $("share").addEventListener("click", () => {
    const of = (kind) => [...edits.keys()].filter((k) => edits.get(k) === kind);
    const sweeps = SWEEPS[$("sweeps").value];
    const flags = Object.entries(BOXES).map(([flag, inverse]) => [flag, boxOf(flag).checked !== inverse]);
    history.replaceState(null, "", `#${vnState.encode({ picks: picks?.length <= vnState.MOST ? picks : null, picture, seen,
      sparsity: +$("sparsity").value, layers: layers(), feedback: deep && +$("feedback").value !== deep.own ? +$("feedback").value : null,
      sweeps: sweeps === SETTLED ? null : sweeps, doubling: chosen("edit") === "doubled",
      removed: of("removed"), doubled: of("doubled"), ...Object.fromEntries(flags) })}`);
    $("shared").textContent = "The address of this page now leads here.";
    navigator.clipboard?.writeText(location.href).then(
      () => { $("shared").textContent = "The link is copied, and in the address of this page."; }, () => {});
  });
  addEventListener("hashchange", () => restore(location.hash.slice(1)));

  $("sweeps").max = $("sweeps").value = SWEEPS.length - 1;
  $("signed").checked = !nonnegative;
  $("depth").hidden = !deep;
  turn();
  stop();
  labelSliders();
  pick(FIRST);
  if (!restore(location.hash.slice(1)) && !still.matches) watch();
  // For the curious, and for tests: settle what is on the page now and hand over all of it.
  globalThis.vnPlayground = { read: () => { show(); return result; }, finish, picture, seen };
})();
