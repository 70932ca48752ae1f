/* Explorers: lists, sliders and maps choose what of the stored results is drawn. What there is, and how it lies in the
   page, is said in book/_extensions/explorer.py. */

(() => {
  "use strict";

  const bytes = (base64) => Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
  const make = (name, given = {}, text = "") => {
    const svg = ["rect", "path", "line", "text", "circle", "g"].includes(name);
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

  function explorer(root, { choices, views, colours, hues }, data) {
    const [sequential, diverging] = colours.map(bytes), state = {}, named = Object.fromEntries(choices.map((one) => [one.key, one]));
    for (const { key, first } of choices) state[key] = first;
    const look = (key) => named[key].looks[state[key]]; // colour and mark
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

      curve(view, svg) {
        const width = Math.min(560, Math.max(280, svg.clientWidth || 560)); // so letters keep their size
        const [left, right, top, bottom] = [width < 420 ? 84 : 100, width - 25, 10, 190], { at, log } = view, found = chosen(view.series[0]);
        const most = view.fit && found ? view.fit * found.reduce((all, one) => Math.max(all, Math.abs(one) || 0), 0) : 0;
        const { low, high } = most ? { low: -most, high: most } : view;
        const across = { low: at[0], high: at.at(-1), log: view.log_x };
        const x = (one) => left + (at.length > 1 ? share(across, one) : 0) * (right - left);
        const y = (one) => bottom - share({ low, high, log }, one) * (bottom - top);
        svg.setAttribute("viewBox", `0 0 ${width} 232`);
        const parts = [make("rect", { x: left, y: top, width: right - left, height: bottom - top, class: "frame" })];
        if (view.shade) {
          const [from, to] = view.shade.map(x);
          parts.push(make("rect", { x: from, y: top, width: to - from, height: bottom - top, class: "shade" }));
        }
        const decades = log ? Math.log10(high / low) : 0, every = Math.ceil(decades / 4);
        const ticks = log ? [...Array(Math.floor(decades / every) + 1).keys()].map((n) => low * 10 ** (n * every)) : [low, (low + high) / 2, high];
        for (const one of ticks) {
          parts.push(make("line", { x1: left - 4, x2: left, y1: y(one), y2: y(one), class: "frame" }));
          parts.push(make("text", { x: left - 7, y: y(one) + 4, class: "end" }, short(one)));
        }
        const said = (one) => one.toLocaleString("en-US", { maximumSignificantDigits: 3 });
        parts.push(make("text", { x: left, y: bottom + 15 }, said(at[0])), make("text", { x: right, y: bottom + 15 }, said(at.at(-1))));
        parts.push(make("text", { x: (left + right) / 2, y: 226 }, view.x));
        const middle = (top + bottom) / 2;
        parts.push(make("text", { x: 12, y: middle, transform: `rotate(-90 12 ${middle})` }, view.y));
        for (const one of view.series) {
          const values = chosen(one), wide = one.shape.length - one.by.length > 1 ? 4 : 1;
          if (!values) continue;
          const read = (i, which) => values[wide * i + which];
          const line = (which, order) => order.filter((i) => !Number.isNaN(read(i, which)))
            .map((i, n) => `${n || which === 2 ? "L" : "M"}${x(at[i]).toFixed(1)} ${y(read(i, which)).toFixed(1)}`).join("");
          const order = [...at.keys()], colour = one.hue === undefined ? "currentColor" : look(one.hue)[0];
          if (wide === 4) {
            const band = line(1, order) + line(2, order.reverse());
            if (band) parts.push(make("path", { d: `${band}Z`, fill: colour, opacity: 0.18 }));
          }
          const dashes = one.dash ? { "stroke-dasharray": one.dash } : {};
          parts.push(make("path", { d: line(0, [...at.keys()]), class: "line", stroke: colour, "data-name": fill(one.name), ...dashes }));
        }
        if (view.marks) {
          const here = x(view.marks.at[state[view.marks.key]]);
          parts.push(make("line", { x1: here, x2: here, y1: top, y2: bottom, class: "mark" }));
        }
        svg.replaceChildren(...parts);
      },

      paths(view, svg, found) {
        const [steps, bodies] = view.shape.slice(-3), until = state[view.until], { high } = view;
        const range = { low: -high, high };
        const xy = (step, body) => [0, 1].map((axis) => {
          const one = value(range, found[2 * (step * bodies + body) + axis]);
          return 100 + (axis ? -100 : 100) * one / high;
        });
        svg.setAttribute("viewBox", "0 0 200 200");
        const side = 200 * view.box / high, corner = 100 - side / 2;
        const parts = [make("rect", { x: corner, y: corner, width: side, height: side, class: "frame dashed" })];
        for (let body = 0; body < bodies; body++) {
          const seen = [...Array(Math.min(until + 1, steps)).keys()].map((step) => xy(step, body));
          const there = seen.filter(([x, y]) => !Number.isNaN(x + y));
          if (!there.length) continue;
          const colour = hues[body % hues.length], line = there.map((one) => one.map((c) => c.toFixed(1)).join(" "));
          parts.push(make("path", { d: `M${line.join("L")}`, class: "line", stroke: colour }));
          const [cx, cy] = there.at(-1);
          if (there.length === seen.length) parts.push(make("circle", { cx, cy, r: 4.5, fill: colour }));
        }
        svg.replaceChildren(...parts);
      },
    };

    function table(view, box) {
      const heads = [...box.querySelectorAll("thead th")].map((one) => one.textContent);
      const rows = view.rows.map(({ name, hue, values }) => {
        const row = make("tr"), head = make("th", { scope: "row" }, fill(name));
        if (hue) {
          const [colour, mark] = look(hue);
          head.style.borderLeftColor = colour;
          head.prepend(make("span", { "aria-hidden": "true", class: "vn-mark", style: `color: ${colour}` }, mark), " ");
        }
        row.append(head, ...values.map((one, i) => make("td", { "data-head": heads[i] }, said(chosen(one) ?? []) || "–")));
        return row;
      });
      box.querySelector("tbody").replaceChildren(...rows);
    }

    const boxes = [...root.querySelectorAll(".vn-view")];

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
        const drawn = box.querySelector("canvas, svg");
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
          told.push(`${row.cells[0].textContent}: ${cells.join(", ")}`);
        }
      }
      if (!playing) root.querySelector("[role=status]").textContent = told.join(". ");
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

    /* On a map the pointer shows, a click keeps, and arrow keys move. */
    views.forEach((view, n) => {
      if (view.show !== "map") return;
      const canvas = boxes[n].querySelector("canvas"), key = view.picks;
      const [columns, rows] = named[key].parts.map((one) => one.length);
      let kept = null;
      const under = ({ offsetX, offsetY }) => {
        const [x, y] = [offsetX / canvas.clientWidth * columns, offsetY / canvas.clientHeight * rows].map(Math.floor);
        return Math.min(columns - 1, Math.max(0, x)) + columns * (rows - 1 - Math.min(rows - 1, Math.max(0, y)));
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

    root.hidden = false;
    show();
    window.addEventListener("resize", show);
    return { state, show, chosen, views };
  }

  const all = {};
  for (const root of document.querySelectorAll(".vn-explorer")) {
    const told = JSON.parse(root.querySelector("script[type='application/json']").textContent);
    all[root.id] = numbers(told.data).then((data) => explorer(root, told, data));
  }
  window.vnExplorers = { all, short, said };
})();
