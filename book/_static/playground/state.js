/* The state of the playground as the fragment of a link, and back. What a link says is never trusted: every field must
   have its form and its range, or the whole of it is refused. */

const vnState = (() => {
  "use strict";

  const LONGEST = 20000; // characters
  const MOST = 20; // digits in a picture
  const FULL = 255, BRIGHTEST = 100 * FULL; // ink is stored in whole steps of 1/255
  const FLAGS = ["signed", "known", "again", "residual", "doubling"];
  const whole = (text) => (/^-?[0-9a-z]{1,4}$/.test(text) ? parseInt(text, 36) : NaN);

  /* Whole numbers, runs of n zeros as _n. */
  function packed(values) {
    const out = [];
    for (let i = 0, zeros = 0; i <= values.length; i++) {
      if (i < values.length && !values[i]) zeros++;
      else {
        if (zeros) out.push(`_${zeros.toString(36)}`);
        if (i < values.length) out.push(values[i].toString(36));
        zeros = 0;
      }
    }
    return out.join(".");
  }

  function unpacked(text, d) {
    const out = [];
    for (const part of text.split(".")) {
      const value = whole(part.replace(/^_/, ""));
      if (Number.isNaN(value) || Math.abs(value) > BRIGHTEST) return null;
      if (!part.startsWith("_")) out.push(value);
      else if (value > 0 && out.length + value <= d) out.push(...Array(value).fill(0));
      else return null;
      if (out.length > d) return null;
    }
    return out.length === d ? out : null;
  }

  /* Lengths of runs of seen and of covered pixels by turns, the first of seen ones. */
  function runs(seen) {
    const out = [0];
    seen.forEach((one) => {
      if (one === (out.length % 2)) out[out.length - 1]++;
      else out.push(1);
    });
    return out.map((length) => length.toString(36)).join(".");
  }

  function unrun(text, d) {
    const lengths = text.split(".").map(whole);
    const sound = lengths.every((length, i) => length > 0 || (length === 0 && i === 0));
    if (!sound || lengths.reduce((sum, length) => sum + length, 0) !== d) return null;
    return lengths.flatMap((length, i) => Array(length).fill(1 - i % 2));
  }

  /* Signed places of digits, "8.0-3" for the ninth plus the first minus the fourth. */
  const sum = (picks) => picks.map(([sign, n], i) => (sign < 0 ? "-" : i ? "." : "") + n).join("");

  function picksOf(text, count) {
    if (!/^-?\d{1,3}(?:[.-]\d{1,3})*$/.test(text)) return null;
    const picks = text.match(/[.-]?\d+/g).map((part) => [part[0] === "-" ? -1 : 1, +part.replace(/^[.-]/, "")]);
    return picks.length <= MOST && picks.every(([, n]) => n < count) ? picks : null;
  }

  function indices(text, count) {
    const found = text.split(".").map((part) => (/^\d{1,6}$/.test(part) ? +part : NaN));
    return found.every((k) => k < count) && new Set(found).size === found.length ? found : null;
  }

  /* state: picks (or null) or picture, seen (1 or 0 per pixel), sparsity, layers of the network, the place of its feedback
     (null: its own), sweeps (null: until settled), the flags, removed and doubled atoms. */
  function encode({ picks, picture, seen, sparsity, layers, feedback, sweeps, removed, doubled, ...flags }) {
    const fields = [["vn", 1]];
    if (picks) fields.push(["digits", sum(picks)]);
    else fields.push(["picture", packed([...picture].map((ink) => Math.round(FULL * ink) || 0))]);
    if ([...seen].includes(0)) fields.push(["covered", runs([...seen])]);
    if (sparsity) fields.push(["sparsity", sparsity]);
    if (layers === 2) fields.push(["layers", 2]);
    if (feedback !== null) fields.push(["feedback", feedback]);
    if (sweeps !== null) fields.push(["sweeps", sweeps]);
    for (const flag of FLAGS) if (flags[flag]) fields.push([flag, 1]);
    if (removed.length) fields.push(["removed", removed.join(".")]);
    if (doubled.length) fields.push(["doubled", doubled.join(".")]);
    return fields.map((field) => field.join("=")).join("&");
  }

  /* The state that a fragment without its # names; null where it is none of ours, or damaged.
     limits: d pixels, so many digits, atoms and feedbacks, sparsity = [low, high, step], the numbers of sweeps on offer. */
  function decode(text, { d, digits, atoms, feedbacks, sparsity: [low, high, step], sweeps }) {
    if (text.length > LONGEST) return null;
    const fields = new Map();
    for (const part of text.split("&")) {
      const [name, value, ...more] = part.split("=");
      if (value === undefined || more.length || fields.has(name)) return null;
      fields.set(name, value);
    }
    if (fields.get("vn") !== "1") return null;
    const state = { picks: null, picture: null, seen: Array(d).fill(1), sparsity: 0, layers: 1, feedback: null,
      sweeps: null, removed: [], doubled: [] };
    for (const flag of FLAGS) state[flag] = false;
    const READ = {
      vn: () => true,
      digits: (value) => (state.picks = picksOf(value, digits)),
      picture: (value) => (state.picture = unpacked(value, d)?.map((ink) => ink / FULL)),
      covered: (value) => (state.seen = unrun(value, d)),
      sparsity: (value) => {
        state.sparsity = /^-?\d{1,2}(\.\d{1,2})?$/.test(value) ? +value : NaN;
        return state.sparsity >= low && state.sparsity <= high && Number.isInteger((state.sparsity - low) / step);
      },
      layers: (value) => (state.layers = value === "2" ? 2 : 0),
      feedback: (value) => (state.feedback = indices(value, feedbacks)?.[0] ?? NaN) >= 0,
      sweeps: (value) => /^\d{1,4}$/.test(value) && sweeps.includes(state.sweeps = +value),
      removed: (value) => (state.removed = indices(value, atoms)),
      doubled: (value) => (state.doubled = indices(value, atoms)),
    };
    for (const flag of FLAGS) READ[flag] = (value) => (state[flag] = value === "1");
    for (const [name, value] of fields) if (!Object.hasOwn(READ, name) || !READ[name](value)) return null;
    const clash = state.removed.some((k) => state.doubled.includes(k));
    return !clash && Boolean(state.picks) !== Boolean(state.picture) ? state : null;
  }

  return { MOST, encode, decode };
})();

if (typeof module !== "undefined") module.exports = vnState;
