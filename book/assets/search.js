// What people ask that pages do not say in these words.
const ASKED = {
  "howto": "install, how to cite, cite, citation, bibtex, how do i, verify, gpu, watch training",
  "papermill": "parameters, my own parameters, grid of parameters, cost",
  "cluster": "slurm, dask, many machines",
  "generated/beyond/your_network": "my network, own model, measure my own model, measure my network, my own network",
  "generated/beyond/train_one": "train my network, train a network, train one",
  "generated/beyond/tuning": "does it help, tune, hyperparameters",
  "generated/elastic_sde/collapse": "neural collapse, simplex",
  "generated/elastic_sde/extensions": "imbalance, minority classes, minority collapse",
  "generated/glass/ageing": "aging, ageing, waiting time, age",
  "generated/glass/relaxation": "tau90, tau_90, τ90, decorrelation time, overlap",
  "generated/glass/cifar": "cifar-10, cifar",
  "generated/glass/explorer": "temperature explorer",
  "generated/spring_block/figures_s5_to_s9": "cifar-10, cifar",
  "generated/spring_block/chain": "friction, spring, block",
  "generated/spring_block/dropout_diagram": "dropout, nonlinearity",
  "generated/spring_block/noise_diagrams": "learning rate, batch size, label noise",
  "generated/spring_block/phase_diagram": "phase diagram",
  "generated/scoreboard": "claims, verdicts, what fails",
  "glossary": "glossary, words, definition",
};
// Of names a function comes before the module that has its name, and the reference's own words come last.
Object.assign(Scorer, { objNameMatch: 8, objPartialMatch: 0, objPrio: { 0: -1, 1: 1, 2: -5 } });
Scorer.score = ([page, , anchor, , score]) => (page.startsWith("generated/api/") && !anchor ? score / 4 : score);

// The names of sections are words; Sphinx would take them for HTML.
const take = Search.setIndex;
const shown = (words) => words.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
Search.setIndex = (index) => {
  for (const part of ["alltitles", "indexentries"])
    index[part] = Object.fromEntries(Object.entries(index[part]).map(([words, where]) => [shown(words), where]));
  for (const [page, phrases] of Object.entries(ASKED)) {
    const at = index.docnames.indexOf(page);
    if (at >= 0) for (const phrase of phrases.split(", ")) (index.indexentries[phrase] ??= []).push([at, "", true]);
  }
  take(index);
};
