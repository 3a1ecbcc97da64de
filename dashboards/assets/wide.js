// Tables wider than their box: says how many columns are out of sight at the right, and brings them into view. A number
// is shown whole or not at all: one that the box would cut in two is left out until it has room.
"use strict";
(() => {
  for (const wide of document.querySelectorAll(".wide")) {
    const hint = wide.querySelector(".hint");
    const box = wide.querySelector(".scroll");
    const table = box.querySelector("table");
    const cuts = table.id ? new CSSStyleSheet() : null;
    if (cuts) document.adoptedStyleSheets.push(cuts);

    // Places of the columns that an edge of the box, or the column that stays in view, cuts in two.
    const cut = (cells, edge) => {
      const start = cells[0].getBoundingClientRect().right;
      return cells.flatMap((cell, place) => {
        const { left, right, width } = cell.getBoundingClientRect();
        if (place === 0 || width === 0 || width > edge - start) return [];
        const crosses = (line) => left < line - 2 && right > line + 2;
        return crosses(edge) || crosses(start) ? [place + 1] : [];
      });
    };

    const look = () => {
      const room = box.scrollWidth - box.clientWidth;
      const edge = box.getBoundingClientRect().right;
      const shown = [...table.tHead.rows[0].cells].filter((cell) => cell.getClientRects().length);
      const beyond = shown.filter((cell) => cell.getBoundingClientRect().right > edge + 2).length;
      const more = room > 1 && box.scrollLeft < room - 1;
      hint.hidden = room <= 1;
      hint.textContent = more ? `${beyond} more ${beyond === 1 ? "column" : "columns"} →` : "← back";
      wide.classList.toggle("more", more);
      if (!cuts) return;
      const hidden = room > 1 ? cut([...table.tHead.rows[0].cells], edge) : [];
      const column = (place) => `#${table.id} td:nth-child(${place}), #${table.id} thead th:nth-child(${place}) button`;
      cuts.replaceSync(hidden.length ? `@media screen { ${hidden.map(column).join()} { opacity: 0; } }` : "");
    };

    // The first column that is not whole comes to stand beside the one that stays in view.
    const next = () => {
      const [first, ...others] = [...table.tHead.rows[0].cells].filter((cell) => cell.getClientRects().length);
      const edge = box.getBoundingClientRect().right;
      const start = first.classList.contains("stick") ? first.getBoundingClientRect().right : box.getBoundingClientRect().left;
      const hidden = others.find((cell) => cell.getBoundingClientRect().right > edge + 2);
      const step = hidden ? hidden.getBoundingClientRect().left - start : 0;
      return box.scrollLeft + (step > 1 ? step : 0.6 * box.clientWidth);
    };
    hint.addEventListener("click", () => {
      box.scrollTo({ left: wide.classList.contains("more") ? next() : 0, behavior: "smooth" });
    });
    box.addEventListener("scroll", look, { passive: true });
    const watcher = new ResizeObserver(look);
    watcher.observe(box);
    watcher.observe(table);
  }
})();
