// Of names a function comes before the module that has its name, and the reference's own words come last.
Object.assign(Scorer, { objNameMatch: 8, objPartialMatch: 0, objPrio: { 0: -1, 1: 1, 2: -5 } });
Scorer.score = ([page, , anchor, , score]) => (page.startsWith("generated/api/") && !anchor ? score / 4 : score);

// The names of sections are words; Sphinx would take them for HTML.
const take = Search.setIndex;
const shown = (words) => words.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
Search.setIndex = (index) => {
  for (const part of ["alltitles", "indexentries"])
    index[part] = Object.fromEntries(Object.entries(index[part]).map(([words, where]) => [shown(words), where]));
  take(index);
};
