// Tables of a leaderboard: sorts by any column, and says so to those who listen.
"use strict";
(() => {
  const status = document.getElementById("sorted");
  for (const table of document.querySelectorAll("table.board")) {
    sortable(table, (header, direction) => {
      const column = header.textContent.replace(/\s+/g, " ").trim();
      status.textContent = `${table.dataset.title}: sorted by ${column}, ${direction}`;
    });
  }
})();
