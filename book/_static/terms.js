// Terms of the glossary and symbols of formulas say what they mean: at the pointer, with the focus, or by a tap. A second tap on a
// term follows the link. A formula with the focus says what all its symbols mean.
{
  "use strict";
  const GAP = 6, LINGER = 200, NEAR = 3; // pixels to what is explained, milliseconds to reach the text with the pointer, pixels around a symbol
  const MARKED = "g[class^=vn-symbol-]", SPLIT = /^\\begin\{split\}([^]*)\\end\{split\}$/;
  let shown = null, box = null, leaving = 0;

  function hide() {
    clearTimeout(leaving);
    shown?.classList.remove("vn-shown");
    if (box) box.hidden = true;
    shown = box = null;
  }
  const leave = () => { clearTimeout(leaving); leaving = setTimeout(hide, LINGER); };
  function show(one, text, at) {
    clearTimeout(leaving);
    if (one === shown) return;
    hide();
    [shown, box] = [one, text];
    one.classList.add("vn-shown");
    document.body.append(box); // out of what would cut it off
    box.hidden = false;
    const { width, height } = box.getBoundingClientRect(), wide = document.documentElement.clientWidth;
    const below = at.bottom + GAP + height <= innerHeight || at.top < height + GAP;
    box.style.left = `${Math.max(GAP, Math.min(at.left, wide - width - GAP)) + scrollX}px`;
    box.style.top = `${(below ? at.bottom + GAP : at.top - GAP - height) + scrollY}px`;
  }
  function stays(text) {
    text.addEventListener("pointerenter", () => clearTimeout(leaving));
    text.addEventListener("pointerleave", leave);
  }

  function term(one) {
    const text = document.getElementById(one.getAttribute("aria-describedby"));
    const tell = () => show(one, text, one.getClientRects()[0]);
    let open = false, touched = false;
    one.addEventListener("pointerenter", (event) => { if (event.pointerType === "mouse") tell(); });
    one.addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse") leave(); });
    one.addEventListener("pointerdown", (event) => { touched = event.pointerType !== "mouse"; open = one === shown; });
    one.addEventListener("focus", tell);
    one.addEventListener("blur", hide);
    one.addEventListener("click", (event) => {
      if (touched && !open) { event.preventDefault(); tell(); }
      touched = false;
    });
    stays(text);
  }

  const all = document.createElement("div"); // what the symbols of a formula mean
  all.className = "vn-said vn-all-said";
  stays(all);

  // A symbol takes up what stands above and below it, too.
  const around = (mark) => (/^msu/.test(mark.parentNode.dataset.mmlNode) ? mark.parentNode : mark).getBoundingClientRect();
  const meaning = (mark) => document.getElementById(mark.getAttribute("class").split(" ")[0]);

  function formula(one) {
    const marks = [...one.querySelectorAll(MARKED)], texts = [...new Set(marks.map(meaning))];
    if (!marks.length) return;
    one.setAttribute("aria-describedby", texts.map((each) => each.id).join(" "));
    one.tabIndex = 0;
    // The smallest one at a point, or the nearest.
    function at(event, near) {
      const { clientX: x, clientY: y } = event;
      const found = marks.map((mark) => {
        const part = around(mark);
        const away = Math.hypot(Math.max(part.left - x, x - part.right, 0), Math.max(part.top - y, y - part.bottom, 0));
        return { mark, part, away, size: part.width * part.height };
      }).filter((each) => each.away <= near);
      return found.sort((a, b) => a.away - b.away || a.size - b.size)[0];
    }
    function tell(event, near) {
      const found = at(event, near);
      if (found) show(found.mark, meaning(found.mark), found.part);
      else if (one.contains(shown)) leave();
    }
    one.addEventListener("pointermove", (event) => { if (event.pointerType === "mouse") tell(event, NEAR); });
    one.addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse" && one.contains(shown)) leave(); });
    one.addEventListener("click", (event) => { if (event.pointerType !== "mouse") tell(event, 5 * NEAR); });
    one.addEventListener("focus", () => {
      if (!one.matches(":focus-visible")) return;
      all.replaceChildren(...texts.map((each) => {
        const line = document.createElement("p");
        line.append(...each.cloneNode(true).childNodes);
        return line;
      }));
      show(one, all, one.querySelector("svg").getBoundingClientRect());
    });
    one.addEventListener("blur", hide);
  }

  // MathJax draws formulas in which symbols are marked instead of those that stand in the page.
  function mark(formulas) {
    const data = document.getElementById("vn-formulas");
    const marked = data ? JSON.parse(data.textContent) : {};
    for (const one of formulas) {
      const tex = one.math.trim(), inner = SPLIT.exec(tex)?.[1] ?? tex;
      const found = marked[inner.trim().replace(/\s+/g, " ")];
      if (found) one.math = tex.replace(inner, () => found);
    }
  }
  const actions = {
    vnMark: [15, ({ math }) => mark(math), () => {}],
    vnExplain: [210, ({ math }) => { for (const one of math) formula(one.typesetRoot); }, () => {}],
  };
  window.MathJax = { ...window.MathJax, options: { ...window.MathJax?.options, renderActions: actions } };

  document.addEventListener("DOMContentLoaded", () => {
    document.querySelectorAll(".vn-term").forEach(term);
    document.querySelectorAll("p.vn-said[id^=vn-symbol-]").forEach(stays);
  });
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); }, true);
  document.addEventListener("pointerdown", (event) => {
    if (shown && !event.target.closest(".vn-term, .vn-said, mjx-container")) hide();
  });
}
