/* The playground's network of two layers: what the lower one draws, what the upper code alone says, and what the feedback
   from it changes. Reads vnLayers, which benchmarks.images.two_layers exports. */

const vnTwoLayers = (file) => {
  "use strict";

  const { paint, small, signed, descending } = vnPictures;
  const net = vnDeep.read(file), { V1, d, atoms, feedbacks, held_out: heldOut } = net, gram = vnSettle.remembered(V1, d);
  const SHOWN = 10, READ = 1e-12, GLANCE = 1e-5; // atoms; duality gaps of readings
  const own = feedbacks.indexOf(net.feedback);
  const $ = (id) => document.getElementById(`vn-${id}`);
  const draw = (code) => vnSettle.reconstruct(V1, code);
  const count = (code) => code.filter(Boolean).length;
  const percent = (share) => `${+(100 * share).toPrecision(2)}\u00a0%`;

  function settle({ x, mask, visible, power, factor, limits }) {
    const rung = +$("feedback").value, problem = { H: gram(mask), drive: vnSettle.correlate(V1, visible), power };
    const found = vnDeep.settle(net, { ...problem, rung, factor }, limits);
    const alone = vnSettle.settle({ ...problem, lipschitz: net.lipschitz.first[0], lambda: factor * net.sparsity[0], nonnegative: false },
      limits).code;
    const reading = vnDeep.fromTop(net, found.codes[1], { tol: limits.tol || READ });
    const drawn = { own: draw(found.codes[0]), top: reading, alone: draw(alone) };
    return { x, mask, power, ...found, rung, drawn, reconstruction: drawn.own, alone,
      change: drawn.own.map((value, i) => value - drawn.alone[i]) };
  }

  /* The largest atoms of a code, each drawn by `values(k)`. */
  function list(id, code, name, values) {
    const order = descending(code);
    $(id).replaceChildren(...order.slice(0, SHOWN).map((k) => {
      const item = document.createElement("li"), canvas = small(`${name} ${k}`);
      paint(canvas, values(k));
      item.append(canvas, signed(code[k]));
      return item;
    }));
    const more = order.length - SHOWN;
    $(`${id}-more`).textContent = order.length ? (more > 0 ? `and ${more} more` : "") : "none";
  }

  /* An atom of the top layer with its coefficient, drawn as if nothing else were active. */
  function topAtom(code, k) {
    return vnDeep.fromTop(net, code.map((a, j) => (j === k ? a : 0)), { tol: GLANCE });
  }

  function paintPath({ path }) {
    const last = path.length - 1, points = path.map((y, x) => ({ x, y, said: () => `sweep ${x}\nenergy ${y.toFixed(2)}` }));
    const axes = { x: { label: "sweeps", low: 0, high: last }, y: { label: "energy", low: 0, high: path[0] || 1 } };
    const series = [{ name: "energy", colour: "var(--vn-accent)", points }], width = $("path").clientWidth || 384;
    $("path").hidden = !path.length;
    if (path.length) $("path").replaceChildren(vnPlots.lines({ width, height: 150, ...axes, series, rows: points }));
    $("path-said").textContent = path.length
      ? `The energy after each sweep: ${path[0].toFixed(2)} before the first, ${path[last].toFixed(2)} after ${last}.`
      : "Without feedback each layer settles by itself, the lower one first; there is no energy of both.";
  }

  function label() {
    const rung = +$("feedback").value, text = `${feedbacks[rung]}${rung === own ? ", the model's" : rung ? "" : ", none"}`;
    $("feedback-value").textContent = text;
    $("feedback").setAttribute("aria-valuetext", text);
  }

  /* Everything of this network but its pictures, which the page paints as those of all models; returns what to say.
     While the pointer draws, the lists of atoms wait. */
  function show({ codes, misfit, penalty, energy, sweeps, settled, rung, change, alone, ...rest }, drawing) {
    const [below, above] = codes.map(count), beta = feedbacks[rung];
    label();
    const codesOf = { own: below, top: above, alone: count(alone) };
    for (const [name, n] of Object.entries(codesOf)) $(`${name}-length`).textContent = n;
    const largest = change.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
    paint($("change"), change, largest || 1);
    $("change-largest").textContent = `${largest.toFixed(2)}\u00a0ink`;
    $("change").setAttribute("aria-label", `What the feedback changes: at most ${largest.toFixed(2)} ink per pixel`);
    $("below").textContent = `${below} of ${atoms[0]}`;
    $("above").textContent = `${above} of ${atoms[1]}`;
    const parts = [0, 1].map((l) => `(${misfit[l].toFixed(2)} misfit + ${penalty[l].toFixed(2)} sparsity)`);
    $("both").textContent = `${energy.toFixed(2)} = ${parts[0]} + ${beta} × ${parts[1]}`;
    $("both-done").textContent = settled ? `${sweeps}, settled` : sweeps;
    paintPath(rest);
    if (!drawing) {
      list("first", codes[0], "Layer 1, atom", (k) => V1.subarray(k * d, (k + 1) * d));
      list("second", codes[1], "Layer 2, atom", (k) => topAtom(codes[1], k));
    }
    return `Layer 1 uses ${below} atoms, its error is ${$("own-error").textContent}; layer 2 uses ${above}, `
      + `and read from it alone the error is ${$("top-error").textContent}.`;
  }

  $("feedback").max = feedbacks.length - 1;
  $("feedback").value = own;
  $("feedback").addEventListener("input", label);
  vnPlots.keys($("path"), (text) => { $("said").textContent = text || ""; });
  const about = `The network: two layers of ${atoms.join(" and ")} atoms, ${file.about}. On ${heldOut.images} digits that it did not `
    + `learn from, layer 1 errs by ${percent(heldOut.own)} with ${Math.round(heldOut.active[0])} coefficients, without feedback by `
    + `${percent(heldOut.alone)}; read from the top alone it is ${percent(heldOut.top)} with ${Math.round(heldOut.active[1])} (means).`;
  return { own, feedbacks: feedbacks.length, about, settle, show };
};
