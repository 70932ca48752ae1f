// What the theme leaves out for readers who use a keyboard or hear the page.
document.addEventListener("DOMContentLoaded", () => {
  for (const summary of document.querySelectorAll(".bd-sidebar summary")) {
    const link = summary.closest("li")?.querySelector("a");
    summary.setAttribute("aria-label", `Pages under ${link?.textContent.trim() ?? "this one"}`);
  }
  // The parameters of a signature are no definitions.
  for (const list of document.querySelectorAll("dt.sig dl")) {
    list.setAttribute("role", "list");
    list.querySelectorAll(":scope > dd").forEach((item) => item.setAttribute("role", "listitem"));
  }
  // Entries of a bibliography are items of its list; their own role is no longer one that a list may hold.
  for (const entry of document.querySelectorAll(".citation-list > .citation")) entry.setAttribute("role", "listitem");
  // The contents, which lie over the page on phones, go away when a place on this page is chosen.
  const contents = document.getElementById("pst-secondary-sidebar-modal");
  contents?.addEventListener("click", (event) => { if (event.target.closest("a[href^='#']")) contents.close(); });
  const wide = ".cell_output .text_html, .pst-scrollable-table-container, .bd-content pre, mjx-container[display], span.math, .sd-card-body, .vn-pan";
  const reach = () => {
    for (const box of document.querySelectorAll(wide)) {
      if (box.scrollWidth > box.clientWidth || box.scrollHeight > box.clientHeight + 1) box.tabIndex = 0;
      else if (box.tabIndex === 0 && !box.hasAttribute("aria-describedby")) box.removeAttribute("tabindex");
    }
  };
  window.addEventListener("load", reach);
  window.addEventListener("resize", reach);
  document.addEventListener("toggle", reach, true); // what is folded has no width
});
