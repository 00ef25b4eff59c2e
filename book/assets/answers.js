// Guesses, and questions that check their answers. Without this script the fold below each says what is right.
(() => {
  "use strict";
  // 0.5, .5, 0,5, 1/2, 1e-3, −3 and 5 % are numbers; words are none.
  const number = (text) => {
    const plain = text.trim().replace("−", "-").replace(",", ".").replace(/\s*%$/, "e-2");
    const [above, below = "1"] = plain.split("/");
    return above.trim() && below.trim() ? Number(above) / Number(below) : NaN;
  };
  const near = (given, known) => Math.abs(given - known) <= 0.02 * Math.abs(known) + 1e-9;

  for (const form of document.querySelectorAll("form.dm-check-answer")) {
    const known = JSON.parse(form.dataset.known); // [answer, words]; the right one first, "otherwise" for all that is not listed
    const said = form.querySelector("output");
    const typed = form.querySelector("input");
    const judge = (text) => {
      const given = number(text);
      if (typed && Number.isNaN(given)) return ["", "Type a number, such as 0.25, 1/4 or 2.5e-1."];
      const at = known.findIndex(([answer]) => (typed ? near(given, number(answer)) : answer === text));
      const [, words] = known[at] ?? known.find(([answer]) => answer === "otherwise") ?? ["", "Look again, or unfold the solution."];
      return at === 0 ? ["dm-right", `✓ Right. ${words}`] : ["dm-wrong", `✗ Not yet. ${words}`];
    };
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      [said.className, said.textContent] = judge(typed ? typed.value : event.submitter.value);
    });
  }
  for (const form of document.querySelectorAll("form.dm-guess")) {
    form.addEventListener("click", ({ target }) => {
      if (target.tagName !== "BUTTON") return;
      for (const one of form.querySelectorAll("button")) one.setAttribute("aria-pressed", one === target);
      form.querySelector("output").textContent = target.textContent === form.dataset.right ? "✓ So it is." : "✗ It came out differently.";
      form.parentElement.querySelector("details").open = true;
    });
  }
})();
