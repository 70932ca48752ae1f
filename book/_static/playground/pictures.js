/* Pictures of the playground's data: how values become colours, and a digit as the sum of its atoms for any page.
   Reads vnDictionary and vnDigits, which benchmarks.images.playground exports. */

const vnPictures = (() => {
  "use strict";

  const { format, size: [height, width], atoms: K, int8 } = vnDictionary;
  if (format !== 1 || vnDigits.format !== 1) throw new Error("the playground's data has another format; export it again");
  const d = width * height;
  const atoms = vnSettle.dictionary(int8, K);
  const digits = vnDigits.labels.map((label, n) => {
    const image = vnSettle.bytes(vnDigits.uint8).subarray(n * d, (n + 1) * d);
    return { label, image: Float64Array.from(image, (ink) => ink / 255) };
  });
  const atom = (k) => atoms.subarray(k * d, (k + 1) * d);
  const gram = vnSettle.remembered(atoms, d);

  /* Diverging, safe for the colour-blind: orange below zero, white, blue above. The same stops are in the style sheet. */
  const BELOW = [[255, 255, 255], [253, 174, 97], [127, 59, 8]], ABOVE = [[255, 255, 255], [107, 174, 214], [8, 48, 107]];

  function colour(value) {
    const stops = value < 0 ? BELOW : ABOVE, at = 2 * Math.min(1, Math.abs(value)), from = at < 1 ? 0 : 1;
    return stops[from].map((c, i) => c + (stops[from + 1][i] - c) * (at - from));
  }

  const largest = (values) => values.reduce((most, value) => Math.max(most, Math.abs(value)), 0);

  function paint(canvas, values, range = largest(values) || 1, mask = null) {
    const image = new ImageData(width, height);
    values.forEach((value, i) => {
      const covered = mask && !mask[i];
      const rgb = covered ? ((i % width + (i / width | 0)) % 2 ? [150, 150, 150] : [200, 200, 200]) : colour(value / range);
      image.data.set([...rgb, 255], 4 * i);
    });
    canvas.getContext("2d").putImageData(image, 0, 0);
  }

  /* A canvas of the data's size; with a name it is a picture, without one it says nothing. */
  function small(name) {
    const canvas = Object.assign(document.createElement("canvas"), { width, height });
    if (name) canvas.setAttribute("role", "img");
    canvas.setAttribute(name ? "aria-label" : "aria-hidden", name || "true");
    return canvas;
  }

  const signed = (value, places = 2) => `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(places)}`;
  const descending = (code) => [...code.keys()].filter((k) => code[k]).sort((i, j) => Math.abs(code[j]) - Math.abs(code[i]));

  /* The settled code of a picture, all of it seen. */
  function settled(x) {
    const { sparsity, nonnegative, lipschitz } = vnDictionary;
    return vnSettle.settle({
      H: gram(), drive: vnSettle.correlate(atoms, x), power: vnSettle.dot(x, x), lipschitz, lambda: sparsity, nonnegative,
    });
  }

  /* Fill an element with a digit (by its place in vnDigits), its largest atoms with their coefficients, and the sum of
     all its atoms; returns how many there are. For other pages: class "vn-sum" of the style sheet lays it out. */
  function sum(element, n, shown = 6) {
    const { image, label } = digits[n], { code } = settled(image), order = descending(code);
    const term = (name, text, values, range) => {
      const box = document.createElement("span"), canvas = small(name);
      box.className = "vn-term";
      paint(canvas, values, range);
      box.append(canvas, text);
      return box;
    };
    const rest = order.length - shown;
    element.replaceChildren(
      term(`A ${label}`, "digit", image, 1),
      ...order.slice(0, shown).map((k) => term(`Atom ${k}`, signed(code[k]), atom(k))),
      ...(rest > 0 ? [Object.assign(document.createElement("span"), { textContent: `+ ${rest} more` })] : []),
      term(`The sum of ${order.length} atoms`, "sum", vnSettle.reconstruct(atoms, code), 1),
    );
    return order.length;
  }

  return { width, height, d, K, atoms, digits, atom, gram, paint, small, signed, descending, sum };
})();
