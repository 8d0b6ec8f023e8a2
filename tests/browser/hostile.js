// The script of a page that means harm; it runs before anything else on it, in the page's own world.
//
// It keeps what it needs for itself, breaks the rest as soon as the lab's own script has what that needs (`__harm`), and
// takes down what a page can see of its visitors: once when all is there (`__late`), and once more when it is left. What
// it takes down goes to `noticed`.
(function (noticed) {
  // ---- kept for itself ----------------------------------------------------------------------------------------------

  const { apply, ownKeys, getPrototypeOf, getOwnPropertyDescriptor } = Reflect;
  const getter = (type, name) => {
    const { get } = getOwnPropertyDescriptor(type.prototype, name);
    return (object) => apply(get, object, []);
  };
  const method = (type, name) => {
    const call = type.prototype[name];
    return (object, ...args) => apply(call, object, args);
  };
  const stringify = JSON.stringify;
  const now = method(Performance, "now");
  const entriesOf = method(Performance, "getEntries");
  const beacon = method(Navigator, "sendBeacon");
  const find = method(Document, "querySelector");
  const create = method(Document, "createElement");
  const rootOf = getter(Document, "documentElement");
  const bodyOf = getter(Document, "body");
  const focused = method(Document, "hasFocus");
  const activeOf = getter(Document, "activeElement");
  const visibleOf = getter(Document, "visibilityState");
  const sheetsOf = getter(Document, "styleSheets");
  const adoptedOf = getter(Document, "adoptedStyleSheets");
  const attributesOf = getter(Element, "attributes");
  const outerOf = getter(Element, "outerHTML");
  const nameOf = getter(Element, "localName");
  const setMarkup = getOwnPropertyDescriptor(Element.prototype, "innerHTML").set;
  const fill = method(Element, "replaceChildren");
  const adders = { afterbegin: method(Element, "prepend"), beforeend: method(Element, "append") };
  const contentOf = getter(HTMLTemplateElement, "content");
  const firstOf = getter(DocumentFragment, "firstElementChild");
  const known = method(WeakSet, "has");
  const know = method(WeakSet, "add");
  const [open, send, Request, Known] = [method(XMLHttpRequest, "open"), method(XMLHttpRequest, "send"), XMLHttpRequest, WeakSet];
  const place = method(String, "indexOf");
  const part = method(String, "substring");
  const codeAt = method(String, "charCodeAt");
  const { imul } = Math;
  const page = document;
  const clock = performance;
  const agent = navigator;

  // ---- what it sees -------------------------------------------------------------------------------------------------

  const errors = [];
  const called = {}; // name: how often what is broken below was called, by whomever
  const note = (list, value) => (list[list.length] = value);
  addEventListener("error", (event) => note(errors, `error ${event.message}`), true);
  addEventListener("unhandledrejection", (event) => note(errors, `rejection ${event.reason}`));
  addEventListener("securitypolicyviolation", (event) => note(errors, `policy ${event.violatedDirective}`));

  // The one violation that is to be: it shows that the policy holds, and that errors are taken down.
  try {
    document.createElement("i").innerHTML = "<b></b>";
  } catch (refused) {
    note(errors, refused.name);
  }

  // For whoever listens to the console, Chrome writes down where an error comes from.
  let sprung = 0;
  Error.prepareStackTrace = () => (sprung += 1);
  console.debug(new Error("a trap"));
  delete Error.prepareStackTrace;

  // {path: names} of these and their prototypes; `deep`, of everything that can be reached from them without running
  // a getter.
  function names(deep) {
    const found = {};
    const seen = new Known();
    const queue = [];
    const add = (value, path) => {
      if ((typeof value !== "object" && typeof value !== "function") || value === null || known(seen, value)) return;
      know(seen, value);
      note(queue, [value, path]);
    };
    add(window, "window");
    add(page, "document");
    add(rootOf(page), "html");
    add(bodyOf(page), "body");
    add(clock, "performance");
    add(agent, "navigator");
    for (let at = 0; at < queue.length; at++) {
      const object = queue[at][0];
      const path = queue[at][1];
      const keys = ownKeys(object);
      let text = "";
      for (let n = 0; n < keys.length; n++) text += `${n ? " " : ""}${String(keys[n])}`;
      found[path] = text;
      for (let n = 0; deep && n < keys.length; n++) {
        const described = getOwnPropertyDescriptor(object, keys[n]);
        if (described && "value" in described) add(described.value, `${path}.${String(keys[n])}`);
      }
      add(getPrototypeOf(object), `${path}.__proto__`);
    }
    return found;
  }

  function attributes(element) {
    const found = [];
    const list = attributesOf(element);
    for (let n = 0; n < list.length; n++) note(found, `${list[n].name}=${list[n].value}`);
    return found;
  }

  function entries() {
    const found = [];
    const list = entriesOf(clock);
    for (let n = 0; n < list.length; n++) {
      const { entryType, name } = list[n];
      note(found, `${entryType} ${part(name, 0, place(`${name}?`, "?"))}`);
    }
    return found;
  }

  const took = () => ({
    attributes: [attributes(rootOf(page)), attributes(bodyOf(page))],
    errors,
    called: { ...called },
    html: outerOf(rootOf(page)),
    bearing: {
      sprung,
      focused: focused(page),
      active: nameOf(activeOf(page)),
      visible: visibleOf(page),
      sheets: [sheetsOf(page).length, adoptedOf(page).length],
      selected: getSelection().rangeCount,
      scrolled: [scrollX, scrollY],
      history: history.length,
      robot: agent.webdriver,
      activation: [agent.userActivation.hasBeenActive, agent.userActivation.isActive],
    },
  });

  // FNV-1a, without digits: the lab numbers its pages.
  function digest(text) {
    let value = 0x811c9dc5;
    for (let n = 0; n < text.length; n++) {
      const code = codeAt(text, n);
      if (code < 48 || code > 57) value = imul(value ^ code, 0x01000193);
    }
    return value;
  }

  // Everything is there by now, the answer too, and whoever waits for more of it can not have given up yet. This is too
  // large for a beacon, and holds up the page until it has arrived.
  function late() {
    const all = { ...took(), names: names(true) };
    const request = new Request();
    open(request, "POST", noticed + "?when=late", false);
    send(request, stringify(all));
  }

  // A page that is left has little time, and a beacon little room.
  function leaving() {
    const after = { ...took(), names: names(false), entries: entries() };
    after.html = digest(after.html);
    beacon(agent, noticed + "?when=leaving", stringify(after));
  }

  const fixed = (name, value) => Object.defineProperty(window, name, { value });
  fixed("__late", late);
  addEventListener("pagehide", leaving);

  // ---- harm ---------------------------------------------------------------------------------------------------------

  // Forms can lie in forms where a template is parsed.
  function parsed(html) {
    const outer = create(page, "template");
    apply(setMarkup, outer, [html]);
    return contentOf(firstOf(contentOf(outer)));
  }

  // `acts`: what the lab's script changes its page by. `trusted`: its policy, and there can be no other.
  fixed("__harm", (acts, trusted) => {
    const made = (html) => parsed(trusted.createHTML(`<template>${html}</template>`));
    acts.fill = (act) => fill(find(page, act[1]), made(act[2]));
    acts.put = (act) => adders[act[2]](find(page, act[1]), made(act[3]));

    function lie(object, name, value) {
      const where = `${object.constructor?.name || ""}.${String(name)}`;
      const lies = function () {
        called[where] = (called[where] || 0) + 1;
        return value;
      };
      const described = getOwnPropertyDescriptor(object, name);
      if (!described) throw new Error(`there is no ${where} to be broken`);
      if (described.get) Object.defineProperty(object, name, { ...described, get: lies });
      else Object.defineProperty(object, name, { ...described, value: lies });
    }
    const all = (object, list, value) => {
      for (let n = 0; n < list.length; n++) lie(object, list[n], value);
    };

    all(JSON, ["stringify", "parse"], "[]");
    all(Performance.prototype, ["now", "getEntriesByType", "getEntriesByName", "getEntries"], NaN);
    all(Performance.prototype, ["timeOrigin", "timing"], 0);
    all(Date, ["now"], 0);
    all(Node.prototype, ["contains", "compareDocumentPosition", "isSameNode"], true);
    all(Node.prototype, ["textContent", "nodeType", "isConnected", "baseURI", "nodeName"], "no");
    all(Node.prototype, ["parentElement", "parentNode", "firstChild", "nextSibling", "previousSibling", "childNodes"], null);
    const asked = ["querySelector", "querySelectorAll", "getElementsByTagName"];
    all(Document.prototype, [...asked, "getElementById", "createTreeWalker", "readyState", "title", "documentElement"], null);
    all(Element.prototype, [...asked, "closest", "matches", "getAttribute", "checkVisibility", "localName"], null);
    all(Element.prototype, ["previousElementSibling", "children"], null);
    all(CharacterData.prototype, ["data"], "no");
    all(MutationObserver.prototype, ["observe", "takeRecords", "disconnect"], undefined);
    all(RegExp.prototype, ["exec", "test"], null);
    all(URL.prototype, ["href", "host", "protocol", "pathname", "search", "hash"], "no");
    all(Math, ["min", "max", "imul"], NaN);
    all(Object, ["entries", "values", "keys", "fromEntries", "assign"], {});
    all(Array, ["from", "isArray"], false);
    all(Promise.prototype, ["then", "catch", "finally"], undefined);
    all(Promise, ["resolve", "reject", "all"], undefined);
    all(Map.prototype, ["get", "set", "has", Symbol.iterator], undefined);
    all(Set.prototype, ["add", "has", Symbol.iterator], undefined);
    const texts = ["replace", "split", "trim", "slice", "includes", "startsWith", "endsWith", "match", "charCodeAt"];
    all(String.prototype, texts, "no");
    all(window, ["setTimeout", "setInterval", "clearTimeout", "clearInterval", "getComputedStyle"], 0);
    all(window, ["requestAnimationFrame", "queueMicrotask", "fetch", "atob", "decodeURIComponent"], 0);
    const nothing = class {};
    const taken = ["Map", "Set", "WeakMap", "Promise", "MutationObserver", "URL", "DOMParser", "RegExp", "TextDecoder"];
    for (let n = 0; n < taken.length; n++) window[taken[n]] = nothing;
    const listed = ["map", "filter", "flatMap", "flat", "forEach", "find", "findIndex", "some", "every", "includes", "join"];
    const changed = ["push", "pop", "splice", "slice", "sort", "reduce", "concat", "at", "indexOf", "entries", "values"];
    const arrays = [...listed, ...changed, "keys", Symbol.iterator];
    for (let n = 0; n < arrays.length; n++) lie(Array.prototype, arrays[n], undefined);

    // Names like ours.
    const wait = () => '{"reason": "results", "reading": {}, "answer": null, "timeline": {}}';
    const mine = { wait, tick: wait, now: wait, read: wait, probe: wait, answer: wait, results: wait };
    const ours = ["castlenb", "reader", "watcher", "answers", "growth", "dom", "spec", "prose", "sources"];
    for (let n = 0; n < ours.length; n++) window[ours[n]] = { ...mine, reader: mine, watcher: mine, answers: mine };
  });
})
