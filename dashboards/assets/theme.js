// Light or dark: the reader's choice if there is one, else what the system prefers. Runs before anything is painted.
"use strict";
(() => {
  const root = document.documentElement;
  root.classList.add("scripted");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const remembered = () => {
    try {
      return localStorage.getItem("draftmark-theme");
    } catch {
      return null; // some browsers give local files no storage
    }
  };
  const choose = (theme) => {
    root.dataset.theme = theme;
    try {
      localStorage.setItem("draftmark-theme", theme);
    } catch {
      // the choice lasts as long as the page is open
    }
  };
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  const announce = () => document.dispatchEvent(new CustomEvent("draftmark:theme"));

  const chosen = remembered();
  if (chosen === "dark" || chosen === "light") root.dataset.theme = chosen;

  document.addEventListener("DOMContentLoaded", () => {
    const button = document.getElementById("theme");
    const relabel = () => {
      button.textContent = isDark() ? "Light" : "Dark";
      button.setAttribute("aria-label", `Switch to ${isDark() ? "light" : "dark"} colours`);
    };
    button.hidden = false;
    relabel();
    button.addEventListener("click", () => {
      choose(isDark() ? "light" : "dark");
      relabel();
      announce();
    });
    system.addEventListener("change", () => {
      relabel();
      announce();
    });
  });
})();
