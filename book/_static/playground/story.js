/* The first page: one digit or two, settled by settle.js, its atoms one by one and their sum.
   Reads vnDictionary and vnDigits, as the playground does. */

(() => {
  "use strict";

  const { size: [height, width], atoms: K, sparsity, lipschitz, nonnegative, int8 } = vnDictionary, d = width * height;
  const atoms = vnSettle.dictionary(int8, K), H = vnSettle.gram(atoms, d);
  const digits = vnDigits.labels.map((label, n) => {
    const image = vnSettle.bytes(vnDigits.uint8).subarray(n * d, (n + 1) * d);
    return { label, image: Float64Array.from(image, (ink) => ink / 255) };
  }).slice(0, 10).sort((a, b) => a.label - b.label);
  const SHOWN = 6, STEP = 450; // atoms, milliseconds
  const $ = (id) => document.getElementById(`vn-story-${id}`);
  const still = matchMedia("(prefers-reduced-motion: reduce)");
  let picked = [3], result = null, timer = 0;

  function paint(canvas, values, range) {
    const image = new ImageData(width, height);
    values.forEach((value, i) => {
      const ink = Math.max(0, Math.min(1, value / range)), far = Math.max(0, Math.min(1, -value / range));
      // White paper, blue ink, orange below zero: as in the playground.
      image.data.set([255 - 247 * ink - 60 * far, 255 - 207 * ink - 120 * far, 255 - 148 * ink - 235 * far, 255], 4 * i);
    });
    canvas.getContext("2d").putImageData(image, 0, 0);
  }

  const tile = () => Object.assign(document.createElement("canvas"), { width, height });

  function part(values, text, label) {
    const box = document.createElement("figure"), canvas = tile();
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", label);
    paint(canvas, values, values.reduce((most, value) => Math.max(most, Math.abs(value)), 1e-9));
    const caption = Object.assign(document.createElement("figcaption"), { textContent: text });
    box.append(canvas, caption);
    return box;
  }

  function settle() {
    const x = new Float64Array(d);
    for (const n of picked) digits[n].image.forEach((ink, i) => { x[i] += ink; });
    const power = vnSettle.dot(x, x);
    const problem = { H, drive: vnSettle.correlate(atoms, x), power, lipschitz, lambda: sparsity, nonnegative };
    const found = vnSettle.settle(problem, { tol: 1e-12 });
    return { x, power, ...found };
  }

  function show() {
    clearTimeout(timer);
    result = settle();
    const { x, code, power, misfit } = result;
    const active = [...code.keys()].filter((k) => code[k]).sort((i, j) => Math.abs(code[j]) - Math.abs(code[i]));
    const range = x.reduce((most, value) => Math.max(most, value), 1);
    const name = picked.map((n) => digits[n].label).join(" + ");
    const largest = active.slice(0, SHOWN), rest = active.length - largest.length;
    const partial = new Float64Array(d), whole = vnSettle.reconstruct(atoms, code);
    const sum = tile(), explained = `${(100 * (1 - 2 * misfit / power)).toFixed(0)} %`;
    sum.setAttribute("role", "img");
    sum.setAttribute("aria-label", `Weighted sum of ${active.length} atoms`);

    $("x").replaceChildren(part(x, "picture", `Picture: ${name}`));
    $("atoms").replaceChildren();
    const total = document.createElement("figure"), caption = document.createElement("figcaption");
    total.append(sum, caption);
    $("sum").replaceChildren(total);
    const drawn = (values, count) => {
      paint(sum, values, range);
      caption.textContent = `sum of ${count}`;
    };
    const add = (place) => {
      const k = largest[place], atom = atoms.subarray(k * d, (k + 1) * d);
      $("atoms").append(part(atom, `${place ? "+ " : ""}${code[k].toFixed(1)} ×`, `Atom ${place + 1}`));
      atom.forEach((value, i) => { partial[i] += code[k] * value; });
      drawn(partial, place + 1);
    };
    const end = () => {
      if (rest) $("atoms").append(Object.assign(document.createElement("span"), { textContent: `+ ${rest} more` }));
      drawn(whole, active.length);
      $("said").textContent = `${active.length} of ${K} atoms are in use. Their sum explains ${explained} of the picture.`;
    };
    const run = (place) => {
      if (place < largest.length) {
        add(place);
        timer = setTimeout(run, STEP, place + 1);
      } else end();
    };
    $("said").textContent = "";
    drawn(partial, 0);
    if (still.matches) {
      largest.forEach((_, place) => add(place));
      end();
    } else run(0);
  }

  digits.forEach(({ label, image }, n) => {
    const button = Object.assign(document.createElement("button"), { type: "button" }), canvas = tile();
    button.setAttribute("aria-label", `Digit ${label}`);
    paint(canvas, image, 1);
    button.append(canvas);
    button.addEventListener("click", () => {
      picked = $("two").checked ? [...picked, n].slice(-2) : [n];
      press();
      show();
    });
    $("digits").append(button);
  });
  function press() {
    [...$("digits").children].forEach((button, n) => button.setAttribute("aria-pressed", picked.includes(n)));
  }
  $("two").addEventListener("change", () => {
    picked = $("two").checked ? [...picked, (picked[0] + 4) % digits.length].slice(-2) : picked.slice(-1);
    press();
    show();
  });

  press();
  show();
  // For tests: what is settled now.
  globalThis.vnStory = { read: () => ({ picked: picked.map((n) => digits[n].label), x: [...result.x], code: [...result.code] }) };
})();
