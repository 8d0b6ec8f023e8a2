// Makes a saved page inert: the same tree with nothing left that runs, loads, connects or navigates.
// Runs on an about:blank tab; the parser is the browser's own, so the tree is the one Chrome would have built.
// Returns {html, body, query, base, saved_from}: `body` is what the page's body holds, `query` is what stands in the search box, `base` what a removed <base> said,
// `saved_from` the address a browser's own "Save as" left in a comment; null where there is none.
// `alter` is handed the parsed page once, before it is written out.
(function (html, alter = null) {
  // Elements that load, run or redirect by being there. Taken out whole.
  const GONE = "script, object, embed, applet, base, portal, fencedframe";
  // A white list, since `rel` keeps growing words that fetch (compression-dictionary, monetization, expect …), and
  // "search" makes Chrome's browser process fetch a description outside of any interception in the tab.
  const LINKS = new Set(["canonical", "alternate", "next", "prev"]);
  const METAS = new Set(["content-type", "content-language"]);
  const ATTRIBUTES = new Set(["ping", "autofocus", "autoplay", "attributionsrc", "srcdoc"]);
  const MEDIA = "audio, video, audio source, video source, track";
  const FRAMES = "iframe, frame";
  const COPY = "data-inert-src";

  // Prototype getters: in a document, <img name=documentElement> shadows document.documentElement.
  const getter = (type, name) => Function.prototype.call.bind(Object.getOwnPropertyDescriptor(type.prototype, name).get);
  const method = (type, name) => Function.prototype.call.bind(type.prototype[name]);
  const root = getter(Document, "documentElement");
  const doctype = getter(Document, "doctype");
  const content = getter(HTMLTemplateElement, "content");
  const outer = getter(Element, "outerHTML");
  const inner = getter(Element, "innerHTML");
  const bodyOf = getter(Document, "body");
  const names = method(Element, "getAttributeNames");
  const attribute = method(Element, "getAttribute");
  const set = method(Element, "setAttribute");
  const unset = method(Element, "removeAttribute");
  const remove = method(Element, "remove");
  const replace = method(Element, "replaceWith");
  const create = method(Document, "createElement");
  const text = getter(Node, "textContent");
  const owner = getter(Node, "ownerDocument");
  const within = {
    document: method(Document, "querySelectorAll"),
    fragment: method(DocumentFragment, "querySelectorAll"),
  };

  const words = (list) => (list || "").toLowerCase().split(/\s+/).filter(Boolean);
  // As Chrome sees it: control characters and spaces before a scheme do not count, nor tabs and newlines inside it.
  const spelt = (word) => [...word].join("[\\t\\n\\r]*");
  const RUNS = new RegExp(`^[\\u0000-\\u0020]*(?:${spelt("javascript")}|${spelt("vbscript")})[\\t\\n\\r]*:`, "i");

  function clean(scope, find) {
    for (const element of find(scope, GONE)) remove(element);
    for (const link of find(scope, "link")) {
      const rel = words(attribute(link, "rel"));
      if (!rel.length || rel.some((word) => !LINKS.has(word))) remove(link);
    }
    for (const raw of find(scope, "noframes")) disarm(raw);
    for (const meta of find(scope, "meta[http-equiv]")) {
      if (!METAS.has((attribute(meta, "http-equiv") || "").trim().toLowerCase())) remove(meta);
    }
    for (const media of find(scope, MEDIA)) {
      for (const name of ["src", "srcset", "poster"]) unset(media, name);
    }
    for (const frame of find(scope, FRAMES)) {
      // The frame's place and address are evidence (a captcha is known by them); loading it is not needed for that.
      const address = attribute(frame, "src");
      if (address !== null) set(frame, COPY, address);
      unset(frame, "src");
    }
    for (const element of find(scope, "*")) {
      for (const name of names(element)) {
        const lower = name.toLowerCase();
        if (lower.startsWith("on") || ATTRIBUTES.has(lower) || RUNS.test(attribute(element, name))) unset(element, name);
      }
    }
    // Also where declarative shadow roots are: DOMParser leaves those as templates.
    for (const template of find(scope, "template")) clean(content(template), within.fragment);
  }

  // A <noscript> leaves an empty one behind that says where it would have led: a script gate is known by that.
  function disarm(raw) {
    const inside = new DOMParser().parseFromString(text(raw), "text/html");
    const leads = [
      attribute(raw, COPY),
      ...[...within.document(inside, "meta[http-equiv=refresh i]")].map((meta) => attribute(meta, "content")),
      ...[...within.document(inside, FRAMES)].map((frame) => attribute(frame, "src")),
    ].filter(Boolean);
    if (!leads.length) return remove(raw);
    const empty = create(owner(raw), "noscript");
    set(empty, COPY, leads.join(" "));
    replace(raw, empty);
  }

  function pass(source, alter) {
    // DOMParser parses with scripting off, where <noscript> holds live mark-up and breaks out of <head>; <noframes>
    // is raw text whether scripts run or not, so the tree becomes the one a scripting browser builds.
    const page = new DOMParser().parseFromString(source.replace(/<(\/?)noscript(?=[\s/>])/gi, "<$1noframes"), "text/html");
    const base = within.document(page, "base[href]")[0];
    const box = within.document(page, "input[name=q], textarea[name=q]")[0];
    clean(page, within.document);
    alter?.(page);
    const type = doctype(page);
    return {
      html: (type ? new XMLSerializer().serializeToString(type) + "\n" : "") + outer(root(page)),
      body: inner(bodyOf(page)),
      query: box ? attribute(box, "value") || text(box) || null : null,
      base: base ? attribute(base, "href") : null,
    };
  }

  const saved = /<!-- saved from url=\(\d+\)(\S+) -->/.exec(html.slice(0, 2000));
  const first = pass(html, alter);
  // What is written out may read back as something else (nested forms, foreign content): cleaned until it stays put.
  let { html: clear, body } = first;
  for (let turn = 0, before = null; turn < 4 && clear !== before; turn++) {
    before = clear;
    ({ html: clear, body } = pass(clear, null));
  }
  return { html: clear, body, query: first.query, base: first.base, saved_from: saved ? saved[1] : null };
})
