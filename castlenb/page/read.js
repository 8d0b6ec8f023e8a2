// Reads a results page: what it lists, and what it is where it lists nothing.
// It knows no engine: `spec` says where to look and how links lead out (castlenb/engines/base.py).
// It only reads. Nothing on the page is written, focused, scrolled or clicked.
//
//   candidates()     how many headings could be rows: one query, tells whether `results` is worth another call
//   results(limit?)  the rows, in page order
//   whole(row)       whether the page goes on behind a row of `results`: until then the parser may be inside it
//   read(rows?)      the rows (those, where they have just been read), the state of the page, and what a careful reader
//                    would want to know
(function (spec) {
  const { parts, links, refusals } = spec;

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
  const kindOf = getter(Node, "nodeType");
  const textOf = getter(Node, "textContent");
  const baseOf = getter(Node, "baseURI");
  const nameOf = getter(Element, "localName");
  const readyOf = getter(Document, "readyState");
  const titleOf = getter(Document, "title");
  const rootOf = getter(Document, "documentElement");
  const contains = method(Node, "contains");
  const matches = method(Element, "matches");
  const closest = method(Element, "closest");
  const attribute = method(Element, "getAttribute");
  const first = method(Element, "querySelector");
  const position = method(Node, "compareDocumentPosition");
  const select = method(Document, "querySelectorAll");
  // Display alone: some layouts keep the whole column at visibility:hidden until their scripts run (seen 2024-03).
  const displayed = method(Element, "checkVisibility");

  const list = (...names) => names.flatMap((name) => parts[name]).join(", ");
  const ROW = list("row");
  const TITLE = list("heading");
  const SCOPE = list("scope");
  const AREA = list("area");
  const MARK = list("mark");
  const CITE = list("cite");
  const SNIPPET = list("snippet");
  const FURNITURE = list("furniture", "answer");
  const ASIDE = list("aside");
  const is = (element, css) => css !== "" && matches(element, css);

  // Everything that one of several selectors finds, in page order. One query each: the browser answers "#rso" and "h3"
  // from an index, and "#rso, h3" by asking every element.
  function all(selectors) {
    const lists = selectors.map((css) => [...select(document, css)]).filter((found) => found.length);
    if (lists.length < 2) return lists[0] || [];
    const before = (a, b) => (position(a, b) & Node.DOCUMENT_POSITION_FOLLOWING ? -1 : 1);
    return [...new Set(lists.flat())].sort(before);
  }

  // ---- text: a walk over text nodes. innerText needs layout, which a background tab may not have ------------------

  const BLOCK = new Set(
    ("address article aside blockquote br dd details div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 h5 " +
      "h6 header hr li main nav ol p pre section summary table td th tr ul").split(" "),
  );
  const SILENT = new Set("script style noscript template svg select textarea".split(" "));
  const collapse = (text) => text.replace(/\s+/g, " ").trim();
  const says = (text) => /[\p{L}\p{N}]/u.test(text);
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
  function follow(anchor) {
    const served = parse(attribute(anchor, "href"), baseOf(anchor));
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
        const target = DECODE[wrapping.decode](value.slice(wrapping.prefix));
        return /^(?:[a-z][a-z\d+.-]*:|\/)/i.test(target) ? parse(target, served.origin) : null;
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

  // The host in an address as shown: "https://shop.example › widgets".
  function hostIn(shown) {
    const token = shown.split(/[\s›]/)[0];
    const host = parse(/^https?:\/\//i.test(token) ? token : `https://${token}`)?.host || "";
    return /^(?:[^\s.]+\.)+[^\s.\d]{2,}$/.test(host) ? host : null;
  }

  // ---- rows -------------------------------------------------------------------------------------------------------

  const linkOf = (heading) => closest(heading, "a[href]") || first(heading, "a[href]");

  // Whether an element lies in something that lists no results. What holds the results area itself is not furniture:
  // the answer's container briefly wraps the whole page (field notes, 2026-08-04).
  function inFurniture(element, areas) {
    let region = FURNITURE && closest(element, FURNITURE);
    while (region) {
      const around = region;
      if (!areas.some((area) => contains(around, area))) return true;
      const above = parentOf(region);
      region = above && closest(above, FURNITURE);
    }
    return false;
  }

  // Headings with a link that could be rows. `before` and `after` are the linked headings next to each, rows or not:
  // a row's box ends where another begins.
  function headings(selectors) {
    const areas = all(parts.area);
    if (ROW) {
      return all(parts.row).flatMap((box) => {
        const heading = first(box, TITLE);
        const anchor = heading && linkOf(heading);
        return anchor && !inFurniture(box, areas) ? [{ heading, anchor, box }] : [];
      });
    }
    const linked = [];
    const anywhere = selectors !== parts.heading || SCOPE === "";
    for (const heading of all(selectors)) {
      const anchor = linkOf(heading);
      if (anchor && (anywhere || closest(heading, SCOPE))) linked.push({ heading, anchor });
    }
    linked.forEach((each, at) => {
      each.before = linked[at - 1]?.heading;
      each.after = linked[at + 1]?.heading;
    });
    return linked.filter(({ heading, anchor }) => !inFurniture(contains(anchor, heading) ? heading : anchor, areas));
  }

  // Folded rows are no rows. But where one fold holds more of them than the page shows, it is the column itself that
  // still waits for its scripts.
  function unfolded(found) {
    const folds = new Map();
    for (const each of found) {
      if (displayed(each.heading)) continue;
      let fold = each.heading;
      for (let above = parentOf(fold); above && !displayed(above); above = parentOf(above)) fold = above;
      folds.set(fold, [...(folds.get(fold) || []), each]);
    }
    if (!folds.size) return found;
    const folded = new Set([...folds.values()].flat());
    const shown = found.length - folded.size;
    for (const rows of folds.values()) {
      if (rows.length > Math.max(1, shown)) for (const each of rows) folded.delete(each);
    }
    return found.filter((each) => !folded.has(each));
  }

  // A row's title with its link, and the boxes around both, from the inside outwards, up to where another row or the
  // results area begins.
  function boxesOf({ heading, anchor, box, before, after }) {
    if (box) return [box];
    const boxes = [contains(anchor, heading) ? anchor : heading];
    for (let above = parentOf(boxes[0]); above && !is(above, AREA); above = parentOf(above)) {
      if ((before && contains(above, before)) || (after && contains(above, after))) break;
      boxes.push(above);
    }
    return boxes;
  }

  // What a row says under its title, and the box that holds both: where the engine marks it, else in the first box
  // that says more than the header does. A header's lines can stand there twice; they are never news.
  function underTitle(candidate, boxes) {
    for (const box of boxes) {
      const node = SNIPPET ? first(box, SNIPPET) : null;
      if (node) return { box, node, text: textIn(node, isControl) };
    }
    const bare = (text) => text.replace(/\s+/g, "");
    const header = bare(textOf(candidate.anchor));
    const skip = (element) =>
      element === candidate.heading || isControl(element) || is(element, CITE) || is(element, FURNITURE);
    for (const box of boxes) {
      if (box === candidate.anchor || box === candidate.heading) continue;
      const news = lines(box, skip).filter((line) => says(line) && !header.includes(bare(line)));
      if (news.length) return { box, node: null, text: news.join(" ") };
    }
    return { box: boxes[0], node: null, text: "" };
  }

  // "Read more", "Translate this page", "About this result".
  const isControl = (element) =>
    nameOf(element) === "a" || nameOf(element) === "button" || attribute(element, "role") === "button";

  // A date at the head of a snippet stands in an element of its own, set off by a dash: in any language.
  function dateAtHead(node) {
    const walker = Document.prototype.createTreeWalker.call(document, node, NodeFilter.SHOW_TEXT);
    const next = () => {
      while (walker.nextNode()) if (collapse(textOf(walker.currentNode))) return walker.currentNode;
      return null;
    };
    const head = next();
    if (!head || nameOf(parentOf(head)) !== "span" || textOf(parentOf(head)).length > 40) return null;
    const [, date, dash] = /^\s*(.*?)\s*([—–-]?)\s*$/s.exec(textOf(head));
    if (!/\p{N}/u.test(date)) return null;
    return dash || /^\s*[—–-]\s/.test(textOf(next() || head)) ? collapse(date) : null;
  }

  const tidy = (text) => {
    const plain = text.replace(/^[\s·•|—–-]+|[\s·•|]+$/g, "");
    return says(plain) ? plain : null;
  };

  const outermost = new WeakMap(); // the largest box of each row that was returned

  function row(candidate) {
    const lead = follow(candidate.anchor);
    if (!lead) return null;
    const title = textIn(candidate.heading);
    const boxes = boxesOf(candidate);
    const { box, node, text } = underTitle(candidate, boxes);
    const marked = MARK !== "" && (first(box, MARK) !== null || closest(candidate.heading, MARK) !== null);
    const cite = CITE ? first(box, CITE) : null;
    const address = cite ? textIn(cite) : "";
    const host = lead.target ? lead.target.host : hostIn(address);
    const name = () =>
      textIn(candidate.anchor, (element) => element === candidate.heading || is(element, CITE)) || null;
    let date = node && dateAtHead(node);
    const snippet = date && text.startsWith(date) ? text.slice(date.length) : text;
    if (!date && address && !hostIn(address)) date = / · ([^·]*\p{N}[^·]*)$/u.exec(address)?.[1] || null;
    const said = {
      title,
      ...split(lead.target),
      link: lead.link,
      link_form: lead.form,
      snippet: tidy(snippet),
      site: host ? host.replace(/^www\.(?=[^.]+\.)/, "") : name(),
      date,
    };
    outermost.set(said, boxes[boxes.length - 1]);
    return { said, marked, home: lead.form === "direct" && isOwn(lead.target) };
  }

  function rows(selectors, limit) {
    const read = unfolded(headings(selectors)).map(row).filter((each) => each && each.said.title);
    // Where rows are marked, a headed link without the mark is a module's. The engine's own pages can be results, and
    // its modules link to them: those are never taken unmarked.
    const marks = selectors === parts.heading && read.some((each) => each.marked);
    const found = new Map();
    for (const { said, marked, home } of read) {
      if (MARK && !marked && (marks || home)) continue;
      // Each target once. The title is part of the key: saved pages with blanked addresses list ten rows, not one.
      const key = `${said.url || said.link}\n${said.title}`;
      if (!found.has(key)) found.set(key, said);
      if (found.size >= limit) break;
    }
    return [...found.values()];
  }

  const candidates = () => all(ROW ? parts.row : parts.heading).length;
  const results = (limit = Infinity) => rows(parts.heading, limit);

  function whole(row) {
    for (let node = outermost.get(row); node; node = parentOf(node)) {
      for (let next = nextOf(node); next; next = nextOf(next)) {
        if (kindOf(next) === Node.ELEMENT_NODE || collapse(textOf(next))) return true;
      }
    }
    return false;
  }

  // ---- state ------------------------------------------------------------------------------------------------------

  const speaks = (root, skip) => lines(root, skip).some(says);
  // Headings name what follows them, here even where nothing does: "Search Results", "Page Navigation".
  const isCaption = (element) => /^h[1-6]$/.test(nameOf(element));
  const holdsContent = (area) => speaks(area, (element) => isCaption(element) || is(element, FURNITURE));

  function holds(rule, areas) {
    if (rule.unless_area && areas.length) return false;
    if (rule.address) return new RegExp(rule.address).test(location.host + location.pathname);
    if (rule.css.length) return all(rule.css).length > 0;
    return all(["noscript"]).some((node) =>
      (textOf(node) + (attribute(node, "data-inert-src") || "")).includes(rule.noscript));
  }

  // Results first; then the address; then forms and ids; then the engine's own "nothing found". Never a page's words:
  // engines echo the query.
  function judge(found, loading) {
    const state = (page_state, conclusive = false, challenge_kind = null) => ({ page_state, challenge_kind, conclusive });
    if (found.length) return state("results");
    const areas = all(parts.area);
    const rule = refusals.find((each) => holds(each, areas));
    // While the parser is at work only the address is certain: an overlay's form can come before the results.
    if (rule) return state("challenge", rule.conclusive && (Boolean(rule.address) || !loading), rule.kind);
    if (areas.some(holdsContent)) return state("unparseable");
    const beside = (element) => isControl(element) || isCaption(element) || is(element, ASIDE);
    if (all(parts.nothing).some((each) => speaks(each, beside))) return state("no_results", !loading);
    return state("suspected_block");
  }

  function read(known = null) {
    const ready = readyOf(document);
    const loading = ready === "loading";
    const warnings = [];
    let found = known || results();
    // Only on a page that is all there: while it comes in, its other blocks come before its rows.
    if (!found.length && !loading) {
      found = rows(parts.last_resort, Infinity);
      if (found.length) warnings.push("no result is marked as one: these were taken from the page's other headings");
    }
    if (found.length) {
      const over = refusals.filter((rule) => rule.css.length && !rule.unless_area && holds(rule, []));
      for (const rule of over) warnings.push(`a ${rule.kind} form lies over the results`);
    }
    return {
      ...judge(found, loading),
      results: found,
      warnings,
      url: location.href,
      title: titleOf(document),
      lang: attribute(rootOf(document), "lang"),
      ready,
    };
  }

  return { candidates, results, whole, read };
})
