// The voting page. Without this script the same forms are posted one by one; with it the next pair is there at once and
// votes wait in the browser while there is no network. A vote has the key of the pair that was shown, and the server takes a key
// once: sending twice, from two tabs or after a double click, is one vote.
"use strict";
(() => {
  const page = document.getElementById("vote");
  if (!page) return;
  const read = (id) => JSON.parse(document.getElementById(id).textContent);
  const texts = read("texts");
  const csrf = page.dataset.csrf;
  const prefix = `jamrank-votes:${page.dataset.judge}:`;
  const mine = prefix + Math.random().toString(36).slice(2);
  const GUARD = 250; // ms after a new pair in which a second click is taken for the end of a double click
  let state = read("state");
  let queue = adopted();
  let sending = false;
  let wait = 0;
  let timer = 0;
  let shown = null;
  let shownAt = 0;
  let undoing = false;
  const nodes = new Map();
  const $ = (id) => document.getElementById(id);

  // -- what waits to be sent -------------------------------------------------------------------------------------
  function adopted() {
    const found = [];
    try {
      for (const name of Object.keys(localStorage).filter((k) => k.startsWith(prefix))) {
        for (const vote of JSON.parse(localStorage.getItem(name) || "[]")) {
          if (!found.some((other) => other.key === vote.key)) found.push(vote);
        }
        localStorage.removeItem(name);
      }
      if (found.length) localStorage.setItem(mine, JSON.stringify(found));
    } catch { /* no storage: votes wait in memory */ }
    return found;
  }
  function save() {
    try {
      if (queue.length) localStorage.setItem(mine, JSON.stringify(queue));
      else localStorage.removeItem(mine);
    } catch { /* no storage */ }
  }

  async function post(path, body) {
    const reply = await fetch(path, {
      method: "POST", credentials: "same-origin", cache: "no-store", redirect: "error",
      headers: { "Content-Type": "application/json", "Accept": "application/json", "X-CSRF-Token": csrf },
      body: JSON.stringify(body),
    });
    let value = null;
    try { value = await reply.json(); } catch { /* an error page of a proxy */ }
    return { status: reply.status, value };
  }

  async function send() {
    if (sending) return;
    clearTimeout(timer);
    sending = true;
    let failed = false;
    try {
      while (queue.length) {
        const { status, value } = await post("/vote", queue[0]);
        if (status === 200 && value) {
          queue.shift();
          save();
          wait = 0;
          state = value;
        } else if (status === 429 || status >= 500 || !value) {
          throw new Error("later");
        } else {
          // Refused for good: a revoked link, a closed study, a vote that is none.
          if (status === 400 || status === 404 || status === 409) { queue.shift(); save(); }
          say(value.message || texts.refused, "bad");
          if (status === 401 || status === 403) { failed = true; return; }
          if (value.state) state = value.state;
        }
        show();
      }
      if (undoing) await undoNow();
    } catch {
      failed = true;
      wait = Math.min(Math.max(2 * wait, 1000), 30000);
      timer = setTimeout(send, wait * (0.75 + Math.random() / 2));
    } finally {
      sending = false;
      show();
    }
    if (!failed && (queue.length || undoing)) send();
  }

  // -- what is shown ---------------------------------------------------------------------------------------------
  const waiting = () => new Set(queue.map((vote) => vote.key));
  const open = () => { const sent = waiting(); return state.open.filter((pair) => !sent.has(pair.key)); };

  function build(pair) {
    if (!nodes.has(pair.key)) {
      const holder = document.createElement("div");
      holder.hidden = true;
      for (const side of ["left", "right"]) {
        const body = document.createElement("div");
        body.className = "body";
        body.innerHTML = pair[side];
        holder.append(body);
      }
      $("ahead").append(holder);
      nodes.set(pair.key, { holder, left: holder.children[0], right: holder.children[1] });
    }
    return nodes.get(pair.key);
  }

  function show() {
    const pairs = open();
    pairs.forEach(build);
    const pair = undoing ? null : pairs[0];
    const total = state.total, done = Math.min(total, state.done + queue.length);
    $("bar").max = total; $("bar").value = done;
    $("count").textContent = texts.progress.replace("{done}", Math.min(done + 1, total)).replace("{total}", total);
    $("feedback").hidden = !state.feedback;
    if ($("feedback").textContent !== state.feedback) $("feedback").textContent = state.feedback;
    $("undo").disabled = !(queue.length || state.undo) || undoing;
    if (pair && state.status === "open") {
      $("ballot").hidden = false; $("blocked").hidden = true;
      if (shown !== pair.key) display(pair);
    } else {
      $("ballot").hidden = true; $("blocked").hidden = false;
      shown = null;
      $("blocked").textContent = blockedText();
      if (state.status === "done" && !queue.length && !undoing) location.replace("/vote");
    }
    for (const [key, node] of nodes) {
      if (key !== shown && !pairs.some((p) => p.key === key)) { node.holder.remove(); nodes.delete(key); }
    }
    tell();
  }

  function blockedText() {
    if (state.status === "paused") return texts.paused;
    if (state.status === "closed") return texts.closed;
    if (queue.length || undoing) return texts.waiting_for_network;
    return texts.looking;
  }

  function display(pair) {
    const node = build(pair);
    for (const side of ["left", "right"]) {
      $(side).querySelector(".body").replaceWith(node[side]);
      $(side).classList.remove("chosen");
    }
    $("question").textContent = pair.question;
    $("key").value = pair.key;
    $("practice").hidden = !pair.practice;
    if (shown !== null) { say(texts.saved); window.scrollTo(0, 0); }
    shown = pair.key;
    shownAt = performance.now();
  }

  function say(text, kind) {
    $("status").textContent = text;
    $("status").className = kind || "";
  }
  function tell() {
    if (queue.length && (wait || !navigator.onLine)) {
      const text = queue.length === 1 ? texts.one_waiting : texts.many_waiting;
      say(text.replace("{n}", queue.length), "wait");
    } else if ($("status").className === "wait") say(texts.all_saved);
  }

  // -- what a judge does -----------------------------------------------------------------------------------------
  function vote(answer, grade) {
    if (shown === null || performance.now() - shownAt < GUARD) return;
    queue.push({ key: shown, answer, grade: grade || 0, ms: Math.round(performance.now() - shownAt) });
    save();
    show();
    send();
  }
  function undo() {
    if (undoing || !(queue.length || state.undo)) return;
    if (queue.length > 1 || (queue.length && !sending)) {
      queue.pop();
      save();
      say(texts.undone);
      show();
    } else {
      undoing = true;
      show();
      send();
    }
  }
  async function undoNow() {
    const { status, value } = await post("/undo", { key: state.undo });
    if (status === 429 || status >= 500 || !value) throw new Error("later");
    undoing = false;
    if (status === 200) { state = value; say(texts.undone); } else say(value.message || texts.refused, "bad");
  }
  async function refresh() {
    if (sending || queue.length) return send();
    try {
      const { status, value } = await post("/next", {});
      if (status === 200 && value && !queue.length) { state = value; show(); }
      else if (status === 401 || status === 403) say((value && value.message) || texts.refused, "bad");
    } catch { /* no network; tried again */ }
  }

  $("ballot").addEventListener("submit", (event) => {
    event.preventDefault();
    const button = event.submitter;
    if (button) vote(button.value.split(":")[0], Number(button.value.split(":")[1] || 0));
  });
  $("undo-form").addEventListener("submit", (event) => { event.preventDefault(); undo(); });
  document.addEventListener("keydown", (event) => {
    if (event.repeat || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest("input,textarea,select,audio,video,[data-own-keys]")) return;
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const grade = event.shiftKey && state.grades ? state.grades : Math.min(1, state.grades || 0);
    if (key === "ArrowLeft") vote("left", grade);
    else if (key === "ArrowRight") vote("right", grade);
    else if (key === "ArrowDown" && state.ties) vote("tie");
    else if (key === "s" && state.skip) vote("skip");
    else if (key === "u") undo();
    else return;
    event.preventDefault();
  });
  window.addEventListener("online", send);
  window.addEventListener("offline", tell);
  document.addEventListener("visibilitychange", () => { if (!document.hidden) refresh(); });
  setInterval(() => { if (shown === null && !document.hidden) refresh(); }, 3000);
  document.documentElement.classList.add("script");
  page.dataset.ready = "yes";
  show();
  if (queue.length) send();
  else if (state.open.length < state.ahead && state.status === "open") refresh();
})();
