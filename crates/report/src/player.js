// Boards of a logged game: the page pushes tiles, the log says where new ones dropped.

const TILES = { 0: ["#b8a898", "#b8a898"], 2: ["#eee4da", "#4a4036"], 4: ["#ede0c8", "#4a4036"], 8: ["#f2b179", "#3a2a18"], 16: ["#f59563", "#3a2013"], 32: ["#f67c5f", "#2c140d"],
  64: ["#cc3d1c", "#ffffff"], 128: ["#edcf72", "#3f3510"], 256: ["#e8c64a", "#3a300a"], 512: ["#dfb42f", "#352b05"], 1024: ["#d3a114", "#2c2302"], 2048: ["#9a6b00", "#ffffff"] };

// One line towards its first cell: tiles close up, equal neighbours merge once.
function pushLine(line) {
  const pushed = [];
  let gain = 0, free = false;
  for (const tile of line) {
    if (!tile) continue;
    if (free && pushed[pushed.length - 1] === tile) { pushed[pushed.length - 1] = 2 * tile; gain += 2 * tile; free = false; }
    else { pushed.push(tile); free = true; }
  }
  while (pushed.length < 4) pushed.push(0);
  return [pushed, gain];
}

function push(board, move) {
  const next = new Array(16);
  let gain = 0;
  for (let line = 0; line < 4; line++) {
    const cells = [0, 1, 2, 3].map((at) => (move === "A" || move === "D" ? 4 * line + at : 4 * at + line));
    if (move === "D" || move === "S") cells.reverse();
    const [pushed, won] = pushLine(cells.map((cell) => board[cell]));
    cells.forEach((cell, at) => { next[cell] = pushed[at]; });
    gain += won;
  }
  return [next, gain];
}

// Every board of a game: {board, score, move, dropped}.
function frames(game) {
  let board = new Array(16).fill(0), score = 0, used = 0;
  const drop = () => {
    const code = game.drops.charCodeAt(used++);
    const cell = code >= 97 ? code - 97 : code - 65;
    board[cell] = code >= 97 ? 2 : 4;
    return cell;
  };
  const dropped = [drop(), drop()];
  const shown = [{ board: [...board], score, move: "", dropped }];
  for (const move of game.moves) {
    const [next, gain] = push(board, move);
    const changed = next.some((tile, cell) => tile !== board[cell]);
    if (changed) { board = next; score += gain; }
    shown.push({ dropped: changed ? [drop()] : [], board: [...board], score, move, idle: !changed });
  }
  return shown;
}

const MOVES = { W: "↑ W", A: "← A", S: "↓ S", D: "→ D", "": "start" };

function player() {
  let shown = [], game = null, at = 0, timer = null;
  const cells = Array.from({ length: 16 }, () => el("div", { class: "cell" }));
  const board = el("div", { class: "board", role: "img", "aria-label": "board" }, cells);
  const figures = el("p", { class: "figures", role: "status" });
  const trouble = el("p", { class: "bad small" });
  const slider = el("input", { type: "range", min: 0, value: 0, "aria-label": "move", oninput: () => { stop(); go(Number(slider.value)); } });
  const speed = el("select", { "aria-label": "speed", onchange: () => { if (timer) { stop(); play(); } } },
    [["4", "4 moves/s"], ["10", "10 moves/s"], ["30", "30 moves/s"], ["100", "100 moves/s"]].map(([value, text]) => el("option", { value, selected: value === "10" }, text)));
  const button = (text, label, action) => el("button", { type: "button", title: label, onclick: action }, text);
  const toggle = button("Play", "play (space)", () => (timer ? stop() : play()));
  const go = (index) => {
    at = Math.max(0, Math.min(shown.length - 1, index));
    const frame = shown[at];
    if (!frame) return;
    frame.board.forEach((tile, cell) => {
      const [back, front] = TILES[tile] || ["#3c3a32", "#ffffff"];
      cells[cell].textContent = tile || "";
      cells[cell].className = `cell${tile > 999 ? " long" : ""}${frame.dropped.includes(cell) ? " new" : ""}`;
      cells[cell].style.background = back;
      cells[cell].style.color = front;
    });
    board.setAttribute("aria-label", `board: ${[0, 1, 2, 3].map((row) => frame.board.slice(4 * row, 4 * row + 4).map((tile) => tile || "empty").join(" ")).join("; ")}`);
    slider.value = at;
    const end = at === shown.length - 1 ? ` · ended: ${game.ending.replaceAll("_", " ")}` : "";
    figures.textContent = `move ${at} of ${shown.length - 1} · ${MOVES[frame.move]}${frame.idle ? " (changes nothing)" : ""} · score ${whole(frame.score)}${end}`;
    if (at === shown.length - 1) stop();
  };
  const stop = () => { clearInterval(timer); timer = null; toggle.textContent = "Play"; toggle.title = "play (space)"; figures.setAttribute("aria-live", "polite"); };
  const play = () => {
    if (at >= shown.length - 1) go(0);
    toggle.textContent = "Pause";
    toggle.title = "pause (space)";
    // A reader of the screen is not told thirty moves a second.
    figures.setAttribute("aria-live", "off");
    timer = setInterval(() => go(at + 1), 1000 / Number(speed.value));
  };
  const keys = (event) => {
    if (["SELECT", "INPUT", "BUTTON"].includes(event.target.tagName) && !(event.target.tagName === "BUTTON" && event.key.startsWith("Arrow"))) return;
    const action = { " ": () => (timer ? stop() : play()), ArrowRight: () => { stop(); go(at + 1); }, ArrowLeft: () => { stop(); go(at - 1); }, Home: () => { stop(); go(0); }, End: () => { stop(); go(1e9); } }[event.key];
    if (action) { event.preventDefault(); action(); }
  };
  const node = el("div", { tabindex: "0", role: "group", "aria-label": "replay of a game: space plays, arrows step, Home and End jump", onkeydown: keys },
    board, figures, trouble,
    el("div", { class: "controls" },
      button("Start", "first board (Home)", () => { stop(); go(0); }), button("Back", "one move back (left arrow)", () => { stop(); go(at - 1); }), toggle,
      button("Step", "one move on (right arrow)", () => { stop(); go(at + 1); }), button("End", "last board (End)", () => { stop(); go(1e9); })),
    el("div", { class: "controls" }, slider, speed));
  const show = (chosen) => {
    stop();
    game = chosen;
    shown = game ? frames(game) : [];
    node.hidden = !game;
    if (!game) return;
    const last = shown[shown.length - 1];
    trouble.textContent = game.verified && last.score === game.score ? "" : "The replay does not end as the log says: the log was changed, or written under other rules.";
    slider.max = shown.length - 1;
    // The end is what most want to see first; playing from there begins anew.
    go(shown.length - 1);
  };
  return { node, show };
}
