// Controls bound to a model: a slider shows a value of the model and sets it, whoever changed it last.

import { html, number } from "./dom.js";

/**
 * A labelled slider of `view` for the model's value `name`, over a `range` or through the values that `values()` has at the
 * moment. `say(value)` gives the number shown, `speak` what is heard, and `note(value)` a remark below it.
 */
export function slider(view, name, { label, range: [min, max, step] = [0, 0, 1], values, say, note, speak = say }) {
  const input = html("input", { type: "range", min, max, step, name });
  const output = html("output"), remark = html("small");
  input.addEventListener("input", () => view.set({ [name]: values ? values()[Number(input.value)] : Number(input.value) }));
  const show = () => {
    const all = values?.(), now = view.model.get(name), at = all ? nearest(all, now) : now, value = all ? all[at] : at;
    if (all) input.max = all.length - 1;
    input.value = at;
    input.setAttribute("aria-valuetext", speak(value));
    output.textContent = say(value);
    remark.replaceChildren(...[note(value)].flat());
  };
  view.follow(name, show);
  // Only name and input stand inside the label: an output would be labelled in the input's place.
  const named = html("label", {}, html("span", {}, ...label), input);
  return { root: html("div", { class: "slider" }, named, output, remark), show };
}

/** Says a number with `n` decimals. */
export const digits = (n) => (value) => number(value, n);

/** Instructions to unfold; a line is a list of words and elements. */
export function help(...lines) {
  const items = lines.map((line) => html("li", {}, ...[line].flat()));
  return html("details", {}, html("summary", {}, "How to read this"), html("ul", {}, ...items));
}

/** A button; `explain` becomes its tooltip, `look` is a class for the style sheet. */
export function button(label, explain, action, look) {
  return html("button", { type: "button", class: look, title: explain, onclick: action }, label);
}

/** Where the value nearest to `wanted` stands among rising `values`, by factors; zero is below all others. */
export function nearest(values, wanted) {
  const place = (v) => Math.log10(Math.max(v, 1e-12)), away = values.map((v) => Math.abs(place(v) - place(wanted)));
  return away.indexOf(Math.min(...away));
}

/** What a kind of line is called, below a plot. */
export const key = (name, text) => html("span", { class: `key ${name}` }, html("i"), text);

export const legend = (...keys) => html("div", { class: "legend" }, ...keys);

/** A picture, over the keys of its lines if there are any. */
export const figure = (plot, ...keys) => html("div", { class: "plot" }, plot.root, ...(keys.length ? [legend(...keys)] : []));

/**
 * The question how a load curve ends, to be answered before `chosen` shows it: then `tell(key, why)` says who was right, why,
 * and how often in a row, and `ask(question)` asks again. `said` is what it told last.
 */
export function guess(question, chosen) {
  const choices = { concave: "Concave", linear: "Straight", convex: "Convex" };
  const words = html("span"), buttons = Object.entries(choices).map(([key, word]) => button(word, "Guess first, then see", () => {
    made = key;
    mark();
    chosen();
  }));
  const root = html("div", { class: "guess", role: "group", "aria-label": question }, words, ...buttons);
  let made, streak = 0;
  const mark = () => Object.keys(choices).forEach((key, i) => buttons[i].setAttribute("aria-pressed", key === made));
  const self = {
    root, said: "",
    ask(now = question) {
      made = undefined;
      self.said = "";
      words.textContent = now;
      mark();
    },
    tell(key, why) {
      if (made === undefined) return;
      streak = made === key ? streak + 1 : 0;
      self.said = `${streak ? "Right" : `No, ${choices[key].toLowerCase()}`}${why}.${streak > 1 ? ` ${streak} in a row.` : ""}`;
      words.textContent = self.said;
    },
  };
  self.ask();
  return self;
}
