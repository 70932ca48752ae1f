// Tables that are sorted by a click on a column, and folded parts that open for links, searches and printing.
document.addEventListener("DOMContentLoaded", () => {
  "use strict";

  // The number a cell begins with, such as 5.1e-7 in "5.1e-7 [4.3e-7, 5.2e-7]"; else its text.
  const value = (cell) => {
    const text = (cell?.textContent ?? "").trim();
    const number = /^[-−+]?[\d,]*\.?\d+(e[-−+]?\d+)?/i.exec(text);
    return number ? Number(number[0].replaceAll(",", "").replaceAll("−", "-")) : text;
  };
  const order = (a, b) => {
    if (typeof a === typeof b) return typeof a === "number" ? a - b : a.localeCompare(b);
    return typeof a === "number" ? -1 : 1; // numbers first, then words and gaps
  };

  function sortable(table) {
    const body = table.tBodies[0], heads = [...(table.tHead?.rows ?? [])];
    // Rows that share a cell belong together.
    if (!body || body.rows.length < 3 || body.querySelector("[rowspan]:not([rowspan='1'])")) return;
    const leaves = heads.filter((row) => row.querySelector(".col_heading")).at(-1);
    [...(leaves?.cells ?? [])].forEach((head, column) => {
      if (!head.matches(".col_heading") || head.colSpan > 1) return;
      const button = Object.assign(document.createElement("button"), { type: "button", className: "vn-sort" });
      button.append(...head.childNodes);
      button.title = "Sort by this column";
      head.append(button);
      button.addEventListener("click", () => {
        const up = head.getAttribute("aria-sort") !== "ascending";
        for (const other of leaves.cells) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", up ? "ascending" : "descending");
        const rows = [...body.rows].map((row) => [value(row.cells[column]), row]);
        rows.sort(([a], [b]) => (up ? order(a, b) : typeof a === typeof b ? order(b, a) : order(a, b)));
        body.append(...rows.map(([, row]) => row));
      });
    });
  }
  document.querySelectorAll("table.dataframe").forEach(sortable);

  const folds = [...document.querySelectorAll("details.vn-fold")];
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
  window.addEventListener("beforeprint", () => folds.forEach((fold) => { fold.open = true; }));
});
