// What a page of the lab's does by itself: it notes the instant of each of its parts, changes its answer as it is told
// (by scripts in the document, or by a stream that it asks for once it is whole), and keeps busy elsewhere. All that it
// needs it takes before a hostile page bends it; and it uses no array's method, and iterates over none.
//
// plan: {marks, truth, stream, busy, hostile, body, chip, container}
(function (plan) {
  const { apply } = Reflect;
  const { parse, stringify } = JSON;
  const getter = (type, name) => Object.getOwnPropertyDescriptor(type.prototype, name).get;
  const setter = (type, name) => Object.getOwnPropertyDescriptor(type.prototype, name).set;
  const now = performance.now.bind(performance);
  const mark = performance.mark.bind(performance);
  const beacon = navigator.sendBeacon.bind(navigator);
  const ask = window.fetch.bind(window);
  const later = window.queueMicrotask.bind(window);
  const query = Document.prototype.querySelector;
  const queryAll = Document.prototype.querySelectorAll;
  const write = Document.prototype.write;
  const insert = Element.prototype.insertAdjacentHTML;
  const append = Element.prototype.append;
  const setAttribute = Element.prototype.setAttribute;
  const remove = Element.prototype.remove;
  const textOf = getter(Node, "textContent");
  const setMarkup = setter(Element, "innerHTML");
  const setData = setter(CharacterData, "data");
  const texts = Document.prototype.createTreeWalker;
  const find = (css) => apply(query, document, [css]);
  const all = (css) => apply(queryAll, document, [css]);
  const same = (text) => text;
  const trusted = plan.hostile
    ? trustedTypes.createPolicy("lab", { createHTML: same, createScriptURL: same })
    : { createHTML: same, createScriptURL: same };

  // ---- instants: taken right after the change. All else is done once whoever observes it has had their turn --------

  const OF_ANSWER = { wrapper: 1, shell: 1, loading: 1, answer: 1, sources: 1, settled: 1, declined: 1, offered: 1 };
  const truth = [];
  let open = 1 + (plan.stream ? 1 : 0) + (plan.busy ? 1 : 0); // what may still come

  const lengthOf = (css) => {
    const found = css ? all(css) : [];
    let sum = 0;
    for (let n = 0; n < found.length; n++) sum += apply(textOf, found[n], []).length;
    return sum;
  };

  function note(part, at, chars) {
    const entry = [part, at, chars, null];
    truth[truth.length] = entry;
    mark(`lab:${part}`, { startTime: at });
    if (!OF_ANSWER[part]) return;
    const there = find(plan.body) !== null;
    entry[3] = lengthOf(there ? plan.body : plan.container);
    entry[2] = there ? entry[3] - lengthOf(plan.chip) : 0;
  }

  function report(left) {
    if (plan.truth) beacon(plan.truth, stringify({ marks: truth, over: left || open === 0 }));
  }

  let loaded = false;
  addEventListener("load", () => (loaded = true));

  function done() {
    open -= 1;
    report(false);
  }

  // ---- changes: ["fill", css, html] and so on. One whose element is missing fails, and its part is never noted ------

  const acts = {
    write: (act) => apply(write, document, [trusted.createHTML(act[1])]),
    put: (act) => apply(insert, find(act[1]), [act[2], trusted.createHTML(act[3])]),
    fill: (act) => apply(setMarkup, find(act[1]), [trusted.createHTML(act[2])]),
    set: (act) => apply(setAttribute, find(act[1]), [act[2], act[3]]),
    drop: (act) => apply(remove, find(act[1]), []),
    swap: (act) => {
      const old = find(act[1]);
      apply(insert, old, ["afterend", trusted.createHTML(act[2])]);
      apply(remove, old, []);
    },
    // The first text in the nth of these elements.
    text: (act) => {
      const walker = apply(texts, document, [all(act[1])[act[2]], NodeFilter.SHOW_TEXT]);
      apply(setData, walker.nextNode(), [act[3]]);
    },
    // All but the first so many of these elements.
    cut: (act) => {
      const found = all(act[1]);
      for (let n = act[2]; n < found.length; n++) apply(remove, found[n], []);
    },
  };

  window.__truth = truth;
  window.__part = (part, changes) => {
    for (let n = 0; changes && n < changes.length; n++) acts[changes[n][0]](changes[n]);
    const at = now();
    later(() => {
      if (plan.marks) note(part, at, 0);
      if (part === "end") done();
      // A page that is left before it has loaded hears nothing of that (Chromium 156), so it reports as it goes.
      else if (changes && changes[0][0] !== "write" && !loaded) report(false);
    });
  };
  if (plan.truth) addEventListener("pagehide", () => report(true));

  // ---- the stream: a line is a part and its changes ----------------------------------------------------------------

  async function follow() {
    const reader = (await ask(plan.stream)).body.getReader();
    const decoder = new TextDecoder();
    let said = "";
    for (;;) {
      const { done: ended, value } = await reader.read();
      if (ended) break;
      said += decoder.decode(value, { stream: true });
      for (let at = said.indexOf("\n"); at >= 0; at = said.indexOf("\n")) {
        const line = parse(said.slice(0, at));
        said = said.slice(at + 1);
        window.__part(line[0], line[1]);
        await null; // so that lines which came together are observed one by one, as scripts of a document are
      }
    }
  }

  if (plan.stream) addEventListener("load", () => follow().finally(done));

  // ---- changes elsewhere: text, nodes and attributes by turns ------------------------------------------------------

  function keepBusy(rate, until) {
    const source =
      `const began = performance.now(); let made = 0;` +
      `setInterval(() => { for (; made < (performance.now() - began) * ${rate / 1000}; made++) postMessage(0); }, 4)`;
    const address = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
    const worker = new Worker(trusted.createScriptURL(address));
    const box = document.createElement("div");
    const line = document.createElement("span");
    const words = document.createTextNode("0");
    apply(append, line, [words]);
    apply(append, box, [line]);
    let made = 0;
    worker.onmessage = () => {
      const body = find("body");
      if (now() >= until) {
        worker.terminate();
        worker.onmessage = null;
        if (plan.marks) note("calm", now(), made);
        done();
      } else if (body) {
        if (made === 0) apply(append, body, [box]);
        if (made % 3 === 0) apply(setData, words, [`${made}`]);
        else if (made % 3 === 1) apply(made % 2 ? append : remove, made % 2 ? box : line, made % 2 ? [line] : []);
        else apply(setAttribute, box, ["style", `padding-left: ${made % 7}px`]);
        made += 1;
      }
    };
  }

  if (plan.busy) keepBusy(plan.busy[0], plan.busy[1]);

  // ---- harm --------------------------------------------------------------------------------------------------------

  function bend() {
    const lie = () => "no";
    for (const name of ["querySelector", "querySelectorAll", "getElementById", "createTreeWalker"]) {
      Document.prototype[name] = () => null;
    }
    for (const name of ["querySelector", "querySelectorAll", "closest", "matches", "getAttribute", "checkVisibility"]) {
      Element.prototype[name] = () => null;
    }
    for (const name of ["textContent", "parentElement", "firstChild", "nextSibling", "isConnected"]) {
      Object.defineProperty(Node.prototype, name, { get: lie });
    }
    Object.defineProperty(Document.prototype, "readyState", { get: lie });
    Node.prototype.contains = () => true;
    window.getComputedStyle = () => ({ display: "none" });
    window.MutationObserver = function () {};
    window.setInterval = window.setTimeout = window.requestAnimationFrame = () => 0;
    performance.now = () => NaN;
    performance.getEntriesByType = () => [];
    Date.now = () => 0;
    for (const name of ["castlenb", "reader", "answers", "watcher", "spec", "dom"]) window[name] = lie;
    JSON.parse = JSON.stringify = lie;
    for (const name of ["map", "filter", "find", "push", "flat", "flatMap", "some", "every", "sort", "join", "at"]) {
      Array.prototype[name] = lie;
    }
    Array.prototype[Symbol.iterator] = function* () {};
    Map.prototype.get = Set.prototype.has = String.prototype.replace = RegExp.prototype.test = lie;
    Object.fromEntries = Object.entries = Object.assign = lie;
  }

  if (plan.hostile) bend();
})
