// Explanations on hover and on keyboard focus, in one box that no scrolling parent can cut off; and the copy button.
"use strict";
(() => {
  const box = document.getElementById("tip");
  for (const element of document.querySelectorAll("main [title]")) {
    element.dataset.tip = element.title;
    element.removeAttribute("title");
  }
  const hide = () => {
    box.hidden = true;
  };
  const show = (element) => {
    box.textContent = element.dataset.tip;
    box.hidden = false;
    const target = element.getBoundingClientRect();
    const own = box.getBoundingClientRect();
    const left = Math.min(Math.max(8, target.left), innerWidth - own.width - 8);
    const above = target.bottom + own.height + 10 > innerHeight;
    box.style.left = `${left}px`;
    box.style.top = `${above ? target.top - own.height - 6 : target.bottom + 6}px`;
  };
  const react = (event) => {
    const element = event.target.closest?.("[data-tip]");
    if (element && element.dataset.tip) show(element);
    else hide();
  };
  document.addEventListener("mouseover", react);
  document.addEventListener("focusin", react);
  document.addEventListener("focusout", hide);
  document.addEventListener("scroll", hide, { capture: true, passive: true });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") hide();
  });

  for (const button of document.querySelectorAll("[data-copy]")) {
    button.hidden = false;
    button.addEventListener("click", async () => {
      const source = document.getElementById(button.dataset.copy);
      try {
        await navigator.clipboard.writeText(source.textContent);
        button.textContent = "Copied";
      } catch {
        getSelection().selectAllChildren(source); // no clipboard here: the reader copies the selection
        button.textContent = "Selected";
      }
    });
  }

  const open = () => {
    const target = document.getElementById(location.hash.slice(1));
    const folded = target instanceof HTMLDetailsElement ? target : target?.querySelector(":scope > details[data-unfold]");
    if (folded) folded.open = true;
  };
  addEventListener("hashchange", open);
  open();
})();
