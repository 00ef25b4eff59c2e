// The scoreboard's claims by words, paper, verdict and kind. Without this file they stand in their folds, figure by figure. It
// reads what stands there and needs nothing else, so that it works from disk.
(() => {
  "use strict";
  const board = document.querySelector("section#scoreboard");
  const papers = [...board.querySelectorAll("section:has(> h2)")].filter((paper) => paper.querySelector(".dm-claim"));
  if (!papers.length) return;
  const claims = papers.flatMap((paper, i) => [...paper.querySelectorAll(".dm-claim")].map((claim) => ({
    claim, paper: i, words: claim.textContent.toLowerCase(), verdict: claim.querySelector(".dm-verdict").lastChild.data.trim(),
  })));

  const make = (tag, properties, ...inside) => {
    const element = Object.assign(document.createElement(tag), properties);
    element.append(...inside);
    return element;
  };
  const choice = (label, options) => {
    const select = make("select", {}, make("option", { value: "" }, "all"));
    select.append(...options.map(([value, words]) => make("option", { value }, words)));
    return [select, make("label", {}, label, select)];
  };
  // "trivial in 1 of 4" is one verdict with "holds trivially".
  const kind = (verdict) => (verdict.startsWith("trivial") ? "holds trivially" : verdict);
  const counted = new Map();
  for (const { verdict } of claims) counted.set(kind(verdict), (counted.get(kind(verdict)) ?? 0) + 1);
  const words = make("input", { type: "search", autocomplete: "off", spellcheck: false });
  const [paper, ofPaper] = choice("Paper", papers.map((p, i) => [String(i), p.querySelector("h2").firstChild.textContent.trim()]));
  const [verdict, ofVerdict] = choice("Verdict", [...counted].map(([v, n]) => [v, `${v} (${n})`]));
  const [which, ofWhich] = choice("Which", [["dm-main", "main claims"], ["dm-check", "checks"]]);
  const found = make("output", {});
  const controls = make("form", { className: "dm-sieve" }, make("label", {}, "Words", words), ofPaper, ofVerdict, ofWhich,
    make("button", { type: "reset" }, "Show all"), found);
  controls.setAttribute("role", "search");
  controls.setAttribute("aria-label", "Claims");

  let sifted = false;
  const sift = () => {
    const wanted = words.value.toLowerCase().split(/\s+/).filter(Boolean);
    const all = !wanted.length && !paper.value && !verdict.value && !which.value;
    let n = 0;
    for (const one of [...claims].reverse()) { // rows of a claim stand inside it, after it
      const fits = wanted.every((word) => one.words.includes(word)) && (!paper.value || one.paper === +paper.value)
        && (!verdict.value || kind(one.verdict) === verdict.value) && (!which.value || one.claim.classList.contains(which.value));
      const rows = one.claim.querySelector(".dm-claim:not([hidden])") !== null;
      one.claim.hidden = !fits && !rows;
      if (rows && (!all || sifted)) one.claim.open = !all && !fits;
      n += fits;
    }
    // Folds and papers without a claim that fits step aside; the others open, so that one sees what was found.
    for (const fold of board.querySelectorAll(".dm-group")) {
      const fits = fold.querySelector(".dm-claim:not([hidden])") !== null;
      fold.hidden = !all && !fits;
      if (!all || sifted) fold.open = !all && fits;
    }
    sifted = !all;
    for (const p of papers) p.hidden = !all && !p.querySelector(".dm-claim:not([hidden])");
    found.textContent = n === claims.length ? `${n} claims` : `${n} of ${claims.length} claims`;
  };

  controls.addEventListener("input", sift);
  controls.addEventListener("submit", (event) => event.preventDefault());
  controls.addEventListener("reset", () => setTimeout(sift)); // after the fields are empty
  addEventListener("pageshow", sift); // a browser that comes back fills the fields as they were
  board.insertBefore(controls, papers[0]);
  sift();
  // Whoever comes for one claim finds it open.
  const sought = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  for (let at = sought; at; at = at.parentElement.closest("details")) at.open = true;
  sought?.scrollIntoView();
})();
