// Sorts a table by the column whose header is pressed: numbers as numbers, nulls last, ties as they stood on the page.
"use strict";
const sortable = (table, told = () => {}) => {
  const body = table.tBodies[0];
  const headers = [...table.tHead.rows[0].cells];
  const rows = [...body.rows].map((row, place) => ({ row, place }));

  const keyOf = (row, column, numeric) => {
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
    const keyed = rows.map((entry) => ({ ...entry, key: keyOf(entry.row, column, numeric) }));
    keyed.sort((a, b) => {
      if (a.key === null || b.key === null) return (a.key === null) - (b.key === null) || a.place - b.place;
      const order = numeric ? a.key - b.key : a.key.localeCompare(b.key, "en", { numeric: true });
      return sign * order || a.place - b.place;
    });
    body.append(...keyed.map((entry) => entry.row));
    for (const other of headers) other.removeAttribute("aria-sort");
    header.setAttribute("aria-sort", direction);
    told(header, direction);
  };

  headers.forEach((header, column) => header.querySelector("button").addEventListener("click", () => sortBy(column)));
};
