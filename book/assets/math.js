// Equations and figures on narrow screens: an equation that is a little too wide is set smaller; one that is wider breaks after its commas, then, if need be, before its relations
// and its sums, and is set smaller, down to a size that can still be read. What is wider even then scrolls, as figures do.
(() => {
  const SMALLEST = 0.66, RELATIONS = /^[=≈≃∼~∝≤≥<>≪≫≡→←⟶⇒∈]$/u, SUMS = /^[+−±-]$/u;
  const wide = (box) => box.scrollWidth > box.clientWidth + 1;

  /** What holds the parts of a formula in one line. */
  function line(box) {
    let row = box.querySelector("mjx-math");
    while (row.children.length === 1 && /^mjx-(mrow|texatom|mstyle|mpadded)$/i.test(row.firstElementChild.tagName)) row = row.firstElementChild;
    return row;
  }

  /** The sign that an operator shows; MathJax writes it as a class, with the number of the character. */
  function sign(part) {
    const code = part.tagName === "MJX-MO" && /mjx-c([0-9A-F]+)/.exec(part.querySelector("mjx-c")?.className ?? "");
    return code ? String.fromCodePoint(parseInt(code[1], 16)) : "";
  }

  function breakAt(box, before) {
    const row = line(box), all = [...row.children];
    row.classList.add("dm-broken");
    all.forEach((part, i) => {
      if (i === 0 || !before(part, all[i - 1]) || part.previousElementSibling?.className === "dm-break") return;
      const at = document.createElement("span");
      at.className = "dm-break";
      at.textContent = "\u200b";
      part.before(at);
    });
  }

  function fit(box) {
    for (const at of box.querySelectorAll(".dm-break")) at.remove();
    line(box).classList.remove("dm-broken");
    box.style.fontSize = box.dataset.size ??= box.style.fontSize; // MathJax fits it to the letters around
    if (!box.clientWidth || !wide(box)) return;
    const size = parseFloat(getComputedStyle(box).fontSize), little = (0.98 * box.clientWidth) / box.scrollWidth;
    if (little > 0.85) box.style.fontSize = `${size * little}px`; // a little too wide: whole, and a little smaller
    const ways = [
      () => breakAt(box, (part, last) => sign(last) === "," || part.tagName === "MJX-MSPACE"),
      () => breakAt(box, (part) => RELATIONS.test(sign(part))),
      () => breakAt(box, (part) => SUMS.test(sign(part))),
      () => (box.style.fontSize = `${size * Math.max(SMALLEST, (0.98 * box.clientWidth) / box.scrollWidth)}px`),
    ];
    for (const way of ways) if (wide(box)) way();
  }

  /** A picture that scrolls is reached by the keyboard. */
  function reach(picture) {
    if (wide(picture)) picture.setAttribute("tabindex", "0");
    else picture.removeAttribute("tabindex");
  }

  // Each is laid out anew whenever its own size changes, whatever changed it: MathJax, a screen, a fold that opens, a sidebar
  // that the theme shows some time after the screen grew. Not within the observer, which must not change what it observes.
  const observer = new ResizeObserver((changes) => requestAnimationFrame(() => changes.forEach(({ target }) => layOut(target))));
  const equations = () => document.querySelectorAll("div.math");
  function layOut(part) {
    if (part.matches(".deepmech-picture")) reach(part);
    else part.querySelectorAll('mjx-container[display="true"]').forEach(fit);
  }

  addEventListener("load", () => {
    for (const part of document.querySelectorAll("div.math, figure .deepmech-picture")) observer.observe(part);
    globalThis.MathJax?.startup?.promise?.then(() => {
      MathJax.startup.document.menu?.menu.findID("Settings", "Renderer")?.hide(); // the book brings one
      equations().forEach(layOut);
    });
    document.fonts.addEventListener("loadingdone", () => equations().forEach(layOut)); // letters come late, with widths of their own
  });
})();
