/* The ledger: filters and search, links into folded claims, arrow keys among dots. Without it the page is whole, and only
   the filters are missing. */

(() => {
  "use strict";

  const form = document.getElementById("vn-filters"), shown = document.getElementById("vn-shown");
  const unfold = document.getElementById("vn-unfold");
  const groups = [...document.querySelectorAll(".vn-group")];
  const dots = new Map([...document.querySelectorAll(".vn-dot")].map((dot) => [dot.getAttribute("href").slice(1), dot]));
  // What a search reads: not the words that stand in every row.
  const read = (parts) => parts.map((part) => part.textContent).join(" ").toLowerCase()
    .replace(/\b(as )?printed:|with controls:/g, "");
  // The rows of every claim; a claim that has none stands for itself.
  const entries = groups.map((group) => {
    const rows = [...group.querySelectorAll("tr[id]")], claim = group.querySelector("summary");
    const items = rows.length ? rows : [group];
    const parts = (item) => item === group ? [group] : [claim, ...item.querySelectorAll("th, .vn-says, .vn-verdict")];
    return { group, items: items.map((item) => ({ item, text: read(parts(item)) })) };
  });
  const total = entries.reduce((sum, { group, items }) => sum + items.filter(({ item }) => item !== group).length, 0);

  let filtered = false;

  function filter() {
    const wanted = Object.fromEntries(new FormData(form));
    const words = wanted.text.toLowerCase().split(/\s+/).filter(Boolean);
    const active = Boolean(words.length || wanted.paper || wanted.chapter || wanted.verdict || wanted.protocol || wanted.core);
    let found = 0;
    for (const { group, items } of entries) {
      const covered = (!wanted.paper || group.dataset.paper === wanted.paper)
        && (!wanted.chapter || group.dataset.chapter === wanted.chapter);
      let any = false;
      for (const { item, text } of items) {
        const { verdict, weight, protocol } = item.dataset;
        const keeps = covered && (!wanted.verdict || verdict === wanted.verdict) && (!wanted.core || weight === "core")
          && (!wanted.protocol || protocol.split(" ").includes(wanted.protocol)) && words.every((word) => text.includes(word));
        any ||= keeps;
        item.hidden = !keeps;
        dots.get(item.id)?.classList.toggle("vn-dimmed", !keeps);
        found += keeps && item !== group;
      }
      group.hidden = !any;
      if (active || filtered) group.open = any && active;
    }
    if (active || filtered) press(active);
    filtered = active;
    shown.textContent = active ? `${found} of ${total} statements` : `${total} statements`;
  }

  function press(open) {
    unfold.setAttribute("aria-pressed", open);
    unfold.textContent = open ? "Close all claims" : "Open all claims";
  }

  /* Show what the address names, folded or filtered out as it may be. */
  function reveal() {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const group = target?.closest(".vn-group");
    if (!group) return;
    if (target.hidden || group.hidden) {
      form.reset();
      filter();
    }
    group.open = true;
    target.scrollIntoView();
  }

  form.addEventListener("input", filter);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(filter)); // the fields are empty after this event
  unfold.addEventListener("click", () => {
    const open = unfold.getAttribute("aria-pressed") !== "true";
    for (const group of groups) group.open = open;
    press(open);
  });
  document.querySelector(".vn-matrix").addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const links = [...(event.target.closest("li")?.querySelectorAll("a") ?? [])];
    const next = step && links[links.indexOf(event.target) + step];
    if (!next) return;
    event.preventDefault();
    next.focus();
  });
  window.addEventListener("hashchange", reveal);
  document.addEventListener("click", (event) => {
    // The same address again changes nothing, but may be folded by now.
    if (event.target.closest?.("a[href^='#']")?.hash === location.hash) reveal();
  });
  form.hidden = false;
  filter();
  if (location.hash) reveal();
})();
