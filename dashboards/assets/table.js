// The table of arms: sorts, filters by text, unfolds categories and further metrics.
"use strict";
(() => {
  const table = document.getElementById("arms-table");
  const rows = [...table.tBodies[0].rows].map((row) => ({ row, text: row.textContent.toLowerCase() }));
  const filter = document.getElementById("filter");
  const categories = document.getElementById("show-categories");
  const allColumns = document.getElementById("show-all");
  const shown = document.getElementById("shown");

  const refresh = () => {
    const wanted = filter.value.trim().toLowerCase();
    const pool = rows.filter((entry) => categories.checked || !("part" in entry.row.dataset));
    const kept = new Set(pool.filter((entry) => entry.text.includes(wanted)).map((entry) => entry.row));
    for (const { row } of rows) row.hidden = !kept.has(row);
    table.classList.toggle("with-categories", categories.checked);
    table.classList.toggle("all-columns", allColumns.checked);
    shown.textContent = `${kept.size} of ${pool.length} rows`;
  };

  sortable(table);
  filter.addEventListener("input", refresh);
  categories.addEventListener("change", refresh);
  allColumns.addEventListener("change", refresh);
  const parts = rows.some((entry) => "part" in entry.row.dataset);
  categories.closest("label").hidden = !parts;
  document.querySelector(".controls").hidden = false;
  refresh();
})();
