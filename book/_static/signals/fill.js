/* What is hidden of a signal, filled in as benchmarks.functions does it, in float64, for whatever interval is hidden.
   The energy of a dictionary, its gap and its atoms are those of playground/settle.js. */

const vnFill = (() => {
  "use strict";

  const { correlate, dot, gram, measure, reconstruct, settle, times } = typeof module === "undefined" ? vnSettle : require("../playground/settle.js");

  const NOTHING = 1e-12;
  const AGAIN = 64; // samples by which an interval may have moved before its matrix is made anew

  /* 1 where a signal of n samples is seen, 0 from sample `from` to before `to`. */
  const mask = (n, [from, to]) => Float64Array.from({ length: n }, (_, i) => (i >= from && i < to ? 0 : 1));

  /* benchmarks.functions.dictionaries.fourier_and_bumps, atom after atom. */
  function fourierAndBumps(n, highest = 8, widths = [0.03, 0.06, 0.12, 0.24]) {
    const waves = Array.from({ length: Math.floor(2 * highest) }, (_, f) => Math.PI * (f + 1));
    const bumps = widths.flatMap((width) => {
      const last = Math.round(2 / width);
      return Array.from({ length: last + 1 }, (_, i) => (t) => Math.exp(-0.5 * ((t - i / last) / width) ** 2));
    });
    const all = [() => 1, ...waves.map((w) => (t) => Math.cos(w * t)), ...waves.map((w) => (t) => Math.sin(w * t)), ...bumps];
    const atoms = new Float64Array(n * all.length);
    all.forEach((draw, k) => {
      const atom = atoms.subarray(k * n, (k + 1) * n);
      for (let i = 0; i < n; i++) atom[i] = draw(i / (n - 1));
      const norm = Math.sqrt(dot(atom, atom));
      for (let i = 0; i < n; i++) atom[i] /= norm;
    });
    return atoms;
  }

  /* V' m V of the interval that is asked for, from that of the last one where few samples are between them. */
  function grams(atoms, n) {
    const K = atoms.length / n;
    let last = [0, 0], H = null;
    return ([from, to]) => {
      const hidden = (i, [a, b]) => i >= a && i < b;
      const moved = [...Array(n).keys()].filter((i) => hidden(i, last) !== hidden(i, [from, to]));
      if (!H || moved.length > AGAIN) H = gram(atoms, n, mask(n, [from, to]));
      else for (const i of moved) {
        const sign = hidden(i, last) ? 1 : -1, at = Float64Array.from({ length: K }, (_, k) => atoms[k * n + i]);
        for (let k = 0; k < K; k++) for (let j = 0, row = k * K, one = sign * at[k]; j < K; j++) H[row + j] += one * at[j];
      }
      last = [from, to];
      return H;
    };
  }

  /* Solves A x = b, A positive definite, row after row; Cholesky. */
  function solve(A, b) {
    const n = b.length, L = Float64Array.from(A), x = Float64Array.from(b);
    for (let j = 0; j < n; j++) {
      for (let i = j; i < n; i++) {
        let sum = L[i * n + j];
        for (let k = 0; k < j; k++) sum -= L[i * n + k] * L[j * n + k];
        L[i * n + j] = i === j ? Math.sqrt(sum) : sum / L[j * n + j];
      }
    }
    for (let i = 0; i < n; i++) {
      for (let k = 0; k < i; k++) x[i] -= L[i * n + k] * x[k];
      x[i] /= L[i * n + i];
    }
    for (let i = n - 1; i >= 0; i--) {
      for (let k = i + 1; k < n; k++) x[i] -= L[k * n + i] * x[k];
      x[i] /= L[i * n + i];
    }
    return x;
  }

  /* The code that minimises 1/2 |m (x - V a)|^2 + lambda |a|_1, exactly but for rounding: from where it is zero lambda comes
     down to the one asked for, and between two places where an atom enters or leaves the code is a line in lambda
     (Osborne, Presnell and Turlach 2000). Settled by proximal steps where rounding leaves a gap above tol times the energy. */
  function lasso({ H, drive, power, lambda }, { tol = 1e-6, most = 4000 } = {}) {
    const K = drive.length, code = new Float64Array(K), usable = [...Array(K).keys()].filter((k) => H[k * K + k] > NOTHING);
    let level = usable.reduce((high, k) => Math.max(high, Math.abs(drive[k])), 0), active = [], signs = [], dropped = -1, steps = 0;
    const problem = { H, drive, power, lambda, nonnegative: false };
    const enter = (k, sign) => {
      active.push(k);
      signs.push(sign);
    };
    if (level > lambda) {
      const k = usable.find((one) => Math.abs(drive[one]) === level);
      enter(k, Math.sign(drive[k]));
    }
    while (level > lambda && steps++ < most) {
      const part = Float64Array.from({ length: active.length ** 2 }, (_, i) => H[active[Math.floor(i / active.length)] * K + active[i % active.length]]);
      const way = solve(part, signs), slopes = new Float64Array(K);
      if (!way.every(Number.isFinite)) break;
      const product = times(H, code);
      active.forEach((k, i) => {
        for (let j = 0, row = k * K; j < K; j++) slopes[j] += way[i] * H[row + j];
      });
      let step = level - lambda, event = null;
      active.forEach((k, i) => { // an atom leaves
        const at = -code[k] / way[i];
        if (code[k] && at > 0 && at < step) [step, event] = [at, { leaves: i }];
      });
      for (const k of usable) { // an atom enters
        if (active.includes(k)) continue;
        const left = drive[k] - product[k];
        for (const sign of [1, -1]) {
          const at = (level - sign * left) / (1 - sign * slopes[k]);
          if (k === dropped && sign * left > 0) continue;
          if (at > -NOTHING * level && at < step && 1 - sign * slopes[k] > 0) [step, event] = [Math.max(0, at), { enters: k, sign }];
        }
      }
      active.forEach((k, i) => { code[k] += step * way[i]; });
      level -= step;
      dropped = -1;
      if (!event) level = lambda;
      else if (event.leaves === undefined) enter(event.enters, event.sign);
      else {
        dropped = active[event.leaves];
        code[dropped] = 0;
        for (const list of [active, signs]) list.splice(event.leaves, 1);
      }
    }
    const seen = measure(code, problem), exact = seen.gap <= tol * seen.energy;
    return exact ? { code, steps, exact, ...seen } : { ...settle({ ...problem, lipschitz: largest(H, K) }, { tol: 1e-4 }), steps, exact };
  }

  /* No eigenvalue of a symmetric matrix is above its largest sum of sizes along a row. */
  function largest(H, K) {
    return Math.max(...Array.from({ length: K }, (_, k) => H.subarray(k * K, (k + 1) * K).reduce((sum, one) => sum + Math.abs(one), 0)));
  }

  /* What a dictionary draws of a signal of which an interval is hidden. */
  function dictionary(atoms, n) {
    const H = grams(atoms, n);
    return (x, interval, lambda, limits) => {
      const seen = x.map((value, i) => (i >= interval[0] && i < interval[1] ? 0 : value));
      return reconstruct(atoms, lasso({ H: H(interval), drive: correlate(atoms, seen), power: dot(seen, seen), lambda }, limits).code);
    };
  }

  /* The mean of a normal distribution given what is seen with noise of this variance; its covariance is that of
     independent scores along the axes, whose variances are `spread`. */
  function gaussian({ mean, axes, spread }) {
    const n = mean.length, scaled = axes.map((value, i) => value * Math.sqrt(spread[Math.floor(i / n)]));
    const H = grams(scaled, n), R = spread.length;
    return (x, interval, noise) => {
      const seen = x.map((value, i) => (i >= interval[0] && i < interval[1] ? 0 : value - mean[i]));
      const A = Float64Array.from(H(interval));
      for (let k = 0; k < R; k++) A[k * R + k] += noise;
      return reconstruct(scaled, solve(A, correlate(scaled, seen))).map((value, i) => value + mean[i]);
    };
  }

  /* Linear maps { W, bias }, one after the other, with ReLU behind those that say so; hidden samples are read as zeros. */
  function network(maps) {
    return (x, interval) => maps.reduce((h, { W, bias, relu }) => {
      const out = Float64Array.from(bias, (b, i) => b + dot(h, W.subarray(i * h.length, (i + 1) * h.length)));
      return relu ? out.map((value) => Math.max(0, value)) : out;
    }, x.map((value, i) => (i >= interval[0] && i < interval[1] ? 0 : value)));
  }

  /* A line between the samples beside the interval; where one is missing the other is held. */
  function interpolate(x, [from, to]) {
    const n = x.length, left = from ? x[from - 1] : x[to], right = to < n ? x[to] : x[from - 1];
    return x.map((value, i) => (i >= from && i < to ? left + (right - left) * (i - from + 1) / (to - from + 1) : value));
  }

  /* The mean square of what is drawn, less the signal, over the interval. */
  function error(x, drawn, [from, to]) {
    let sum = 0;
    for (let i = from; i < to; i++) sum += (drawn[i] - x[i]) ** 2;
    return sum / (to - from);
  }

  /* Where the interval of `all`, of begins and ends, is that is nearest. */
  function nearest(all, [begin, end]) {
    const far = all.map(([a, b]) => Math.abs(a - begin) + Math.abs(b - end));
    return far.indexOf(Math.min(...far));
  }

  return { mask, fourierAndBumps, grams, lasso, dictionary, gaussian, network, interpolate, error, nearest };
})();

if (typeof module !== "undefined") module.exports = vnFill;
