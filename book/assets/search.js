// The names of sections are words; Sphinx would take them for HTML.
const take = Search.setIndex;
const shown = (words) => words.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
Search.setIndex = (index) => {
  for (const part of ["alltitles", "indexentries"])
    index[part] = Object.fromEntries(Object.entries(index[part]).map(([words, where]) => [shown(words), where]));
  take(index);
};

// What readers ask in words that are not those of the page that answers: its place comes first.
const ANSWERS = [
  [/tau.?90|τ.?90|memory|relax/, "glossary", "#term-decorrelation-time", "Decorrelation time"],
  [/\bage?ing\b/, "glossary", "#term-ageing", "Ageing"],
  [/my (own )?(data|model|net)|resnet/, "generated/beyond/your_network", "", "Where in your network is the work done?"],
  [/train (my|one|a)\b/, "generated/beyond/train_one", "", "Train one yourself"],
  [/install|pip\b/, "howto", "#install-it", "How do I install it?"],
  [/licen[cs]e|contact|cite|citation|author|reuse|doi\b/, "howto", "#cite-it-reuse-it-ask-about-it", "How do I cite it, reuse it, ask about it?"],
  [/download|slides|svg\b/, "howto", "#take-a-figure-with-me", "How do I take a figure with me?"],
  [/seeds?$/, "papermill", "", "With parameters of your own"],
  [/^fig(ure|\.)? ?s?\d/, "generated/papers", "", "Figures of the papers, and the page of each"],
  [/how long|minutes|hours/, "short_path", "", "The short path: pages and minutes"],
  [/exercise|solution|course|lecture/, "teach", "", "Teach it: lectures and exercises"],
  [/cifar|photograph/, "generated/glass/cifar", "", "Photographs: the second data set of paper C"],
];
const perform = Search._performSearch;
let listed = [];
Search._performSearch = (query, ...rest) => {
  listed.length = 0; // of what was asked before, nothing more is printed
  const { docnames, filenames } = Search._index, asked = query.toLowerCase().trim();
  const first = ANSWERS.filter(([words, page]) => words.test(asked) && docnames.includes(page));
  // Results are shown from the last to the first: places, pages, names of the library.
  const places = first.map(([, page, anchor, title]) => [page, title, anchor, null, 1000, filenames[docnames.indexOf(page)]]);
  const found = perform(query, ...rest), named = ([page]) => page.startsWith("generated/api/");
  return (listed = [...found.filter(named), ...found.filter((one) => !named(one)), ...places.reverse()]);
};

// From disk a browser fetches no page to quote from.
if (location.protocol === "file:") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;

// The page of results answers while one types, as the theme's dialog does on all others.
addEventListener("DOMContentLoaded", () => {
  const field = document.querySelector(".bd-search-container input[name=q]");
  let soon;
  field?.addEventListener("input", () => {
    clearTimeout(soon);
    soon = setTimeout(() => {
      document.getElementById("search-results").replaceChildren();
      if (field.value.trim()) Search.performSearch(field.value);
    }, 200);
  });
});
