// The scoreboard's claims by words, paper and verdict, and in the order of a column. Without this file they are plain
// tables. It reads what stands in them and needs nothing else, so that it works from disk.
(() => {
  "use strict";
  const board = document.querySelector("section#scoreboard");
  const columns = (table) => [...(table.tHead?.rows[0].cells ?? [])].map((cell) => cell.textContent.trim());
  const tables = [...board.querySelectorAll("table")].filter((table) => columns(table)[0] === "claim");
  if (!tables.length) return;
  const names = columns(tables[0]);
  const papers = tables.map((table) => table.closest("section:has(> h2)"));
  const heading = (paper) => paper.querySelector("h2").firstChild.textContent.trim();
  const rows = tables.flatMap((table, paper) =>
    [...table.tBodies[0].rows].map((row, place) => ({
      row, paper, place,
      words: row.textContent.toLowerCase(),
      verdict: row.cells[names.indexOf("verdict")].textContent.trim(),
    })));

  const make = (tag, properties, ...inside) => {
    const element = Object.assign(document.createElement(tag), properties);
    element.append(...inside);
    return element;
  };
  const choice = (label, everything, options) => {
    const select = make("select", {}, make("option", { value: "" }, everything));
    select.append(...options.map(([value, words]) => make("option", { value }, words)));
    return [select, make("label", {}, label, select)];
  };
  const counted = new Map();
  for (const { verdict } of rows) counted.set(verdict, (counted.get(verdict) ?? 0) + 1);
  const words = make("input", { type: "search", autocomplete: "off", spellcheck: false });
  const [paper, ofPaper] = choice("Paper", "all", papers.map((p, i) => [String(i), heading(p)]));
  const [verdict, ofVerdict] = choice("Verdict", "all", [...counted].map(([v, n]) => [v, `${v} (${n})`]));
  const found = make("output", {});
  const controls = make("form", { className: "dm-sieve" }, make("label", {}, "Words", words), ofPaper, ofVerdict,
    make("button", { type: "reset" }, "Show all"), found);
  controls.setAttribute("role", "search");
  controls.setAttribute("aria-label", "Claims");

  const sift = () => {
    const wanted = words.value.toLowerCase().split(/\s+/).filter(Boolean);
    const all = !wanted.length && !paper.value && !verdict.value;
    const shown = papers.map(() => 0);
    for (const one of rows) {
      const fits = wanted.every((word) => one.words.includes(word)) && (!paper.value || one.paper === +paper.value)
        && (!verdict.value || one.verdict === verdict.value);
      one.row.hidden = !fits;
      shown[one.paper] += fits;
    }
    papers.forEach((section, i) => {
      section.hidden = !all && !shown[i];
      // The tables of figures have no verdicts: they step aside while one looks for claims.
      for (const part of section.querySelectorAll(":scope > section")) {
        part.hidden = !all && !part.contains(tables[i]);
      }
    });
    const n = shown.reduce((a, b) => a + b);
    found.textContent = n === rows.length ? `${n} rows` : `${n} of ${rows.length} rows`;
  };

  // A number as printed: its first digits, a true minus sign, perhaps an interval behind it.
  const number = (text) => parseFloat(text.replace(/−/g, "-").replace(/,/g, ""));
  const sort = (column, way) => {
    const text = ({ row }) => row.cells[column].textContent.trim();
    const numeric = ["ours", "null", "seeds"].includes(names[column]);
    const compare = (a, b) => {
      if (!way) return a.place - b.place;
      if (!numeric) return way * text(a).localeCompare(text(b), "en", { numeric: true }) || a.place - b.place;
      const [x, y] = [number(text(a)), number(text(b))];
      if (isNaN(x) || isNaN(y)) return isNaN(x) - isNaN(y) || a.place - b.place; // those without a number come last
      return way * (x - y) || a.place - b.place;
    };
    tables.forEach((table, i) => {
      table.tBodies[0].append(...rows.filter((one) => one.paper === i).sort(compare).map((one) => one.row));
      [...table.tHead.rows[0].cells].forEach((head, c) => {
        if (c === column && way) head.setAttribute("aria-sort", way > 0 ? "ascending" : "descending");
        else head.removeAttribute("aria-sort");
      });
    });
  };
  for (const table of tables) {
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      const button = make("button", { type: "button", title: "sort" }, names[column]);
      button.addEventListener("click", () => {
        const now = head.getAttribute("aria-sort");
        sort(column, now === "ascending" ? -1 : now === "descending" ? 0 : 1);
      });
      head.replaceChildren(button);
    });
  }

  controls.addEventListener("input", sift);
  controls.addEventListener("submit", (event) => event.preventDefault());
  controls.addEventListener("reset", () => setTimeout(sift)); // after the fields are empty
  addEventListener("pageshow", sift); // a browser that comes back fills the fields as they were
  board.insertBefore(controls, papers[0]);
  sift();
})();
