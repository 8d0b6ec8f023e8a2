// Reads a results page: what it lists, and what it is where it lists nothing.
// It knows no engine: `spec` says where to look and how links lead out (castlenb/engines/base.py).
// It only reads. Nothing on the page is written, focused, scrolled or clicked.
//
//   candidates()     how many headings could be rows: one query, tells whether `results` is worth another call
//   mayHold(node)    whether a node that has come is such a heading or holds one
//   results(limit?)  the rows, in page order
//   nodesOf(row)     where a row of `results` was read: its title, its link, and what holds both and its text
//   whole(row)       whether the page goes on behind a row of `results`: until then the parser may be inside it
//   read(rows?)      the rows (those, where they have just been read), the state of the page, and what a careful reader
//                    would want to know
(function (spec, dom, document) {
  const { parts, refusals } = spec;
  const { parentOf, nextOf, kindOf, textOf, nameOf, contains, closest, attribute, first } = dom;
  const { is, all, collapse, says, lines, textIn, parse, isOwn, follow, split } = dom;

  const list = (...names) => names.flatMap((name) => parts[name]).join(", ");
  const ROW = list("row");
  const TITLE = list("heading");
  const SCOPE = list("scope");
  const AREA = list("area");
  const MARK = list("mark");
  const CITE = list("cite");
  const SNIPPET = list("snippet");
  const DATE = list("date");
  const FURNITURE = list("furniture", "answer");
  const NOTHING = list("nothing");
  const ASIDE = list("aside");
  const CLOSED = '[hidden], [style*="display:none" i], [style*="display: none" i], details:not([open]) > :not(summary)';

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

  // What is folded away, told by the mark-up alone: asking for styles would have the browser work them out for the whole
  // page, 5 ms at the median and 45 at the worst of the saved pages, on which it told nothing more than this does.
  function folds() {
    const ids = all(["[aria-expanded=false][aria-controls]"])
      .flatMap((control) => attribute(control, "aria-controls").split(/\s+/));
    const panels = ids.map((id) => dom.byId(document, id)).filter(Boolean);
    return (element) => {
      const around = panels.filter((panel) => contains(panel, element));
      for (let above = element; above; above = parentOf(above)) {
        above = closest(above, CLOSED);
        if (!above) break;
        around.push(above);
      }
      return around.reduce((outer, each) => (outer && contains(outer, each) ? outer : each), null);
    };
  }

  // Folded rows are no rows. But where one fold holds more of them than the page shows, it is the column itself that
  // still waits for its scripts.
  function unfolded(found) {
    const foldOf = folds();
    const folded = new Map(found.map((each) => [each, foldOf(each.heading)]));
    const held = new Map();
    for (const fold of folded.values()) held.set(fold, (held.get(fold) || 0) + 1);
    const shown = held.get(null) || 0;
    return found.filter((each) => {
      const fold = folded.get(each);
      return !fold || held.get(fold) > Math.max(1, shown);
    });
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
      if (node) return { box, node, text: textIn(node, isNoise) };
    }
    // Where the parts of a row are rows of a table, what is under its title is beside its box.
    const last = boxes[boxes.length - 1];
    for (let next = SNIPPET && !candidate.box && nextOf(last); next; next = nextOf(next)) {
      if (candidate.after && contains(next, candidate.after)) break;
      if (kindOf(next) !== Node.ELEMENT_NODE) continue;
      const node = is(next, SNIPPET) ? next : first(next, SNIPPET);
      if (node) return { box: last, node, text: textIn(node, isNoise) };
    }
    const bare = (text) => text.replace(/\s+/g, "");
    const header = bare(textOf(candidate.anchor));
    const skip = (element) => element === candidate.heading || isNoise(element) || is(element, CITE);
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
  const isNoise = (element) => isControl(element) || is(element, FURNITURE);

  // A date at the head of a snippet stands in an element of its own, set off by a dash: in any language.
  function dateAtHead(node) {
    const walker = dom.texts(node);
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
  const sources = new WeakMap(); // what it was read from

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
    const dated = DATE && first(box, DATE);
    let date = dated ? tidy(textIn(dated)) : node && dateAtHead(node);
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
    sources.set(said, [candidate.heading, candidate.anchor, box, node, dated].filter(Boolean));
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

  const CANDIDATES = ROW ? parts.row : parts.heading;
  const CANDIDATE = CANDIDATES.join(", ");
  const candidates = () => all(CANDIDATES).length;
  const mayHold = (node) =>
    kindOf(node) === Node.ELEMENT_NODE && (is(node, CANDIDATE) || first(node, CANDIDATE) !== null);
  const results = (limit = Infinity) => rows(parts.heading, limit);

  const nodesOf = (row) => sources.get(row) || [];

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
  const holdsContent = (area) =>
    speaks(area, (element) => isCaption(element) || is(element, FURNITURE) || is(element, NOTHING));

  function holds(rule, areas) {
    if (rule.unless_area && areas.length) return false;
    if (rule.address) return new RegExp(rule.address).test(location.host + location.pathname);
    if (rule.css.length) return dom.find(document, rule.css.join(", ")) !== null;
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
    // In the results area itself a heading can be what says it; beside the area, headings name what else is there.
    const inArea = (each) => areas.some((area) => contains(area, each));
    const saysSo = (each) => speaks(each, inArea(each) ? isControl : beside);
    if (all(parts.nothing).some(saysSo)) return state("no_results", !loading);
    return state("suspected_block");
  }

  // Selectors that find something on every page with results, and do not on this one: nothing, too much, or, of what
  // holds the results, something that holds none of them.
  function drift(found) {
    const boxes = found.map((each) => outermost.get(each)).filter(Boolean);
    const fits = (part, css, most) => {
      if (most === null) return dom.find(document, css) !== null;
      const all = [...dom.select(document, css)];
      const holds = (each) => boxes.some((box) => contains(each, box));
      return all.length > 0 && all.length <= most && (!["scope", "area"].includes(part) || all.some(holds));
    };
    const asked = ({ part, when }) => !part.startsWith("answer") && (!when || dom.find(document, when) !== null);
    return spec.expected.filter((each) => asked(each) && !fits(each.part, each.css, each.most)).map(({ part, css }) => [part, css]);
  }

  function read(known = null) {
    const ready = dom.readyOf(document);
    const loading = ready === "loading";
    const warnings = [];
    const unsure = [];
    let found = known || results();
    // Only on a page that is all there: while it comes in, its other blocks come before its rows.
    if (!found.length && !loading) {
      found = rows(parts.last_resort, Infinity);
      if (found.length) unsure.push("no result is marked as one: these were taken from the page's other headings");
    }
    if (found.length) {
      const over = refusals.filter((rule) => rule.css.length && !rule.unless_area && holds(rule, []));
      for (const rule of over) warnings.push(`a form (${rule.kind}) lies over the results`);
    }
    return {
      ...judge(found, loading),
      results: found,
      warnings: [...unsure, ...warnings],
      unsure,
      drift: found.length ? drift(found) : [],
      url: location.href,
      title: dom.titleOf(document),
      lang: attribute(dom.rootOf(document), "lang"),
      ready,
    };
  }

  return { candidates, mayHold, results, nodesOf, whole, read };
})
