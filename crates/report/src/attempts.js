// Programs for tasks with what their tests said, and games that are told in words.

// "3 of 20" with a bar.
function testsOf(sample) {
  if (!sample.tests) return "–";
  const { passed, tests } = sample.tests;
  return el("span", { class: passed === tests ? "good" : null }, el("span", { class: "bar", "aria-hidden": "true" }, el("i", { style: `width:${100 * passed / Math.max(1, tests)}%` })), `${passed} of ${tests}`);
}

const passedAll = (sample) => Boolean(sample.tests) && sample.tests.passed === sample.tests.tests;
const failureOf = (sample) => sample.reason || (sample.tests && sample.tests.failed ? `test ${sample.tests.failed.test}: ${sample.tests.failed.reason}` : "all tests passed");

// How many characters all prompts begin with: what opens every chat, and the worked example. Whole lines of them.
function opening(prompts) {
  if (prompts.length < 2) return 0;
  const [first, ...others] = prompts;
  let same = 0;
  while (same < first.length && others.every((other) => other[same] === first[same])) same += 1;
  return first.lastIndexOf("\n", same - 1) + 1;
}

// What a task asked for: its own words, and behind a click those that stand before every task.
function asked(run, task) {
  const prompt = run.tasks.prompts[task];
  if (!prompt) return [];
  const told = (text) => el("pre", { class: "told asked", tabindex: "0" }, text), before = opening(Object.values(run.tasks.prompts));
  return [el("details", { open: true }, el("summary", {}, "What was asked"), told(prompt.slice(before))),
    before ? el("details", {}, el("summary", {}, `What stands before every task, ${whole(before)} characters`), told(prompt.slice(0, before))) : null].filter(Boolean);
}

// A step's programs as a table; the chosen one beside it.
function attempts(run) {
  const samples = run.samples.filter((sample) => sample.tests || sample.place === "each");
  if (!samples.length) return { node: el("p", { class: "soft" }, "Nothing that was written here could be tested: see below why."), watch: () => {} };
  const steps = [...new Set(samples.map((sample) => sample.step))];
  const place = el("div", { class: "scroll tall" }), code = el("div", { class: "beside" });
  // Numbered within its step: newer steps come before it when the page renews itself.
  const id = (sample) => `${sample.step} ${samples.filter((one) => one.step === sample.step).indexOf(sample)}`;
  const choose = (sample, row) => {
    chosenSample = id(sample);
    place.querySelectorAll("tr").forEach((one) => { one.classList.toggle("chosen", one === row); });
    code.replaceChildren(el("h3", {}, sample.style), ...asked(run, sample.style),
      el("p", { class: "small" }, el("strong", { class: passedAll(sample) ? "good" : "bad" }, failureOf(sample))),
      el("p", { class: "soft small" }, `Reward ${number(sample.reward, 3)}, ${advantageOf(sample)}.`),
      source(sample.source, `step-${sample.step}.py`));
  };
  const fill = (step) => {
    const shown = samples.filter((sample) => sample.step === step);
    const rows = shown.map((sample) => {
      const button = el("button", { type: "button", class: "link", onclick: () => choose(sample, row) }, sample.style);
      const row = el("tr", {}, el("td", {}, button), el("td", {}, testsOf(sample)), el("td", { class: "number" }, number(sample.reward, 2)), el("td", { class: "what" }, failureOf(sample)));
      return row;
    });
    place.replaceChildren(el("table", {}, el("thead", {}, el("tr", {}, ["task", "tests", "reward", "first failed test"].map((text) => el("th", { scope: "col" }, text)))), el("tbody", {}, rows)));
    const kept = Math.max(0, shown.findIndex((sample) => id(sample) === chosenSample));
    choose(shown[kept], rows[kept]);
  };
  const summary = (step) => {
    // A step may have more completions than are shown.
    const { completions, succeeded } = run.scores.find((one) => one.step === step), shown = samples.filter((sample) => sample.step === step).length;
    return `step ${step}: ${whole(succeeded)} of ${whole(completions)} pass${shown < completions ? `; ${whole(shown)} of ${whole(completions)} shown` : ""}`;
  };
  const list = el("select", { onchange: () => fill(steps[list.selectedIndex]) }, steps.map((step) => el("option", {}, summary(step))));
  list.selectedIndex = Math.max(0, steps.indexOf(Number((chosenSample || "").split(" ")[0])));
  fill(steps[list.selectedIndex]);
  return { node: el("div", { class: "card", id: "attempts" }, el("div", { class: "controls" }, el("label", {}, "Step ", list)), el("div", { class: "attempts" }, place, code)), watch: () => {} };
}

// Games of a file of Python: what they came to, and what the program was shown last.
function transcripts(sample) {
  const told = sample.transcripts || [];
  if (!told.length) return [];
  return [table(["game", "score", "moves", "ended", "Mfuel of the game"], told.map((one, at) => [at + 1, number(one.score), whole(one.moves), one.ending.replaceAll("_", " "), number(one.game_fuel / 1e6)])),
    told.map((one, at) => el("details", { open: at === 0 }, el("summary", {}, `Game ${at + 1}: what the program was shown last, and its first moves`),
      el("pre", { class: "told", tabindex: "0" }, one.last_observation), el("pre", { class: "told", tabindex: "0" }, one.actions.join(" "))))];
}
