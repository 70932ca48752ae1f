// Figures and schematics in full size: opened by a click, a tap or a button, moved and magnified by mouse, fingers or keys.
document.addEventListener("DOMContentLoaded", () => {
  "use strict";
  const READABLE = 720; // pixels of width that a figure has at least where it opens, unless it was drawn smaller
  const MOST = 8; // times its width when it opens
  const make = (tag, more, label) => {
    const one = Object.assign(document.createElement(tag), more);
    if (label) one.setAttribute("aria-label", label);
    return one;
  };

  const dialog = make("dialog", { className: "vn-zoom" }, "Figure in full size");
  dialog.setAttribute("aria-modal", "true");
  const bar = make("div", { className: "vn-zoom-bar" });
  const box = make("div", { className: "vn-zoom-box", tabIndex: 0 }, "Figure; arrow keys move it");
  box.setAttribute("role", "group");
  const press = (text, name, act) => {
    const button = make("button", { type: "button", textContent: text, title: name }, name);
    button.addEventListener("click", act);
    bar.append(button);
    return button;
  };
  let shown = null, from = null, first = 0, ratio = 1;

  // Magnify by a factor and keep the place at (x, y) of the box where it is.
  function magnify(factor, x = box.clientWidth / 2, y = box.clientHeight / 2) {
    if (!shown) return;
    const before = shown.getBoundingClientRect(), at = box.getBoundingClientRect();
    const width = Math.min(Math.max(before.width * factor, first / MOST), first * MOST);
    const across = (x + at.left - before.left) / before.width, down = (y + at.top - before.top) / before.height;
    shown.style.width = `${width}px`;
    const after = shown.getBoundingClientRect();
    box.scrollBy(after.left + across * after.width - at.left - x, after.top + down * after.height - at.top - y);
  }
  function fit(least) {
    const whole = Math.min(box.clientWidth, box.clientHeight * ratio);
    first = Math.max(whole, least);
    shown.style.width = `${first}px`;
    box.scrollTo(0, 0);
  }
  press("−", "Smaller", () => magnify(1 / 1.5));
  press("+", "Larger", () => magnify(1.5));
  press("Whole", "Show the whole figure", () => fit(0));
  const save = press("Save", "Save the figure as a file", () => { // of an image, browsers offer that themselves
    const svg = new Blob([new XMLSerializer().serializeToString(from)], { type: "image/svg+xml" });
    const href = URL.createObjectURL(svg);
    make("a", { href, download: `${from.closest("figure, .vn-drawn").id || "figure"}.svg` }).click();
    URL.revokeObjectURL(href);
  });
  press("Close", "Close", () => dialog.close());
  dialog.append(bar, box);
  document.body.append(dialog);
  dialog.addEventListener("close", () => { box.replaceChildren(); shown = null; fingers.clear(); });
  dialog.addEventListener("keydown", (event) => {
    const factor = { "+": 1.5, "=": 1.5, "-": 1 / 1.5 }[event.key];
    if (factor) magnify(factor);
    else if (event.key === "0") fit(0);
    else if (event.key === "Escape") dialog.close(); // the theme would keep it to itself
  });

  // One finger, or the mouse, moves the figure; two magnify it.
  const fingers = new Map();
  const spread = () => {
    const [a, b] = [...fingers.values()];
    return b ? Math.hypot(a.x - b.x, a.y - b.y) : 0;
  };
  box.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    fingers.set(event.pointerId, { x: event.clientX, y: event.clientY });
    box.setPointerCapture(event.pointerId);
  });
  box.addEventListener("pointermove", (event) => {
    const last = fingers.get(event.pointerId);
    if (!last) return;
    const before = spread();
    box.scrollBy((last.x - event.clientX) / fingers.size, (last.y - event.clientY) / fingers.size);
    fingers.set(event.pointerId, { x: event.clientX, y: event.clientY });
    if (!before) return;
    const [a, b] = [...fingers.values()], at = box.getBoundingClientRect();
    magnify(spread() / before, (a.x + b.x) / 2 - at.left, (a.y + b.y) / 2 - at.top);
  });
  for (const end of ["pointerup", "pointercancel"]) box.addEventListener(end, (event) => fingers.delete(event.pointerId));
  box.addEventListener("wheel", (event) => {
    if (!event.ctrlKey) return;
    event.preventDefault();
    const at = box.getBoundingClientRect();
    magnify(Math.exp(-event.deltaY / 300), event.clientX - at.left, event.clientY - at.top);
  }, { passive: false });

  function open(picture, sharp) {
    box.replaceChildren();
    from = picture;
    const drawn = picture instanceof SVGElement;
    save.hidden = !picture.matches(".vn-inline"); // a schematic has its colours from the page
    if (drawn) {
      shown = picture.cloneNode(true); // its title and parts are named by those of the page
      shown.querySelectorAll("[id]").forEach((one) => one.removeAttribute("id"));
      ratio = picture.viewBox.baseVal.width / picture.viewBox.baseVal.height;
    } else {
      shown = make("img", { src: sharp ?? picture.src, alt: picture.alt, draggable: false });
      ratio = picture.naturalWidth / picture.naturalHeight || 1;
      if (sharp) shown.addEventListener("error", () => { shown.src = picture.src; }, { once: true });
    }
    box.append(shown);
    dialog.showModal();
    box.focus();
    fit(Math.min(drawn ? READABLE : picture.naturalWidth, READABLE));
  }

  for (const picture of document.querySelectorAll(".bd-content figure :is(img, .vn-inline), .vn-drawn > .vn-schematic")) {
    if (picture.closest("a")) continue;
    const figure = picture.closest("figure, .vn-drawn");
    // A build for print has the drawing itself beside its picture.
    const sharp = document.querySelector(`.vn-links a[href$="/${CSS.escape(figure.id)}.svg"]`)?.href;
    const name = picture.alt || picture.ariaLabel || picture.querySelector("title")?.textContent || "figure";
    const button = make("button", { type: "button", className: "vn-larger", textContent: "Full size" }, `Full size: ${name}`);
    const show = () => open(picture, sharp);
    button.addEventListener("click", show);
    picture.addEventListener("click", () => { button.focus(); show(); });
    picture.classList.add("vn-zooms");
    (picture.closest("picture, .vn-pan") ?? picture).after(button);
  }
});
