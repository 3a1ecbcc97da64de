// Tables of a leaderboard: sorts by any column, numbers as numbers with nulls last, and says so to those who listen.
"use strict";
(() => {
  const status = document.getElementById("sorted");

  const keyOf = (row, column, numeric) => {
    const cell = row.cells[column];
    if (!numeric) return cell.textContent.trim();
    return cell.dataset.sort === "" ? null : Number(cell.dataset.sort);
  };

  for (const table of document.querySelectorAll("table.board")) {
    const body = table.tBodies[0];
    const headers = [...table.tHead.rows[0].cells];
    const rows = [...body.rows].map((row, place) => ({ row, place }));

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
        return sign * (order || a.place - b.place);
      });
      body.append(...keyed.map((entry) => entry.row));
      for (const other of headers) other.removeAttribute("aria-sort");
      header.setAttribute("aria-sort", direction);
      status.textContent = `${table.dataset.title}: sorted by ${header.textContent.replace(/\s+/g, " ").trim()}, ${direction}`;
    };

    headers.forEach((header, column) => header.querySelector("button").addEventListener("click", () => sortBy(column)));
  }
})();
