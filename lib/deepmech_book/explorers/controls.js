// Controls bound to a model: a slider shows a value of the model and sets it, whoever changed it last.

import { html, number } from "./dom.js";

/** Call `react` now and whenever `name` changes; the result undoes this. */
export function follow(model, name, react) {
  model.on(`change:${name}`, react);
  react();
  return () => model.off(`change:${name}`, react);
}

/**
 * A labelled slider for model value `name`, over a `range` or through the values that `values()` has at the moment.
 * `say(value)` gives the number shown and `note(value)` a remark below it.
 */
function slider(model, cleanup, name, { label, range: [min, max, step] = [0, 0, 1], values, say, note, speak = say }) {
  const input = html("input", { type: "range", min, max, step, name });
  const output = html("output"), remark = html("small");
  input.addEventListener("input", () => {
    model.set(name, values ? values()[Number(input.value)] : Number(input.value));
    model.save_changes();
  });
  const show = () => {
    const all = values?.(), at = all ? nearest(all, model.get(name)) : model.get(name), value = all ? all[at] : at;
    if (all) input.max = all.length - 1;
    input.value = at;
    input.setAttribute("aria-valuetext", speak(value));
    output.textContent = say(value);
    if (note) remark.replaceChildren(...[note(value)].flat());
  };
  cleanup.push(follow(model, name, show));
  // Only name and input stand inside the label: an output would be labelled in the input's place.
  const named = html("label", {}, html("span", {}, ...label), input);
  return { root: html("div", { class: "slider" }, named, output, ...(note ? [remark] : [])), show };
}

/** One slider for each entry of `all`, {name: options}, with the range that the model has for it. */
export function sliders(model, cleanup, all) {
  const ranges = model.get("ranges");
  return Object.entries(all).map(([name, options]) => slider(model, cleanup, name, { range: ranges[name], ...options }));
}

/** Says a number with `n` decimals. */
export const digits = (n) => (value) => number(value, n);

/** Instructions to unfold; a line is a list of words and elements. */
export function help(...lines) {
  const items = lines.map((line) => html("li", {}, ...[line].flat()));
  return html("details", {}, html("summary", {}, "How to read this"), html("ul", {}, ...items));
}

/** A button; `explain` becomes its tooltip. */
export function button(label, explain, action) {
  return html("button", { type: "button", title: explain, onclick: action }, label);
}

/** A model for pages without a kernel: the part of Jupyter's widget model that the component uses. */
export function localModel(state) {
  const listeners = new Map();
  const of = (event) => listeners.get(event) ?? listeners.set(event, new Set()).get(event);
  return {
    get: (name) => state[name],
    set(name, value) {
      if (Object.is(state[name], value)) return;
      state[name] = value;
      for (const react of of(`change:${name}`)) react();
    },
    save_changes() {},
    on: (event, react) => of(event).add(react),
    off: (event, react) => of(event).delete(react),
  };
}

/** Where the value nearest to `wanted` stands among rising `values`, by factors; zero is below all others. */
export function nearest(values, wanted) {
  const place = (v) => Math.log10(Math.max(v, 1e-12)), away = values.map((v) => Math.abs(place(v) - place(wanted)));
  return away.indexOf(Math.min(...away));
}

/** A labelled slider through the values that `values()` has at the moment, for the model's value `name`. */
export const stepper = (model, cleanup, name, values, options) => slider(model, cleanup, name, { values, ...options });

/** What a kind of line is called, below a plot. */
export const key = (name, text) => html("span", { class: `key ${name}` }, html("i"), text);

/**
 * A question with a button for each of `choices`, {key: word}, to be answered before `chosen` shows what happens: then
 * `tell(key)` says who was right, and `ask()` asks again. `said` is what it told last.
 */
export function guess(question, choices, chosen) {
  const words = html("span"), buttons = Object.entries(choices).map(([key, word]) => button(word, "Guess first, then see", () => {
    made = key;
    mark();
    chosen(key);
  }));
  const root = html("div", { class: "guess", role: "group", "aria-label": question }, words, ...buttons);
  let made;
  const mark = () => Object.keys(choices).forEach((key, i) => buttons[i].setAttribute("aria-pressed", key === made));
  const self = {
    root, said: "",
    ask() {
      made = undefined;
      self.said = "";
      words.textContent = question;
      mark();
    },
    tell(key) {
      self.said = made === undefined ? "" : made === key ? "You guessed right." : `You guessed ${choices[made].toLowerCase()}.`;
      words.textContent = self.said || question;
    },
  };
  self.ask();
  return self;
}
