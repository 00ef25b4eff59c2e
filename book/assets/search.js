// What is asked (KEYWORDS, which the press puts before this) first, then titles, names of functions, and texts; of names
// a function comes before the module that has its name, and the reference's own words come last.
Object.assign(Scorer, { objNameMatch: 8, objPartialMatch: 0, objPrio: { 0: -1, 1: 1, 2: -5 } });
Scorer.score = ([page, , anchor, , score]) => (page.startsWith("generated/api/") && !anchor ? score / 4 : score);

// Opened from disk, a page may not read its neighbours to show what they say about the words looked for: a script brings it.
if (location.protocol === "file:") {
  const texts = new Promise((ready) => {
    const script = document.createElement("script");
    script.src = "_static/texts.js";
    script.onload = () => ready(window.deepmechTexts);
    document.head.append(script);
  });
  window.fetch = async (page) => new Response((await texts)[page.replace(/^\.\//, "")] ?? "");
}

// The names of sections are words; Sphinx would take them for HTML.
const take = Search.setIndex;
const shown = (words) => words.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
Search.setIndex = (index) => {
  for (const part of ["alltitles", "indexentries"])
    index[part] = Object.fromEntries(Object.entries(index[part]).map(([words, where]) => [shown(words), where]));
  for (const [page, phrases] of Object.entries(KEYWORDS)) {
    const at = index.docnames.indexOf(page);
    if (at >= 0) for (const phrase of phrases) (index.indexentries[phrase] ??= []).push([at, "", true]);
  }
  take(index);
};
