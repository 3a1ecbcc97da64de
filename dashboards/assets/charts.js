// Draws the charts from the JSON beside them when they come near the view, in the colours of the present theme.
"use strict";
(() => {
  const plots = [...document.querySelectorAll(".plot")];
  const figures = new WeakMap();
  // No bar of buttons over the labels: the caption's own button saves the picture.
  const config = { responsive: true, displayModeBar: false };

  // A custom property may hold light-dark(); only a real element resolves it.
  const probe = document.createElement("span");
  probe.hidden = true;
  document.body.append(probe);
  const resolved = (variable) => {
    probe.style.color = variable;
    return getComputedStyle(probe).color;
  };

  // Only keys of colours are read as CSS variables, so no name from a run can be taken for one.
  const themed = (node, key, memory) => {
    if (Array.isArray(node)) return node.map((item) => themed(item, key, memory));
    if (node !== null && typeof node === "object") {
      return Object.fromEntries(Object.entries(node).map(([name, value]) => [name, themed(value, name, memory)]));
    }
    if (typeof node !== "string" || !key.endsWith("color") || !/^var\(--[a-z0-9-]+\)$/.test(node)) return node;
    if (!memory.has(node)) memory.set(node, resolved(node));
    return memory.get(node);
  };

  const draw = async (plot) => {
    try {
      if (!figures.has(plot)) {
        figures.set(plot, JSON.parse(plot.nextElementSibling.textContent));
        plot.textContent = "";
      }
      const figure = themed(figures.get(plot), "", new Map());
      await Plotly.react(plot, figure.data, figure.layout, config);
      plot.dataset.drawn = "yes";
      plot.parentElement.querySelector(".save").hidden = false;
    } catch (fault) {
      plot.textContent = `This chart could not be drawn: ${fault.message}. Its numbers are in the table.`;
    }
  };

  const watcher = new IntersectionObserver(
    (entries) => {
      for (const entry of entries) {
        if (!entry.isIntersecting) continue;
        watcher.unobserve(entry.target);
        draw(entry.target);
      }
    },
    { rootMargin: "800px" },
  );
  for (const plot of plots) watcher.observe(plot);

  for (const plot of plots) {
    plot.parentElement.querySelector(".save").addEventListener("click", () => {
      const name = plot.getAttribute("aria-label").replace(/[^A-Za-z0-9]+/g, "-").slice(0, 80);
      Plotly.downloadImage(plot, { format: "svg", filename: name, width: plot.clientWidth, height: plot.clientHeight });
    });
  }

  document.addEventListener("draftmark:theme", () => {
    for (const plot of plots) if (plot.dataset.drawn) draw(plot);
  });
  addEventListener("beforeprint", () => {
    for (const folded of document.querySelectorAll(".why")) folded.open = true;
    for (const plot of plots) if (!plot.dataset.drawn) draw(plot);
  });
})();
