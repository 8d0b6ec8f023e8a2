// What the scripts that read a page share: accessors the page can not bend, the text of a region, where links lead.
// It knows no engine: `spec.links` says how links lead out (castlenb/engines/base.py). It only reads.
(function (spec, document) {
  const { links } = spec;

  // A <form> answers `form.parentNode` with a field of that name, a document `document.title` with an image of that
  // name; isolated worlds are no help there. Getters and methods are taken from the prototypes.
  const getter = (type, name) => {
    const get = Object.getOwnPropertyDescriptor(type.prototype, name).get;
    return (node) => get.call(node);
  };
  const method = (type, name) => {
    const call = type.prototype[name];
    return (node, argument) => call.call(node, argument);
  };
  const parentOf = getter(Node, "parentElement");
  const firstOf = getter(Node, "firstChild");
  const nextOf = getter(Node, "nextSibling");
  const previousOf = getter(Element, "previousElementSibling");
  const kindOf = getter(Node, "nodeType");
  const textOf = getter(Node, "textContent");
  const outerOf = getter(Element, "outerHTML");
  const baseOf = getter(Node, "baseURI");
  const connected = getter(Node, "isConnected");
  const nameOf = getter(Element, "localName");
  const readyOf = getter(Document, "readyState");
  const titleOf = getter(Document, "title");
  const rootOf = getter(Document, "documentElement");
  const contains = method(Node, "contains");
  const matches = method(Element, "matches");
  const closest = method(Element, "closest");
  const attribute = method(Element, "getAttribute");
  const first = method(Element, "querySelector");
  const within = method(Element, "querySelectorAll");
  const position = method(Node, "compareDocumentPosition");
  const select = method(Document, "querySelectorAll");
  const find = method(Document, "querySelector");
  const byId = method(Document, "getElementById");
  const byTag = method(Document, "getElementsByTagName");
  // Display alone: some layouts keep the whole column at visibility:hidden until their scripts run (seen 2024-03).
  const displayed = method(Element, "checkVisibility");

  const is = (element, css) => css !== "" && matches(element, css);
  const before = (a, b) => (position(a, b) & Node.DOCUMENT_POSITION_FOLLOWING ? -1 : 1);

  // Everything that one of several selectors finds, in page order. One query each: the browser answers "#rso" and "h3"
  // from an index, and "#rso, h3" by asking every element.
  function all(selectors) {
    const lists = selectors.map((css) => [...select(document, css)]).filter((found) => found.length);
    if (lists.length < 2) return lists[0] || [];
    return [...new Set(lists.flat())].sort(before);
  }

  // ---- text: a walk over text nodes. innerText needs layout, which a background tab may not have ------------------

  const BLOCK = new Set(
    ("address article aside blockquote br dd details div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 h5 " +
      "h6 header hr li main nav ol p pre section summary table td th tr ul").split(" "),
  );
  const SILENT = new Set("script style noscript template svg select textarea".split(" "));
  const collapse = (text) => text.replace(/\s+/g, " ").trim();
  // Most text says so in ASCII; the other class is a hundred times the size, and compiled for every page anew.
  const says = (text) => /[A-Za-z0-9]/.test(text) || /[\p{L}\p{N}]/u.test(text);
  const hidden = (element) =>
    attribute(element, "hidden") !== null || /(?:^|;)\s*display\s*:\s*none/i.test(attribute(element, "style") || "");

  // The text between block boundaries, one string a line; `skip` leaves elements out. Not recursive: a page's depth is
  // the page's to choose.
  function lines(root, skip = () => false) {
    const found = [];
    let line = "";
    const end = () => {
      const text = collapse(line);
      if (text) found.push(text);
      line = "";
    };
    for (let node = firstOf(root); node; ) {
      let inside = null;
      if (kindOf(node) === Node.TEXT_NODE) {
        line += textOf(node);
      } else if (kindOf(node) === Node.ELEMENT_NODE && !SILENT.has(nameOf(node)) && !hidden(node) && !skip(node)) {
        if (BLOCK.has(nameOf(node))) end();
        inside = firstOf(node);
      }
      let next = inside || nextOf(node);
      for (let above = parentOf(node); !next && above !== root; above = parentOf(above)) {
        if (BLOCK.has(nameOf(above))) end();
        next = nextOf(above);
      }
      node = next;
    }
    end();
    return found;
  }

  const texts = (root) => Document.prototype.createTreeWalker.call(document, root, NodeFilter.SHOW_TEXT);

  const textIn = (root, skip) => lines(root, skip).join(" ");

  // ---- links ------------------------------------------------------------------------------------------------------

  const OWN = new RegExp(links.own);
  const NEVER = links.never.map((pattern) => new RegExp(pattern));
  const DECODE = {
    percent: decodeURIComponent,
    base64url(value) {
      const bytes = Uint8Array.from(atob(value.replace(/-/g, "+").replace(/_/g, "/")), (char) => char.charCodeAt(0));
      return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    },
  };

  function parse(address, base) {
    try {
      const url = new URL(address, base);
      return url.protocol === "https:" || url.protocol === "http:" ? url : null;
    } catch {
      return null;
    }
  }

  const isOwn = (url) => OWN.test(url.host);
  const isNever = (url) => NEVER.some((pattern) => pattern.test(url.host + url.pathname));

  // Where a link leads: {target, link, form}; null where a result can not lead. The form is told before the host is
  // judged: /goto and /url stand on the engine's own host and lead away from it (iorate/ublacklist#1025).
  function follow(anchor, address = attribute(anchor, "href")) {
    const served = address && parse(address, baseOf(anchor));
    if (!served) return null;
    const link = served.href;
    const wrapping = isOwn(served) && links.forms.find((form) => form.path === served.pathname);
    if (!wrapping) return isNever(served) ? null : { target: served, link, form: "direct" };
    if (wrapping.form === "encrypted") return { target: null, link, form: "encrypted" };
    const target = unwrap(served, wrapping);
    if (target === undefined) return { target: null, link, form: "redirect" };
    return target === null || isNever(target) ? null : { target, link, form: "redirect" };
  }

  // The target that a wrapped link names; null when it names none that a result can have, undefined when it can not
  // be decoded. The query is cut up here: URLSearchParams would turn a target's own "+" into a space.
  function unwrap(served, wrapping) {
    const pairs = served.search.slice(1).split("&").map((pair) => pair.split(/=(.*)/s));
    for (const name of wrapping.params) {
      const value = pairs.find((pair) => pair[0] === name)?.[1];
      if (!value) continue;
      try {
        if (!value.startsWith(wrapping.prefix)) return undefined;
        // Without a base: a relative address is a page of the engine's own, to which its modules lead.
        return parse(DECODE[wrapping.decode](value.slice(wrapping.prefix.length)));
      } catch {
        return undefined;
      }
    }
    return null;
  }

  // A text fragment points into the page and is no part of its address; an ordinary #anchor is
  // (serpapi/public-roadmap#3827).
  function split(target) {
    if (!target) return { url: null, fragment: null };
    const [, url, fragment] = /^(.*?)#?:~:(?:text=)?(.*)$/s.exec(target.hash) || [null, target.hash, null];
    return { url: target.href.slice(0, target.href.length - target.hash.length) + url, fragment };
  }

  return {
    parentOf, firstOf, nextOf, previousOf, kindOf, textOf, outerOf, connected, nameOf, readyOf, titleOf, rootOf,
    contains, matches, closest, attribute, first, within, select, find, byId, byTag, displayed,
    is, before, all, SILENT, collapse, says, hidden, lines, textIn, texts, parse, isOwn, follow, split,
  };
})
