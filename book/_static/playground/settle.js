/* The settle of a Vector Network of one layer, as vnlib.settle does it by the method "restart", in float64:

     minimise  E(a) = 1/2 |m (x - V a)|^2 + lambda |a|_1

   by proximal steps with momentum, restarted where it points uphill. The mask m is 1 where x is seen. A dictionary is
   one Float64Array that holds atom after atom, each of unit norm and of length d. */

const vnSettle = (() => {
  "use strict";

  const bytes = (base64) => Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));

  /* Quantised atoms, int8 in base64 -> atoms of unit norm. */
  function dictionary(base64, K) {
    const whole = new Int8Array(bytes(base64).buffer), d = whole.length / K;
    const atoms = Float64Array.from(whole);
    for (let k = 0; k < K; k++) {
      const atom = atoms.subarray(k * d, (k + 1) * d), norm = Math.sqrt(dot(atom, atom));
      for (let i = 0; i < d; i++) atom[i] /= norm;
    }
    return atoms;
  }

  function dot(a, b) {
    let sum = 0;
    for (let i = 0; i < a.length; i++) sum += a[i] * b[i];
    return sum;
  }

  /* V' m x, the correlation of each atom with what is seen of x. */
  function correlate(atoms, x, mask) {
    const d = x.length, seen = mask ? x.map((value, i) => value * mask[i]) : x;
    return Float64Array.from({ length: atoms.length / d }, (_, k) => dot(atoms.subarray(k * d, (k + 1) * d), seen));
  }

  /* V' m V, row after row. */
  function gram(atoms, d, mask) {
    const K = atoms.length / d, H = new Float64Array(K * K);
    for (let k = 0; k < K; k++) {
      const row = correlate(atoms.subarray(0, (k + 1) * d), atoms.subarray(k * d, (k + 1) * d), mask);
      for (let j = 0; j <= k; j++) H[k * K + j] = H[j * K + k] = row[j];
    }
    return H;
  }

  /* gram by its mask, which remembers that of the whole picture and the last other one. */
  function remembered(atoms, d) {
    let whole = null, part = { of: "", H: null };
    return (mask = null) => {
      if (!mask?.includes(0)) return (whole = whole || gram(atoms, d));
      if (part.of !== mask.join("")) part = { of: mask.join(""), H: gram(atoms, d, mask) };
      return part.H;
    };
  }

  /* V a */
  function reconstruct(atoms, code) {
    const d = atoms.length / code.length, sum = new Float64Array(d);
    code.forEach((a, k) => {
      if (a) for (let i = 0; i < d; i++) sum[i] += a * atoms[k * d + i];
    });
    return sum;
  }

  /* H a, for a sparse a and a symmetric H. */
  function times(H, code) {
    const K = code.length, product = new Float64Array(K);
    for (let k = 0; k < K; k++) {
      const a = code[k];
      if (a) for (let j = 0, row = k * K; j < K; j++) product[j] += a * H[row + j];
    }
    return product;
  }

  /* What E consists of at a code, and the duality gap, which bounds what is left to gain. */
  function measure(code, { H, drive, power, lambda, nonnegative }) {
    const product = times(H, code);
    let inner = 0, curved = 0, size = 0, largest = 0, fit = 0;
    for (let k = 0; k < code.length; k++) {
      const left = drive[k] - product[k];
      inner += code[k] * drive[k];
      curved += code[k] * product[k];
      fit += code[k] * left;
      size += Math.abs(code[k]);
      largest = Math.max(largest, nonnegative ? left : Math.abs(left));
    }
    const misfit = Math.max(0, 0.5 * power - inner + 0.5 * curved);
    const scale = largest > lambda ? lambda / largest : 1;
    const gap = (1 - scale) ** 2 * misfit + lambda * size - scale * fit;
    return { misfit, penalty: lambda * size, energy: misfit + lambda * size, gap };
  }

  /* Settle from a = 0. problem: H and lipschitz >= its largest eigenvalue, drive = V' m x, power = |m x|^2, lambda,
     nonnegative. It ends when the gap is at most tol times the energy, or after maxSweeps. */
  function settle(problem, { maxSweeps = 20000, tol = 1e-12, checkEvery = 5 } = {}) {
    const { H, drive, lipschitz, lambda, nonnegative } = problem, K = drive.length, threshold = lambda / lipschitz;
    let code = new Float64Array(K), ahead = code, t = 1, sweeps = 0;
    let seen = measure(code, problem), settled = tol > 0 && seen.gap <= tol * seen.energy;
    while (!settled && sweeps < maxSweeps) {
      const product = times(H, ahead), next = new Float64Array(K);
      let uphill = 0;
      for (let k = 0; k < K; k++) {
        const z = ahead[k] - (product[k] - drive[k]) / lipschitz;
        if (z > threshold) next[k] = z - threshold;
        else if (!nonnegative && z < -threshold) next[k] = z + threshold;
        uphill += (ahead[k] - next[k]) * (next[k] - code[k]);
      }
      if (uphill > 0) t = 1;
      const tNext = 0.5 * (1 + Math.sqrt(1 + 4 * t * t)), momentum = (t - 1) / tNext;
      ahead = next.map((a, k) => a + momentum * (a - code[k]));
      [code, t, sweeps] = [next, tNext, sweeps + 1];
      if (tol > 0 && sweeps % checkEvery === 0) {
        seen = measure(code, problem);
        settled = seen.gap <= tol * seen.energy;
      }
    }
    return { code, sweeps, settled, ...measure(code, problem) };
  }

  /* The same where some atoms may not be used: the settle of the others, with zeros in their places. */
  function settleWithout(problem, removed, limits) {
    const K = problem.drive.length, kept = [...problem.drive.keys()].filter((k) => !removed.includes(k));
    const H = new Float64Array(kept.length ** 2), code = new Float64Array(K);
    kept.forEach((k, row) => kept.forEach((j, column) => { H[row * kept.length + column] = problem.H[k * K + j]; }));
    const found = settle({ ...problem, H, drive: Float64Array.from(kept, (k) => problem.drive[k]) }, limits);
    kept.forEach((k, row) => { code[k] = found.code[row]; });
    return { ...found, code };
  }

  /* W(x) p for W(x) = V diag(a) V': each atom in use, by its coefficient and its match with the probe p. */
  function operate(atoms, code, probe) {
    const d = probe.length;
    return reconstruct(atoms, code.map((a, k) => (a ? a * dot(atoms.subarray(k * d, (k + 1) * d), probe) : 0)));
  }

  return { bytes, dictionary, dot, correlate, gram, remembered, reconstruct, times, measure, settle, settleWithout, operate };
})();

if (typeof module !== "undefined") module.exports = vnSettle;
