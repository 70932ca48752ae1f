// Terms of the glossary say what they mean: at the pointer, with the focus, or by a tap; a second tap follows the link.
document.addEventListener("DOMContentLoaded", () => {
  "use strict";
  const GAP = 6, LINGER = 200; // pixels to the term, milliseconds to reach the text with the pointer
  let link = null, leaving = 0;
  const said = (one) => document.getElementById(one.getAttribute("aria-describedby"));

  function hide() {
    clearTimeout(leaving);
    if (link) said(link).hidden = true;
    link = null;
  }
  function show(one) {
    clearTimeout(leaving);
    if (one === link) return;
    hide();
    link = one;
    const box = said(one), at = one.getClientRects()[0];
    document.body.append(box); // out of what would cut it off
    box.hidden = false;
    const { width, height } = box.getBoundingClientRect(), wide = document.documentElement.clientWidth;
    const below = at.bottom + GAP + height <= innerHeight || at.top < height + GAP;
    box.style.left = `${Math.max(GAP, Math.min(at.left, wide - width - GAP)) + scrollX}px`;
    box.style.top = `${(below ? at.bottom + GAP : at.top - GAP - height) + scrollY}px`;
  }
  const leave = () => { leaving = setTimeout(hide, LINGER); };

  for (const one of document.querySelectorAll(".vn-term")) {
    let open = false, touched = false;
    one.addEventListener("pointerenter", (event) => { if (event.pointerType === "mouse") show(one); });
    one.addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse") leave(); });
    one.addEventListener("pointerdown", (event) => { touched = event.pointerType !== "mouse"; open = one === link; });
    one.addEventListener("focus", () => show(one));
    one.addEventListener("blur", hide);
    one.addEventListener("click", (event) => {
      if (touched && !open) { event.preventDefault(); show(one); }
      touched = false;
    });
    said(one).addEventListener("pointerenter", () => clearTimeout(leaving));
    said(one).addEventListener("pointerleave", leave);
  }
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); }, true);
  document.addEventListener("pointerdown", (event) => {
    if (link && !event.target.closest(".vn-term, .vn-said")) hide();
  });
});
