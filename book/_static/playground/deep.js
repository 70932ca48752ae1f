/* The settle of a Vector Network of two layers, as vnlib.settle does it by the method "restart" in sweeps, in float64:

     minimise  F = 1/2 |m (x - V1 a1)|^2 + l1 |a1|_1 + beta (1/2 |U a1 - V2 a2|^2 + l2 |a2|_1).

   A sweep is a step on a1, one on a2, whose input is the message U a1, and one on a1 again, whose target is V2 a2. Without
   feedback (beta = 0) each layer settles by itself, the lower one first. */

const vnDeep = (() => {
  "use strict";

  const { correlate, dictionary, dot, gram, reconstruct, settle, times } =
    typeof module === "undefined" ? vnSettle : require("./settle.js");

  /* A' B, a row for each atom of A. */
  function cross(A, B, d) {
    const rows = A.length / d, columns = B.length / d, product = new Float64Array(rows * columns);
    for (let k = 0; k < rows; k++) product.set(correlate(B, A.subarray(k * d, (k + 1) * d)), k * columns);
    return product;
  }

  /* C a for C of many rows, or C' a. */
  function through(C, code, turned = false) {
    const rows = turned ? code.length : C.length / code.length, columns = C.length / rows;
    const product = new Float64Array(turned ? columns : rows);
    for (let k = 0; k < rows; k++) {
      for (let j = 0; j < columns; j++) {
        if (turned) product[j] += C[k * columns + j] * code[k];
        else product[k] += C[k * columns + j] * code[j];
      }
    }
    return product;
  }

  /* What a file of benchmarks.images.two_layers holds, ready for settles. */
  function read({ format, atoms, interface: m, V, U, lipschitz, reading, ...known }) {
    if (format !== 1) throw new Error("layers.js has another format; export it again");
    const [V1, V2, U1] = [dictionary(V[0], atoms[0]), dictionary(V[1], atoms[1]), dictionary(U, atoms[0])];
    return { ...known, atoms, lipschitz, reading, V1, d: V1.length / atoms[0],
      upward: gram(U1, m), second: gram(V2, m), coupling: cross(U1, V2, m) };
  }

  const size = (code) => code.reduce((sum, a) => sum + Math.abs(a), 0);
  const most = (values) => values.reduce((largest, value) => Math.max(largest, Math.abs(value)), 0);

  /* F, its parts, and the duality gap, as vnlib.settle.energy has them. */
  function measure([a1, a2], { drive, power, H, beta, lambda }, { upward, second, coupling }) {
    const fitted = times(H, a1), sent = times(upward, a1), target = through(coupling, a2), above = times(second, a2);
    const c2 = through(coupling, a1, true).map((value, j) => value - above[j]);
    const c1 = drive.map((value, k) => value - fitted[k] - beta * (sent[k] - target[k]));
    const misfit = [0.5 * Math.max(0, power - 2 * dot(a1, drive) + dot(a1, fitted)),
      0.5 * Math.max(0, dot(a1, sent) - 2 * dot(a1, target) + dot(a2, above))];
    const penalty = [lambda[0] * size(a1), lambda[1] * size(a2)];
    const s = Math.min(1, lambda[0] / most(c1), lambda[1] / most(c2));
    const part = (l, a, c) => (1 - s) ** 2 * misfit[l] + penalty[l] - s * dot(a, c);
    return { misfit, penalty, energy: misfit[0] + penalty[0] + beta * (misfit[1] + penalty[1]),
      gap: part(0, a1, c1) + beta * part(1, a2, c2) };
  }

  /* A step with momentum on 1/2 a'Ha - drive a + lambda |a|_1, which begins anew where it points uphill. */
  function step({ code, ahead, t }, product, drive, L, lambda) {
    const next = new Float64Array(code.length), threshold = lambda / L;
    let uphill = 0;
    for (let k = 0; k < next.length; k++) {
      const z = ahead[k] - (product[k] - drive[k]) / L;
      next[k] = Math.sign(z) * Math.max(0, Math.abs(z) - threshold);
      uphill += (ahead[k] - next[k]) * (next[k] - code[k]);
    }
    const tNext = 0.5 * (1 + Math.sqrt(1 + 4 * (uphill > 0 ? 1 : t) ** 2)), momentum = ((uphill > 0 ? 1 : t) - 1) / tNext;
    return { code: next, ahead: next.map((a, k) => a + momentum * (a - code[k])), t: tNext };
  }

  const zeros = (K) => ({ code: new Float64Array(K), ahead: new Float64Array(K), t: 1 });

  /* Each layer by itself, for beta = 0. */
  function oneByOne(problem, net, limits) {
    const { H, drive, power, lambda } = problem, { upward, second, coupling, lipschitz } = net;
    const below = settle({ H, drive, power, lipschitz: lipschitz.first[0], lambda: lambda[0], nonnegative: false }, limits);
    const above = settle({ H: second, drive: through(coupling, below.code, true), power: dot(below.code, times(upward, below.code)),
      lipschitz: lipschitz.second, lambda: lambda[1], nonnegative: false }, limits);
    const codes = [below.code, above.code];
    return { codes, sweeps: below.sweeps + above.sweeps, settled: below.settled && above.settled, path: [],
      ...measure(codes, problem, net) };
  }

  /* Settle from zero. problem: H = V1' m V1, drive = V1' m x, power = |m x|^2, rung, the place of beta in net.feedbacks,
     and a factor for both sparsities. `path` holds F after the first sweeps. */
  function settleBoth(net, { rung, factor = 1, ...given }, { maxSweeps = 20000, tol = 1e-12, checkEvery = 5, noted = 60 } = {}) {
    const { atoms, feedbacks, lipschitz, upward, second, coupling } = net, beta = feedbacks[rung];
    const problem = { ...given, beta, lambda: net.sparsity.map((value) => factor * value) };
    if (!beta) return oneByOne(problem, net, { maxSweeps, tol, checkEvery });
    const { H, drive, lambda } = problem, curved = H.map((value, i) => value + beta * upward[i]);
    let [below, above] = atoms.map(zeros), sweeps = 0;
    const look = () => measure([below.code, above.code], problem, net);
    let seen = look(), settled = tol > 0 && seen.gap <= tol * seen.energy;
    const path = [seen.energy];
    const lower = (coupled) => {
      const target = coupled ? through(coupling, above.code) : null;
      const wanted = coupled ? drive.map((value, k) => value + beta * target[k]) : drive;
      below = step(below, times(coupled ? curved : H, below.ahead), wanted, lipschitz.first[rung], lambda[0]);
    };
    while (!settled && sweeps < maxSweeps) {
      lower(sweeps > 0); // there is no target at first
      above = step(above, times(second, above.ahead), through(coupling, below.code, true), lipschitz.second, lambda[1]);
      lower(true);
      sweeps++;
      if (sweeps <= noted || sweeps % checkEvery === 0) seen = look();
      if (sweeps <= noted) path.push(seen.energy);
      settled = tol > 0 && sweeps % checkEvery === 0 && seen.gap <= tol * seen.energy;
    }
    return { codes: [below.code, above.code], sweeps, settled, path, ...look() };
  }

  /* What a code of the top layer alone draws: the lower code is read back from its message, as VectorNetwork.decode does,
     but to the minimum. */
  function fromTop({ upward, second, coupling, lipschitz, reading, V1 }, code, limits) {
    const drive = through(coupling, code), power = dot(code, times(second, code));
    const found = settle({ H: upward, drive, power, lipschitz: lipschitz.reading, lambda: reading, nonnegative: false }, limits);
    return reconstruct(V1, found.code);
  }

  return { read, settle: settleBoth, fromTop };
})();

if (typeof module !== "undefined") module.exports = vnDeep;
