// Tables wider than their box: says how many columns are out of sight at the right, and brings them into view.
"use strict";
(() => {
  for (const wide of document.querySelectorAll(".wide")) {
    const hint = wide.querySelector(".hint");
    const box = wide.querySelector(".scroll");
    const table = box.querySelector("table");

    const look = () => {
      const room = box.scrollWidth - box.clientWidth;
      const edge = box.getBoundingClientRect().right;
      const shown = [...table.tHead.rows[0].cells].filter((cell) => cell.getClientRects().length);
      const beyond = shown.filter((cell) => cell.getBoundingClientRect().right > edge + 2).length;
      const more = room > 1 && box.scrollLeft < room - 1;
      hint.hidden = room <= 1;
      hint.textContent = more ? `${beyond} more ${beyond === 1 ? "column" : "columns"} →` : "← back";
      wide.classList.toggle("more", more);
    };

    hint.addEventListener("click", () => {
      const more = wide.classList.contains("more");
      box.scrollTo({ left: more ? box.scrollLeft + 0.6 * box.clientWidth : 0, behavior: "smooth" });
    });
    box.addEventListener("scroll", look, { passive: true });
    const watcher = new ResizeObserver(look);
    watcher.observe(box);
    watcher.observe(table);
  }
})();
