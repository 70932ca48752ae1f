// Tables that are sorted by a click on a column, and stacked where they are wider than theirs; folded parts
// that open for links, searches and printing.
document.addEventListener("DOMContentLoaded", () => {
  "use strict";
  const root = document.documentElement;

  // The number a cell begins with, such as 5.1 × 10⁻⁷ in "5.1 × 10⁻⁷ [4.3 × 10⁻⁷, 5.2 × 10⁻⁷]"; else its text.
  const value = (cell) => {
    const text = (cell?.textContent ?? "").trim();
    const number = /^([-−+]?[\d,]*\.?\d+)(?:\s×\s10([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+))?/.exec(text);
    if (!number) return text;
    const power = [...(number[2] ?? "⁰")].map((sign) => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹".indexOf(sign)).map((n) => (n ? n - 1 : "-"));
    return Number(`${number[1].replaceAll(",", "").replaceAll("−", "-")}e${power.join("")}`);
  };
  const order = (a, b) => {
    if (typeof a === typeof b) return typeof a === "number" ? a - b : a.localeCompare(b);
    return typeof a === "number" ? -1 : 1; // numbers first, then words and gaps
  };

  function sortable(table) {
    const body = table.tBodies[0], heads = [...(table.tHead?.rows ?? [])];
    // Rows that share a cell belong together.
    if (!body || body.rows.length < 3 || body.querySelector("[rowspan]:not([rowspan='1'])")) return;
    const leaves = heads.filter((row) => row.querySelector(".col_heading")).at(-1), given = [...body.rows];
    const select = Object.assign(document.createElement("select"), { className: "form-select" });
    select.add(new Option("as given", ""));
    function sort(column, up) {
      for (const head of leaves.cells) head.removeAttribute("aria-sort");
      leaves.cells[column].setAttribute("aria-sort", up ? "ascending" : "descending");
      const rows = [...body.rows].map((row) => [value(row.cells[column]), row]);
      rows.sort(([a], [b]) => (up ? order(a, b) : typeof a === typeof b ? order(b, a) : order(a, b)));
      body.append(...rows.map(([, row]) => row));
      select.value = `${column} ${up ? "up" : "down"}`;
      if (copies.has(table)) lay(table);
    }
    [...(leaves?.cells ?? [])].forEach((head, column) => {
      if (!head.matches(".col_heading") || head.colSpan > 1) return;
      const button = Object.assign(document.createElement("button"), { type: "button", className: "vn-sort" });
      button.append(...head.childNodes);
      button.title = "Sort by this column";
      head.append(button);
      button.addEventListener("click", () => {
        sort(column, head.getAttribute("aria-sort") !== "ascending");
      });
      const name = body.rows[0].cells[column].dataset.head ?? button.textContent.trim();
      select.add(new Option(`${name}, least first`, `${column} up`));
      select.add(new Option(`${name}, largest first`, `${column} down`));
    });
    // Where the table is stacked its heads, and so their buttons, are not shown.
    select.addEventListener("change", () => {
      const [column, way] = select.value.split(" ");
      if (way) sort(Number(column), way === "up");
      else {
        for (const head of leaves.cells) head.removeAttribute("aria-sort");
        body.append(...given);
      }
    });
    if (select.options.length < 2) return;
    const label = Object.assign(document.createElement("label"), { className: "vn-order", textContent: "Order " });
    label.append(select);
    table.before(label);
  }
  // A table that is wider than its column is set smaller where that is no phone's, and else shown in parts below one
  // another, with some of its columns each. On a phone it is stacked: a block for each row, in which cells name their
  // columns. So is one that is squeezed into its column, by rows of many short lines.
  const LONG = 60, WORDS = 24; // letters of a cell that has a line of its own there, and of one that is read as a sentence
  const tables = [...document.querySelectorAll(".bd-content table:not(.vn-footer)")].filter(
    (one) => one.tHead && one.tBodies.length && !one.closest(".vn-explorer, .highlighttable"));
  for (const table of tables) {
    const names = [], parts = [...table.tHead.rows].at(-1); // the row that names what the heads of rows are, if one does
    const kinds = parts.querySelector(".col_heading") ? [] : [...parts.cells].map((one) => (one.matches(".index_name") ? one.textContent.trim() : ""));
    for (const row of table.tHead.rows) {
      let column = 0;
      for (const head of row.cells) {
        for (const end = column + head.colSpan; column < end; column += 1) {
          const text = head.matches(".index_name, .blank") ? "" : head.textContent.trim();
          names[column] = [names[column], text].filter(Boolean).join(", ");
        }
      }
    }
    const columns = [], sentences = new Set();
    for (const row of table.tBodies[0].rows) {
      let column = names.length - [...row.cells].reduce((sum, cell) => sum + cell.colSpan, 0); // after shared cells
      for (const cell of row.cells) {
        const head = cell.tagName === "TD" ? names[column] : kinds[column];
        if (head) cell.dataset.head = head;
        const { length } = cell.textContent.trim();
        cell.classList.toggle("vn-long", length > LONG);
        (columns[column] ??= []).push(cell);
        if (length > LONG || (length > WORDS && typeof value(cell) === "string")) sentences.add(column);
        column += cell.colSpan;
      }
    }
    for (const column of sentences) for (const cell of columns[column]) cell.classList.add("vn-words");
  }
  document.querySelectorAll("table.dataframe").forEach(sortable);
  // A long name in a cell breaks, where it must, between its words: Mini|Batch|Dictionary|Learning, results_|dir.
  const LONGEST = 8, BETWEEN = /(?<=[a-z])(?=[A-Z][a-z])|(?<=[_/=]|[A-Za-z>]\.)(?=[A-Za-z<])/;
  const leaves = (node) => [...node.childNodes].flatMap((one) =>
    one.nodeType === Node.TEXT_NODE ? [one] : one.nodeType === Node.ELEMENT_NODE && !one.matches(".math, svg, script") ? leaves(one) : []);
  for (const text of [...tables, ...document.querySelectorAll(".vn-footer")].flatMap((table) => [...table.querySelectorAll("th, td")]).flatMap(leaves)) {
    const parts = text.data.split(/(\s+)/).flatMap((word) => (word.length > LONGEST ? word.split(BETWEEN) : [word]));
    const breaks = parts.map((part, n) => n && part.trim() && parts[n - 1].trim() ? [document.createElement("wbr"), part] : [part]);
    if (breaks.some((one) => one.length > 1)) text.replaceWith(...breaks.flat());
  }
  const copies = new Map(); // of a table, with the columns that it does not show itself
  const datum = (row) => [...row.cells].filter((cell) => cell.tagName === "TD");
  // Groups of columns that are no wider than `room` with the names of rows; what has one head stays together if it can.
  function groups(table, room) {
    const rows = [...table.tBodies[0].rows].map(datum), widths = rows[0].map((cell) => cell.getBoundingClientRect().width);
    if (!widths.length || rows.some((row) => row.length !== widths.length)) return [];
    const free = room - table.getBoundingClientRect().width + widths.reduce((sum, one) => sum + one), units = [];
    let column = -[...table.tHead.rows[0].cells].reduce((sum, head) => sum + head.colSpan, 0) + widths.length;
    for (const head of table.tHead.rows[0].cells) {
      const unit = [];
      for (const end = column + head.colSpan; column < end; column += 1) if (column >= 0) unit.push(column);
      units.push(unit);
    }
    const sum = (unit) => unit.reduce((all, one) => all + widths[one], 0);
    const kept = units.flatMap((unit) => (sum(unit) > free ? unit.map((one) => [one]) : [unit]));
    if (kept.some((unit) => sum(unit) > free)) return [];
    const filled = (limit) => kept.reduce((found, unit) => {
      if (sum([...found.at(-1), ...unit]) > limit) found.push([]);
      found.at(-1).push(...unit);
      return found;
    }, [[]]);
    let limit = Math.max(sum(widths.map((_, one) => one)) / filled(free).length, ...kept.map(sum)); // parts are about alike
    while (limit < free && filled(limit).length > filled(free).length) limit += 4;
    return filled(Math.min(limit, free));
  }
  function keep(table, columns) { // shows these alone, or all
    const count = datum(table.tBodies[0].rows[0]).length;
    for (const row of [...table.tHead.rows, ...table.tBodies[0].rows]) {
      const cells = [...row.cells];
      let column = count;
      for (const cell of cells.reverse()) {
        const span = Number((cell.dataset.span ??= cell.colSpan));
        column -= span;
        const seen = [...Array(span).keys()].filter((one) => column + one < 0 || !columns || columns.includes(column + one)).length;
        cell.hidden = !seen;
        cell.colSpan = seen || span;
      }
    }
  }
  function divide(table, room) {
    const [first, ...rest] = groups(table, room);
    if (!rest.length) return;
    const bold = [...table.querySelectorAll("td")].map((cell) => getComputedStyle(cell).fontWeight);
    const made = rest.map((columns) => {
      const copy = table.cloneNode(true);
      copy.querySelectorAll("td").forEach((cell, number) => { cell.style.fontWeight = bold[number]; });
      for (const one of [copy, ...copy.querySelectorAll("[id]")]) one.removeAttribute("id");
      keep(copy, columns);
      const presses = (one) => [...one.querySelectorAll(".vn-sort")];
      copy.addEventListener("click", (event) => {
        const press = presses(copy).indexOf(event.target.closest(".vn-sort"));
        if (press < 0) return;
        presses(table)[press].click();
        presses(copies.get(table)[made.indexOf(copy)])[press].focus({ preventScroll: true });
      });
      return copy;
    });
    keep(table, first);
    table.after(...made);
    copies.set(table, made);
  }
  const SMALL = [0.65, 0.6, 0.55, 0.5]; // rem, down to 6 pt
  function loosen(table) { // an interval may break after its comma, where styles let it
    for (const text of [...table.querySelectorAll("td")].flatMap(leaves)) {
      const [before, low, high, after] = text.data.split(/(\[[^\][]*,\u00a0)([^\][]*\])/);
      if (!high) continue;
      const interval = Object.assign(document.createElement("span"), { className: "vn-interval" });
      interval.append(low, document.createElement("wbr"), high);
      text.replaceWith(before, interval, after);
    }
  }
  function lay(table) {
    if (!table.parentElement.clientWidth) return; // folded
    table.classList.remove("vn-stacked", "vn-tight", "vn-small");
    for (const copy of copies.get(table) ?? []) copy.remove();
    if (copies.delete(table)) keep(table);
    const room = table.parentElement.clientWidth, wide = () => table.getBoundingClientRect().width > room + 1;
    const tall = room < 450 && [...table.tBodies[0].rows].some((row) => row.offsetHeight > 200);
    if (room >= 600 && wide()) table.classList.add("vn-tight");
    if (root.matches(".vn-paper") && wide() && table.matches(".dataframe")) { // whole in small type, rather than in parts
      loosen(table);
      table.classList.add("vn-small");
      const fits = SMALL.some((size) => {
        table.style.setProperty("--small", `${size}rem`);
        return !wide();
      });
      if (!fits) table.classList.remove("vn-small");
    }
    if (room >= 600 && wide() && table.matches(".dataframe")) divide(table, room);
    table.classList.toggle("vn-stacked", wide() || tall);
  }
  function stack() {
    tables.forEach(lay);
    for (const box of boxes) {
      fit(box);
      cut(box);
    }
  }
  // What is wider or higher than its box fades where it goes on, and a long table can be shown whole.
  const boxes = [...document.querySelectorAll(".bd-content :is(.vn-table, .vn-pan)")].filter((one) => !one.closest(".vn-explorer"));
  const presses = new Map();
  function fit(box) { // no box ends within a row, and none hides a single one
    box.style.removeProperty("--rows");
    if (!box.matches(".vn-table") || box.scrollHeight <= box.clientHeight + 2) return;
    const top = box.getBoundingClientRect().top - box.scrollTop;
    const ends = [...box.querySelectorAll("tbody tr")].map((row) => row.getBoundingClientRect().bottom - top);
    const seen = ends.filter((end) => end <= box.clientHeight), last = seen.at(-1);
    if (ends.length - seen.length === 1) box.style.setProperty("--rows", "none");
    else if (last) box.style.setProperty("--rows", `${Math.ceil(last) + box.offsetHeight - box.clientHeight}px`);
  }
  function cut(box) {
    if (!box.clientWidth) return; // folded
    const beside = box.scrollWidth - box.clientWidth, below = box.scrollHeight - box.clientHeight;
    box.classList.toggle("vn-moves", beside > 2);
    box.classList.toggle("vn-beside", beside - box.scrollLeft > 2);
    box.classList.toggle("vn-below", below - box.scrollTop > 2);
    const press = presses.get(box);
    if (!press) return;
    press.hidden = !box.matches(".vn-whole") && below <= 2;
    press.say(); // parts may have come or gone
  }
  for (const box of boxes) {
    box.addEventListener("scroll", () => cut(box), { passive: true });
    const rows = box.querySelector("table")?.tBodies[0]?.rows.length;
    if (!rows) continue;
    const press = Object.assign(document.createElement("button"), { type: "button", className: "vn-larger vn-rows", hidden: true });
    const say = () => {
      const open = box.matches(".vn-whole");
      const all = box.querySelectorAll("table").length > 1 ? "all rows and columns" : `all ${rows} rows`;
      press.textContent = open ? "Show fewer rows" : `Show ${all}`;
      press.setAttribute("aria-expanded", open);
      press.setAttribute("aria-label", `${press.textContent}: ${box.getAttribute("aria-label") ?? "table"}`);
    };
    press.say = say;
    press.addEventListener("click", () => {
      box.classList.toggle("vn-whole");
      box.scrollTop = 0;
      say();
      cut(box);
      press.scrollIntoView({ block: "nearest" });
    });
    say();
    presses.set(box, press);
    box.after(press);
  }
  window.addEventListener("load", stack);
  window.addEventListener("resize", stack);
  let width; // of the column, which may find its own only after the window has
  const column = document.querySelector(".bd-article");
  if (column) new ResizeObserver(([{ contentRect }]) => {
    if (width && width !== contentRect.width) stack();
    ({ width } = contentRect);
  }).observe(column);
  document.addEventListener("toggle", stack, true);

  function reveal() {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    let opened = false;
    for (let fold = target?.closest("details.vn-fold:not([open])"); fold; fold = fold.parentElement.closest("details.vn-fold:not([open])")) {
      fold.open = opened = true;
    }
    if (opened) target.scrollIntoView();
  }
  window.addEventListener("hashchange", reveal);
  reveal();

  // Marks after a formula stay on its line.
  for (const formula of document.querySelectorAll(".bd-content span.math")) {
    const after = formula.nextSibling;
    const marks = after?.nodeType === Node.TEXT_NODE && /^[.,;:!?)\]’”]+/.exec(after.data)?.[0];
    if (!marks) continue;
    after.deleteData(0, marks.length);
    const line = Object.assign(document.createElement("span"), { className: "vn-line" });
    formula.replaceWith(line);
    line.append(formula, marks);
  }

  // On paper nothing can be opened, and the ground is white.
  let shut = [], theme;
  window.addEventListener("beforeprint", () => {
    shut = [...document.querySelectorAll("details:not(.hide, .vn-numbers, [open])")];
    for (const one of shut) one.open = true;
    for (const head of document.querySelectorAll(".bd-content th[rowspan]")) head.parentElement.classList.toggle("vn-many", head.rowSpan > 30);
    root.classList.add("vn-paper"); // which is narrow, and tables are small: some need not be stacked, some must
    ({ theme } = root.dataset);
    if (theme) root.dataset.theme = "light";
    stack();
  });
  window.addEventListener("afterprint", () => {
    for (const one of shut) one.open = false;
    root.classList.remove("vn-paper");
    stack();
    if (theme) root.dataset.theme = theme;
    shut = [];
  });
});
