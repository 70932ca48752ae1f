/* What the playground shows beside its network, as benchmarks.images.opponents does it, in float64: an autoencoder,
   principal axes and cosines, each with the k coefficients of largest size. */

const vnModels = (() => {
  "use strict";

  const { bytes, correlate, dictionary, dot, reconstruct } = typeof module === "undefined" ? vnSettle : require("./settle.js");

  /* Every entry but the k of largest size set to zero. */
  function largest(z, k) {
    const kept = new Float64Array(z.length);
    [...z.keys()].sort((i, j) => Math.abs(z[j]) - Math.abs(z[i])).slice(0, k).forEach((i) => { kept[i] = z[i]; });
    return kept;
  }

  /* W x + b, W stored as whole steps, one size of step for each row. */
  function affine({ W, step, bias }, x) {
    return Float64Array.from(bias, (b, i) => b + step[i] * dot(W.subarray(i * x.length, (i + 1) * x.length), x));
  }

  const relu = (h) => h.map((value) => Math.max(0, value));

  /* The orthonormal DCT-II of a line of n values: one row for each frequency. */
  function cosines(n) {
    return Array.from({ length: n }, (_, u) => Float64Array.from({ length: n }, (__, i) =>
      Math.sqrt((u ? 2 : 1) / n) * Math.cos(Math.PI * (2 * i + 1) * u / (2 * n))));
  }

  /* C x C' of a square picture; backwards C' x C. */
  function transform(C, x, backwards = false) {
    const n = C.length, at = (u, i) => (backwards ? C[i][u] : C[u][i]);
    const once = (from) => { // along the columns, and turned
      const to = new Float64Array(n * n);
      for (let u = 0; u < n; u++) {
        for (let j = 0; j < n; j++) {
          let sum = 0;
          for (let i = 0; i < n; i++) sum += at(u, i) * from[i * n + j];
          to[j * n + u] = sum;
        }
      }
      return to;
    };
    return once(once(x));
  }

  /* { name: (x, k) => what it draws } from vnOpponents. */
  function read({ format, layers, mean, axes }) {
    if (format !== 1) throw new Error("opponents.js has another format; export it again");
    const W = ({ int8, step, bias }) => ({ W: Float64Array.from(new Int8Array(bytes(int8).buffer)), step, bias });
    const [enter, encode, decode, leave] = layers.map(W), C = cosines(Math.sqrt(mean.length));
    const directions = dictionary(axes.int8, axes.count);
    return {
      autoencoder: (x, k) => affine(leave, relu(affine(decode, largest(affine(encode, relu(affine(enter, x))), k)))),
      pca: (x, k) => {
        const code = largest(correlate(directions, x.map((value, i) => value - mean[i])), k);
        return reconstruct(directions, code).map((value, i) => value + mean[i]);
      },
      dct: (x, k) => transform(C, largest(transform(C, x), k), true),
    };
  }

  return { largest, transform, cosines, read };
})();

if (typeof module !== "undefined") module.exports = vnModels;
