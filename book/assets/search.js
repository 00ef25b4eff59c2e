// A function comes before the module that has its name.
Scorer.objPrio[0] = 4;

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
  take(index);
};
