/* Explorers: lists, sliders and maps choose what of the stored results is drawn. What there is, and how it lies in the
   page, is said in book/_extensions/explorer.py. */

(() => {
  "use strict";

  const bytes = (base64) => Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
  const make = (name, given = {}, text = "") => {
    const svg = ["svg", "path"].includes(name);
    const one = svg ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
    for (const [key, value] of Object.entries(given)) one.setAttribute(key, value);
    if (text) one.textContent = text;
    return one;
  };

  async function numbers({ f4, u1, deflate }) {
    const stream = new Blob([bytes(deflate)]).stream().pipeThrough(new DecompressionStream("deflate"));
    const whole = new Uint8Array(await new Response(stream).arrayBuffer());
    const four = new Uint8Array(4 * f4);
    for (let i = 0; i < four.length; i++) four[i] = whole[(i % 4) * f4 + (i >> 2)];
    return { f4: new Float32Array(four.buffer), u1: whole.subarray(4 * f4, 4 * f4 + u1) };
  }

  /* Two digits, as vnlib.plots.statistics says them, with a sign that is no hyphen. */
  function short(value) {
    if (value < 0) return `−${short(-value)}`;
    const size = Math.abs(value), whole = (one) => one.toLocaleString("en-US", { maximumFractionDigits: 0 });
    if (!Number.isFinite(value)) return "";
    if (size >= 1e5 || (size && size < 1e-3)) {
      const [digits, power] = value.toExponential(1).split("e");
      return `${digits} × 10${[...String(Number(power))].map((c) => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(c)]).join("")}`;
    }
    if (Number.isInteger(value) && (size >= 10 || !size)) return whole(value);
    return size >= 9.95 ? whole(Number(value.toPrecision(2))) : value.toPrecision(2);
  }

  function said([middle, low, high, count]) {
    const [text, ...ends] = [middle, low, high].map(short), counted = text && count ? `, n = ${count}` : "";
    return (!ends[0] || ends.every((end) => end === text) ? text : `${text} [${ends.join(", ")}]`) + counted;
  }

  /* With spaces at which no line ends, as in vnlib.plots.tables: but an interval with powers is wider than a phone's cell. */
  const unbroken = (text) => text.replace(/(?<=[\]\d]) (?=[×%])|(?<=×) |(?<=,) (?=[^[×]*\])|(?<=n) (?==)|(?<=n =) /g, "\u00a0");

  function explorer(root, { choices, views, colours, hues }, data) {
    const [sequential, diverging] = colours.map(bytes), state = {}, named = Object.fromEntries(choices.map((one) => [one.key, one]));
    for (const { key, first } of choices) state[key] = first;
    const look = (key) => named[key].looks[state[key]]; // the colour
    const fill = (text = "") => text.replace(/\{(\w+)\}/g, (_, key) => named[key].names[state[key]]);

    /* The numbers of an array that are chosen; none where they are not stored. */
    function chosen({ kind, from, shape, by }) {
      const size = shape.slice(by.length).reduce((all, one) => all * one, 1);
      let at = 0;
      for (const [i, [key, places]] of by.entries()) {
        const place = places ? places[state[key]] : state[key];
        if (place < 0) return null;
        at = at * shape[i] + place;
      }
      const found = data[kind].subarray(from + at * size, from + (at + 1) * size);
      return found.some(kind === "u1" ? (level) => level : (value) => !Number.isNaN(value)) ? found : null;
    }

    const share = ({ low, high, log }, value) => {
      const of = log ? Math.log10 : (one) => one;
      return Math.min(1, Math.max(0, (of(log ? Math.max(value, low) : value) - of(low)) / (of(high) - of(low))));
    };
    const value = ({ low, high }, level) => (level ? low + (level - 1) / 254 * (high - low) : NaN);

    const draw = {
      image(view, canvas, found) {
        const [height, width] = view.shape.slice(-2), picture = new ImageData(width, height), palette = view.diverging ? diverging : sequential;
        for (let i = 0; i < width * height; i++) {
          const row = view.up ? height - 1 - (i / width | 0) : i / width | 0, level = found[row * width + i % width];
          if (level) picture.data.set([...palette.subarray(3 * (level - 1), 3 * level), 255], 4 * i);
        }
        [canvas.width, canvas.height] = [width, height];
        canvas.getContext("2d").putImageData(picture, 0, 0);
      },

      map(view, canvas, found) {
        const [columns, rows] = named[view.picks].parts.map((one) => one.length);
        const [wide, tall] = [columns, rows].map((count) => Math.ceil(280 / count));
        [canvas.width, canvas.height] = [wide * columns, tall * rows];
        const pen = canvas.getContext("2d"), held = view.outline ? [...chosen(view.outline)] : [];
        const inside = new Set([...held.keys()].filter((i) => held[i] === 255));
        const corner = (i) => [wide * (i % columns), tall * (rows - 1 - Math.floor(i / columns))];
        found.forEach((one, i) => {
          if (Number.isNaN(one)) return;
          const at = Math.round(255 * share(view, one));
          pen.fillStyle = `rgb(${sequential.subarray(3 * at, 3 * at + 3).join(" ")})`;
          pen.fillRect(...corner(i), wide, tall);
        });
        pen.beginPath();
        for (const i of inside) {
          const [x, y] = corner(i), edge = (open, ...ends) => {
            if (!open) return;
            pen.moveTo(...ends.slice(0, 2));
            pen.lineTo(...ends.slice(2));
          };
          edge(!inside.has(i - 1) || !(i % columns), x, y, x, y + tall);
          edge(!inside.has(i + 1) || i % columns === columns - 1, x + wide, y, x + wide, y + tall);
          edge(!inside.has(i + columns), x, y, x + wide, y);
          edge(!inside.has(i - columns), x, y + tall, x + wide, y + tall);
        }
        for (const [strokeStyle, dash] of [["#000", []], ["#fff", [6, 5]]]) {
          Object.assign(pen, { strokeStyle, lineWidth: 2 });
          pen.setLineDash(dash);
          pen.stroke();
        }
        pen.setLineDash([]);
        for (const i of view.marks) {
          pen.beginPath();
          pen.arc(corner(i)[0] + wide / 2, corner(i)[1] + tall / 2, wide / 3, 0, 7);
          pen.fillStyle = "#fff";
          pen.fill();
        }
        const [x, y] = corner(state[view.picks]);
        for (const [strokeStyle, lineWidth] of [["#000", 5], ["#fff", 2]]) {
          Object.assign(pen, { strokeStyle, lineWidth });
          pen.strokeRect(x - 1, y - 1, wide + 2, tall + 2);
        }
      },

      curve(view, box) {
        const { at } = view, width = wide(box), found = chosen(view.series[0]);
        const most = view.fit && found ? view.fit * found.reduce((all, one) => Math.max(all, Math.abs(one) || 0), 0) : 0;
        const drawn = view.series.map((one) => {
          const values = chosen(one), each = one.shape.length - one.by.length > 1 ? 4 : 1;
          const read = (i) => (values ? [...values.subarray(each * i, each * (i + 1))] : [NaN]);
          const points = at.map((x, i) => ({ x, y: read(i)[0], ...(each === 4 && { low: read(i)[1], high: read(i)[2] }) }));
          const colour = one.hue === undefined ? "currentColor" : look(one.hue);
          return { name: fill(one.name), key: fill(one.key ?? one.name), colour, dash: one.dash, quiet: Boolean(one.key), read, points: points.filter(({ y }) => !Number.isNaN(y)) };
        });
        const rows = at.map((x, i) => ({ x, said: () => tell(x, i) }));
        const tell = (x, i) => {
          const values = drawn.filter(({ quiet, read }) => !quiet && !Number.isNaN(read(i)[0])).map(({ name, read }) => `${name}: ${said(read(i).slice(0, 3))}`);
          return [`${view.x}: ${x.toLocaleString("en-US", { maximumSignificantDigits: 3 })}`, ...values].join("\n");
        };
        box.replaceChildren(vnPlots.lines({
          width, series: drawn, shade: view.shade, mark: view.marks?.at[state[view.marks.key]], rows,
          x: { label: view.x, low: at[0], high: at.at(-1), log: view.log_x },
          y: { label: view.y, log: view.log, ...(most ? { low: -most, high: most } : { low: view.low, high: view.high }) },
        }), key(drawn));
      },

      cells(view, box, found) {
        const [columns, rows] = named[view.picks].parts, held = view.outline ? chosen(view.outline) : null;
        const cells = [...found].map((one, i) => {
          const at = 3 * Math.round(255 * share(view, one)), colour = Number.isNaN(one) ? "#ccc" : `rgb(${sequential.subarray(at, at + 3).join(" ")})`;
          return { x: i % columns.length, y: Math.floor(i / columns.length), colour, inside: held?.[i] === 255 };
        });
        const [x, y] = [{ label: view.x, names: columns }, { label: view.y, names: rows }];
        box.replaceChildren(vnPlots.cells({ width: wide(box, 240, 360), height: 340, x, y, cells, at: state[view.picks] }));
      },

      paths(view, box, found) {
        const [steps, bodies] = view.shape.slice(-3), last = Math.min(state[view.until], steps - 1), { high } = view, points = [], ends = [];
        for (let body = 0; body < bodies; body++) {
          const colour = hues[body % hues.length], name = `body ${body + 1}`;
          for (let step = 0; step <= last; step++) {
            const [x, y] = [0, 1].map((axis) => value({ low: -high, high }, found[2 * (step * bodies + body) + axis]));
            if (Number.isNaN(x + y)) continue;
            points.push({ x, y, name, colour, said: () => `${name}, ${named[view.until].names[step]}\nx ${short(x)}, y ${short(y)}` });
            if (step === last) ends.push(points.at(-1));
          }
        }
        box.replaceChildren(vnPlots.paths({ width: wide(box, 200, 320), high, box: view.box, label: view.unit, points, ends }));
      },
    };

    /* As wide as its place, so that letters keep their size; asked for before anything is drawn, since each answer lays out the page. */
    const wide = (box, least = 280, most = 608) => Math.min(most, Math.max(least, widths.get(box.parentElement) || most));

    /* A piece of a line as a plot has it. */
    function sample(colour, dash = "none") {
      const piece = make("svg", { viewBox: "0 0 28 8", class: "vn-line", "aria-hidden": "true" });
      piece.append(make("path", { d: "M0 4H28", stroke: colour, "stroke-width": 1.8, "stroke-dasharray": dash }));
      return piece;
    }

    /* What lines of a plot are, each said once. */
    function key(lines) {
      const told = make("p", { class: "vn-key" }), once = new Map(lines.map((one) => [one.key, one]));
      for (const [text, { colour, dash }] of once) {
        const entry = make("span");
        entry.append(sample(colour, dash), ` ${text}`);
        told.append(entry, " ");
      }
      return told;
    }

    function table(view, box) {
      const heads = [...box.querySelectorAll("thead th")].map((one) => one.textContent);
      const rows = view.rows.map(({ name, hue, values }) => {
        const row = make("tr"), head = make("th", { scope: "row" }, fill(name));
        if (hue) {
          const line = views.flatMap(({ series = [] }) => series).find((one) => one.hue === hue);
          head.style.borderLeftColor = look(hue);
          if (line) head.prepend(sample(look(hue), line.dash), " ");
        }
        row.append(head, ...values.map((one, i) => make("td", { "data-head": heads[i] }, unbroken(said(chosen(one) ?? [])) || "–")));
        return row;
      });
      box.querySelector("tbody").replaceChildren(...rows);
    }

    const boxes = [...root.querySelectorAll(".vn-view")], widths = new Map();

    function show() {
      views.forEach((view, n) => {
        const box = boxes[n], title = fill(view.title);
        box.querySelector(".vn-title").textContent = title;
        if (view.show === "table") {
          table(view, box);
          return;
        }
        const found = view.show === "curve" ? [] : chosen(view), lacking = (view.series ?? []).filter((one) => !chosen(one));
        if (lacking.length) box.querySelector(".vn-title").append(`; not stored: ${lacking.map((one) => fill(one.name)).join(", ")}`);
        const drawn = box.querySelector("canvas, .vn-plot");
        box.querySelector(".vn-missing").hidden = Boolean(found);
        drawn.toggleAttribute("hidden", !found);
        drawn.style.display = found ? "" : "none";
        if (!found) return;
        const names = (view.by ?? []).map(([key]) => key).concat(view.picks ?? [], view.until ?? []);
        const also = [...new Set(names)].filter((key) => !title.includes(named[key].names[state[key]]));
        const lines = (view.series ?? []).filter(({ hue }) => hue !== undefined).map(({ name }) => fill(name));
        drawn.setAttribute("aria-label", [title, ...lines, ...also.map((key) => named[key].names[state[key]])].filter(Boolean).join(", "));
        draw[view.show](view, drawn, found);
      });
      for (const one of root.querySelectorAll(".vn-picks :is(select, input, output)")) {
        const { key, part } = one.dataset, { names, parts } = named[key], at = state[key];
        const place = part ? (part === "x" ? at % parts[0].length : Math.floor(at / parts[0].length)) : at;
        const text = part ? parts[part === "x" ? 0 : 1][place] : names[place];
        if (one.tagName === "OUTPUT") one.textContent = text;
        else one.value = place;
        if (one.type === "range") one.setAttribute("aria-valuetext", text);
      }
      const told = [];
      for (const box of boxes.filter((one) => one.matches(".vn-table"))) {
        const heads = [...box.querySelectorAll("thead th")].map((one) => one.textContent);
        told.push(box.querySelector(".vn-title").textContent);
        for (const row of box.querySelectorAll("tbody tr")) {
          const cells = [...row.cells].slice(1).map((cell, i) => `${heads[i]} ${cell.textContent}`);
          told.push(`${row.cells[0].textContent.trim()}: ${cells.join(", ")}`);
        }
      }
      if (!playing) root.querySelector("[role=status]").textContent = told.join(". ").replaceAll("\u00a0", " ");
    }

    function measure() {
      for (const one of [root, ...boxes]) widths.set(one, one.clientWidth);
      show();
    }

    function pick(key, place) {
      state[key] = Math.min(named[key].names.length - 1, Math.max(0, place));
      show();
    }

    root.querySelector(".vn-picks").addEventListener("input", ({ target }) => {
      const { key, part } = target.dataset, wide = named[key].parts?.[0].length, at = Number(target.value);
      stop();
      if (part === "x") pick(key, at + wide * Math.floor(state[key] / wide));
      else if (part === "y") pick(key, state[key] % wide + wide * at);
      else pick(key, at);
    });
    root.querySelector(".vn-picks").addEventListener("click", ({ target }) => {
      if (target.dataset.jump) pick(target.dataset.key, Number(target.dataset.jump));
      if (target.dataset.play) play(target);
    });

    let playing = null;
    function stop() {
      cancelAnimationFrame(playing?.frame);
      if (playing) playing.button.textContent = "Play";
      playing = null;
    }
    function play(button) {
      if (playing) {
        stop();
        show();
        return;
      }
      const key = button.dataset.play, last = named[key].names.length - 1, from = state[key] >= last ? 0 : state[key];
      let begun = null;
      const tick = (now) => {
        begun ??= now;
        const at = Math.min(last, from + Math.floor((now - begun) / (1000 * named[key].play) * last));
        if (at >= last) stop();
        else playing.frame = requestAnimationFrame(tick);
        if (at !== state[key] || !playing) pick(key, at);
      };
      playing = { button, frame: requestAnimationFrame(tick) };
      button.textContent = "Pause";
    }

    /* On a map, and over cells, the pointer shows, a click keeps, and arrow keys move. */
    views.forEach((view, n) => {
      if (!["map", "cells"].includes(view.show)) return;
      const canvas = boxes[n].querySelector("canvas, .vn-plot"), key = view.picks;
      const [columns, rows] = named[key].parts.map((one) => one.length);
      let kept = null;
      const under = (event) => {
        const [x, y] = view.show === "cells" ? vnPlots.under(canvas.firstElementChild, event)
          : [event.offsetX / canvas.clientWidth * columns, (1 - event.offsetY / canvas.clientHeight) * rows].map(Math.floor);
        return Math.min(columns - 1, Math.max(0, x)) + columns * Math.min(rows - 1, Math.max(0, y));
      };
      canvas.tabIndex = 0;
      canvas.setAttribute("role", "application");
      canvas.addEventListener("pointermove", (event) => {
        if (event.pointerType !== "mouse") return;
        kept ??= state[key];
        if (under(event) !== state[key]) pick(key, under(event));
      });
      canvas.addEventListener("pointerleave", () => {
        if (kept !== null) pick(key, kept);
        kept = null;
      });
      canvas.addEventListener("click", (event) => {
        kept = kept === null ? null : under(event);
        pick(key, under(event));
      });
      canvas.addEventListener("keydown", (event) => {
        const [right, up] = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key] ?? [];
        if (right === undefined) return;
        event.preventDefault();
        const x = state[key] % columns + right, y = Math.floor(state[key] / columns) + up;
        if (x >= 0 && x < columns && y >= 0 && y < rows) pick(key, x + columns * y);
        kept = null;
      });
    });

    for (const box of root.querySelectorAll(".vn-view:not(.vn-cells) > .vn-plot")) {
      vnPlots.keys(box, (text) => {
        if (text) root.querySelector("[role=status]").textContent = text;
      });
    }

    root.hidden = false;
    measure();
    new ResizeObserver(() => {
      if (root.clientWidth !== widths.get(root)) measure();
    }).observe(root);
    return { state, show, chosen, views };
  }

  const all = {};
  for (const root of document.querySelectorAll(".vn-explorer:not(.vn-live)")) {
    const told = JSON.parse(root.querySelector("script[type='application/json']").textContent);
    all[root.id] = numbers(told.data).then((data) => explorer(root, told, data));
  }
  window.vnExplorers = { all, short, said, numbers };
})();
