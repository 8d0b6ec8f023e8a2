// Takes out of copies of a page what tells of the person in front of it, by place: `places` says where an engine's pages
// do so (castlenb/engines/base.py). It writes to those copies alone, never to a page.
//
//   redact(document, reading, piece)   one copy; `reading` builds the readers of a document. Text and links of results and
//                                      answer stay as they are read. A `piece` is of an answer, and nothing else is in it.
//   address(url)                       an address of the engine's own, without what is no part of the question
//   list()                             what went: [{what, where, count}]
//
// `url` is the page's address, and `refused` whether it is a page that asks for a person: such a one has a token where others
// have the question.
(function (spec, places, url, refused) {
  const getter = (type, name) => Function.prototype.call.bind(Object.getOwnPropertyDescriptor(type.prototype, name).get);
  const setter = (type, name) => Function.prototype.call.bind(Object.getOwnPropertyDescriptor(type.prototype, name).set);
  const method = (type, name) => Function.prototype.call.bind(type.prototype[name]);
  const textOf = getter(Node, "textContent");
  const setText = setter(Node, "textContent");
  const parentOf = getter(Node, "parentElement");
  const contains = method(Node, "contains");
  const detach = method(Node, "removeChild");
  const nodeAbove = getter(Node, "parentNode");
  const nameOf = getter(Element, "localName");
  const names = method(Element, "getAttributeNames");
  const attribute = method(Element, "getAttribute");
  const set = method(Element, "setAttribute");
  const within = method(Element, "querySelectorAll");
  const select = method(Document, "querySelectorAll");
  const content = getter(HTMLTemplateElement, "content");
  const walk = method(Document, "createTreeWalker");
  const head = getter(Document, "head");
  const create = method(Document, "createElement");
  const prepend = method(Element, "prepend");

  const GONE = "…";
  const ASKED = new Set(places.asked);
  const SPEC = JSON.stringify(spec);
  const OWN = new RegExp(spec.links.own);
  const WRAPPER = spec.parts.answer_wrapper.join(", ");
  const ALIKE = spec.parts.answer_alike.join(", ");
  const AREA = spec.parts.area.join(", ");

  // ---- what went --------------------------------------------------------------------------------------------------

  const went = new Map();
  let noted = true; // pieces of an answer are no news: the page holds the last of them

  function note(what, where) {
    if (!noted) return;
    const key = `${what}\n${where}`;
    went.set(key, (went.get(key) || 0) + 1);
  }

  const list = () =>
    [...went].map(([key, count]) => ({ what: key.split("\n")[0], where: key.split("\n")[1], count }));

  // ---- words ------------------------------------------------------------------------------------------------------

  const EMAIL = /[\w.+%-]+(?:@|%40)[\w-]+(?:\.[\w-]+)*\.\p{L}{2,}/gu;
  const IPV4 = /(?<![\d.])(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?\d?\d)(?![\d.]*\d)/g;
  const COLONS = /(?<![\w:.])(?=[\w:.]*:[\w:.]*:)[\da-f:]+(?:\d{1,3}(?:\.\d{1,3}){3})?(?![\w:])/gi;
  const COORDINATES = /-?\b\d{1,3}\.\d{3,}(?:\s*,\s*|%2C|~|_)-?\d{1,3}\.\d{3,}/gi;
  const DEGREES = /^(?:data-)?(?:.*-)?(?:lat|lon|lng|latitude|longitude)$/;

  function isIPv6(text) {
    if (!/[\da-f]/i.test(text)) return false;
    try {
      return Boolean(new URL(`http://[${text}]/`));
    } catch {
      return false;
    }
  }

  // Beside an e-mail address stands whose it is, so the words around it go as well.
  function words(text, where) {
    if (!/[@\d]|%40/.test(text) && !text.includes("::")) return text;
    if (text.search(EMAIL) >= 0) {
      note("e-mail address", where);
      return GONE;
    }
    let said = replaced(text, IPV4, () => true, "IP address", where);
    said = replaced(said, COLONS, isIPv6, "IP address", where);
    return replaced(said, COORDINATES, () => true, "coordinates", where);
  }

  function replaced(text, pattern, is, what, where) {
    return text.replace(pattern, (found) => {
      if (!is(found)) return found;
      note(what, where);
      return GONE;
    });
  }

  // ---- tokens: what a machine has made up. One that stands in several places is the same in all of them, since ids are
  // pointed at ------------------------------------------------------------------------------------------------------

  const UUID = /\b[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}\b/gi;
  const PIECE = /[A-Za-z\d]{10,}/g;
  const known = new Map();

  const isToken = (text) =>
    (/\d/.test(text) && /[a-z]/.test(text) && /[A-Z]/.test(text)) ||
    /^\d{12,}$/.test(text) ||
    (/^[\da-f]{16,}$/i.test(text) && /\d/.test(text)) ||
    (text.length >= 24 && /\d/.test(text));

  function tokens(text, where) {
    const swap = (found) => {
      if (SPEC.includes(found)) return found;
      if (!known.has(found)) known.set(found, `t${known.size + 1}`);
      note("token", where);
      return known.get(found);
    };
    return text.replace(UUID, swap).replace(PIECE, (found) => (isToken(found) ? swap(found) : found));
  }

  // ---- addresses --------------------------------------------------------------------------------------------------

  const WRAPPING = new Map(spec.links.forms.map(({ path, params }) => [path, new Set(params)]));

  function link(value, base, where) {
    const bare = value.trim();
    if (/^data:/i.test(bare)) {
      if (bare.length > 5) note("data URI", where);
      return "data:,";
    }
    if (/^mailto:/i.test(bare)) {
      note("e-mail address", where);
      return "mailto:";
    }
    let parsed;
    try {
      parsed = new URL(bare, base);
    } catch {
      return words(value, where);
    }
    if (!/^https?:$/.test(parsed.protocol)) return bare.startsWith("#") ? tokens(value, where) : value;
    const [, path, query, hash] = /^([^?#]*)(\?[^#]*)?(#.*)?$/s.exec(bare);
    if (!OWN.test(parsed.host)) {
      const kept = (query || "").replace(EMAIL, GONE).replace(COORDINATES, GONE);
      if (kept !== (query || "")) note("link parameter", where);
      const way = replaced(path, COORDINATES, () => true, "coordinates", where);
      return (where === "href" ? way : tokens(way, where)) + tokens(kept, where) + (hash || "");
    }
    const leads = WRAPPING.get(parsed.pathname);
    const pairs = (query || "").slice(1).split("&").map((pair) => {
      const [, name, given] = /^([^=]*)=?(.*)$/s.exec(pair);
      if (!given) return tokens(pair, where);
      if (leads?.has(name)) return pair;
      if (ASKED.has(name)) return `${name}=${refused ? tokens(given, where) : given}`;
      note("link parameter", where);
      return `${name}=`;
    });
    const way = tokens(replaced(path, COORDINATES, () => true, "coordinates", where), where).replace(/\/data=[^/]*/, "/data=");
    const anchor = hash && /=/.test(hash) && !hash.includes(":~:text=") ? "#" : hash || "";
    return way + (query ? `?${pairs.join("&")}` : "") + anchor;
  }

  // Of a frame or of a place for browsers without scripts: where it would have led, without what it would have said.
  const leading = (value, where) =>
    value.replace(/([?&][^=&\s]*=)[^&\s"']+/g, (_, name) => {
      note("link parameter", where);
      return name;
    });

  // ---- a copy -----------------------------------------------------------------------------------------------------

  const PLAIN = new Set(
    ("class role lang dir hidden open type rel target tabindex xmlns viewbox " +
      "viewBox d points transform fill stroke width height start http-equiv charset media colspan rowspan").split(" ").concat(places.plain),
  );
  const ADDRESSES = new Set(
    "href src action formaction poster cite background xlink:href longdesc ping".split(" "),
  );
  const DEFERRED = /^data-(?:href|src|url)$/; // for a script to put in place
  // What identifies a mark of a source, and tells it (castlenb/page/sources.js).
  const MARKS = new Set(spec.answer?.marks);
  const LINKS = new Set(["href", ...(spec.answer?.addresses || [])]);
  const POINTERS = new Set(["id", "for", "aria-controls", "aria-labelledby", "aria-describedby", "aria-owns", "headers"]);
  const LABELS = new Set(["aria-label", "title", "alt", "placeholder", "label", "summary"]);
  const HOOKED = new Set([...SPEC.matchAll(/\[([\w-]+)(?=[\]~|^$*=])/g)].map(([, name]) => name));
  const BUTTONS = new Set(["submit", "button", "reset", "image", "checkbox", "radio"]);
  const METAS = new Set(["viewport", "referrer", "robots", "color-scheme"]);
  const DATA = /^\s*(?:[[{]|%\.@\.|&quot;)/;
  const LONG = 240;

  function redact(document, reading, piece = false) {
    noted = !piece;
    const base = create(document, "base"); // what its links are told from, where the page is not
    set(base, "href", url);
    prepend(head(document), base);
    const { dom, reader } = reading(document);
    const { kept, answers } = piece ? whole(document) : readFrom(document, dom, reader);
    const root = select(document, "html")[0];
    for (const { what, css } of piece ? [] : places.people) {
      for (const element of select(document, css)) if (!kept.has(element)) empty(element, what, css, kept);
    }
    comments(document, answers);
    for (const element of select(document, "*")) {
      if (element === base) continue;
      const stays = kept.has(element);
      const type = nameOf(element);
      if (type === "template" && textOf(content(element))) setText(content(element), ""), note("inline data", "template");
      if (type === "style") styles(element);
      if (type === "meta") meta(element);
      if (type === "input" || type === "textarea") field(element, type);
      for (const name of names(element)) {
        if (PLAIN.has(name)) continue;
        const value = attribute(element, name);
        const said = value && changed(element, type, name, value, stays, dom);
        if (said !== value) set(element, name, said);
      }
    }
    detach(head(document), base);
    const walker = walk(document, root, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const above = parentOf(walker.currentNode);
      if (!above || kept.has(above) || ["style", "title", "textarea"].includes(nameOf(above))) continue;
      const text = textOf(walker.currentNode);
      const said = uris(words(text, "text"), "text");
      if (said !== text) setText(walker.currentNode, said);
    }
  }

  // The elements that are read: those of the results' rows, and all in an answer.
  function readFrom(document, dom, reader) {
    const kept = new Set();
    const keep = (element) => {
      kept.add(element);
      for (const each of within(element, "*")) kept.add(each);
    };
    for (const row of reader.read().results) for (const node of reader.nodesOf(row)) keep(node);
    const areas = AREA ? [...select(document, AREA)] : [];
    const found = WRAPPER ? [...select(document, WRAPPER)] : [];
    const answers = found.filter(
      (each) => !(ALIKE && dom.closest(each, ALIKE)) && !areas.some((area) => each !== area && contains(each, area)),
    );
    for (const each of answers) keep(each);
    return { kept, answers: new Set(answers) };
  }

  function whole(document) {
    const body = select(document, "body")[0];
    return { kept: new Set(within(body, "*")), answers: new Set([body]) };
  }

  // What is left of it is that it was there. Where it holds something that is read, its words are gone through instead.
  function empty(element, what, where, kept) {
    const inside = [...within(element, "*")];
    if (inside.some((each) => kept.has(each)) || (AREA && within(element, AREA).length)) return;
    note(what, where);
    setText(element, "");
    for (const name of names(element)) {
      if (!PLAIN.has(name) && name !== "id" && name !== "style" && !name.startsWith("aria-e")) set(element, name, "");
    }
  }

  // In an answer they tell which source a mark names, and hold its picture.
  function comments(document, answers) {
    const walker = walk(document, document, NodeFilter.SHOW_COMMENT);
    const found = [];
    while (walker.nextNode()) found.push(walker.currentNode);
    for (const each of found) {
      let above = parentOf(each);
      while (above && !answers.has(above)) above = parentOf(above);
      if (above) {
        const text = textOf(each);
        const said = uris(text, "comment");
        if (said !== text) setText(each, said);
        continue;
      }
      if (textOf(each)) note("inline data", "comment");
      detach(nodeAbove(each), each);
    }
  }

  const DATA_URI = /\bdata:(?:image|audio|video|font|application|text)(?:\/|\\u002f|%2F)[^\s"'()<>&]{2,}/gi;

  function styles(element) {
    const text = textOf(element);
    const said = uris(text, "style");
    if (said !== text) setText(element, said);
  }

  const uris = (text, where) =>
    text.replace(DATA_URI, (found) => {
      note("data URI", where);
      return "data:,";
    });

  function meta(element) {
    if (attribute(element, "http-equiv") !== null || METAS.has(attribute(element, "name"))) return;
    if (!attribute(element, "content")) return;
    note("inline data", "meta");
    set(element, "content", "");
  }

  function field(element, type) {
    if (ASKED.has(attribute(element, "name")) && !refused) return;
    if (type === "textarea" && textOf(element)) setText(element, ""), note("form field", type);
    const given = attribute(element, "value");
    if (type === "input" && given && !BUTTONS.has((attribute(element, "type") || "").toLowerCase())) {
      note("form field", type);
      set(element, "value", "");
    }
  }

  function changed(element, type, name, value, stays, dom) {
    if (name === "style") return uris(value, name);
    if (/^(?:data-)?srcset$/.test(name)) return "";
    if (name === "data-inert-src") return leading(value, name);
    if (name === "nonce" || name === "integrity") return "";
    if (ADDRESSES.has(name) || DEFERRED.test(name) || /^(?:https?:)?\/\/|^\/\w|^data:/i.test(value)) {
      if (stays && LINKS.has(name) && dom.follow(element, value)) return value;
      return link(value, url, name);
    }
    if (POINTERS.has(name)) return tokens(value, name);
    if (stays && (LABELS.has(name) || MARKS.has(name) || HOOKED.has(name) || name === "value")) return value;
    if (DEGREES.test(name)) return gone("coordinates", name);
    if (LABELS.has(name) || HOOKED.has(name)) return words(value, name);
    if (type === "input" && name === "value") return words(value, name);
    if (DATA.test(value) || value.length > LONG) return gone("inline data", name);
    return tokens(words(value, name), name);
  }

  function gone(what, where) {
    note(what, where);
    return "";
  }

  const address = (given) => link(nested(given), url, "address");

  // A refusal's address says where it would lead on, as a whole address with its own tokens.
  function nested(whole) {
    return whole.replace(/([?&]continue=)([^&#]+)/, (_, name, given) => {
      try {
        return name + encodeURIComponent(link(decodeURIComponent(given), url, "address"));
      } catch {
        return name;
      }
    });
  }

  return { redact, address, list };
})
