// The table of arms: sorts numbers as numbers with nulls last, filters by text, unfolds categories and further metrics.
"use strict";
(() => {
  const table = document.getElementById("arms-table");
  const body = table.tBodies[0];
  const headers = [...table.tHead.rows[0].cells];
  const rows = [...body.rows].map((row, place) => ({ row, place, text: row.textContent.toLowerCase() }));
  const filter = document.getElementById("filter");
  const categories = document.getElementById("show-categories");
  const allColumns = document.getElementById("show-all");
  const shown = document.getElementById("shown");

  const sortKey = (row, column, numeric) => {
    const cell = row.cells[column];
    if (!numeric) return cell.textContent.trim();
    return cell.dataset.sort === "" ? null : Number(cell.dataset.sort);
  };

  const sortBy = (column) => {
    const header = headers[column];
    const numeric = header.dataset.kind === "number";
    const first = numeric && header.dataset.better !== "lower" ? "descending" : "ascending";
    const before = header.getAttribute("aria-sort");
    const direction = before ? (before === "ascending" ? "descending" : "ascending") : first;
    const sign = direction === "ascending" ? 1 : -1;
    const keyed = rows.map((entry) => ({ ...entry, key: sortKey(entry.row, column, numeric) }));
    keyed.sort((a, b) => {
      if (a.key === null || b.key === null) return (a.key === null) - (b.key === null) || a.place - b.place;
      const order = numeric ? a.key - b.key : a.key.localeCompare(b.key, "en", { numeric: true });
      return sign * order || a.place - b.place;
    });
    body.append(...keyed.map((entry) => entry.row));
    for (const other of headers) other.removeAttribute("aria-sort");
    header.setAttribute("aria-sort", direction);
  };

  const refresh = () => {
    const wanted = filter.value.trim().toLowerCase();
    const pool = rows.filter((entry) => categories.checked || !("part" in entry.row.dataset));
    const kept = new Set(pool.filter((entry) => entry.text.includes(wanted)).map((entry) => entry.row));
    for (const { row } of rows) row.hidden = !kept.has(row);
    table.classList.toggle("with-categories", categories.checked);
    table.classList.toggle("all-columns", allColumns.checked);
    shown.textContent = `${kept.size} of ${pool.length} rows`;
  };

  headers.forEach((header, column) => header.querySelector("button").addEventListener("click", () => sortBy(column)));
  filter.addEventListener("input", refresh);
  categories.addEventListener("change", refresh);
  allColumns.addEventListener("change", refresh);
  const parts = rows.some((entry) => "part" in entry.row.dataset);
  categories.closest("label").hidden = !parts;
  document.querySelector(".controls").hidden = false;
  refresh();
})();
