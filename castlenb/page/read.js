// Reads a results page: what it lists, and what it is where it lists nothing.
// It knows no engine. `spec` says where to look and how links lead out; see castlenb/engines/base.py.
// It only reads: nothing on the page is written, focused, scrolled or clicked.
//
//   candidates()     how many headings could be rows: one query, to tell whether `results` is worth another call
//   results(limit?)  rows in page order
//   read(limit?)     the rows, the state of the page and what a careful reader would want to know
(function (spec) {
  const { parts, links, refusals } = spec;

  // A <form> answers `form.parentNode` with a field of that name, and a document answers `document.body` with an
  // <img> of that name, in isolated worlds too: getters and methods are taken from the prototypes.
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
  const typeOf = getter(Node, "nodeType");
  const dataOf = getter(CharacterData, "data");
  const textOf = getter(Node, "textContent");
  const nameOf = getter(Element, "localName");
  const baseOf = getter(Node, "baseURI");
  const contains = method(Node, "contains");
  const matches = method(Element, "matches");
  const closest = method(Element, "closest");
  const attribute = method(Element, "getAttribute");
  const displayed = method(Element, "checkVisibility"); // display only: columns wait at visibility:hidden (2024-03)
  const within = (scope, css) => Element.prototype.querySelectorAll.call(scope, css);
  const first = (scope, css) => Element.prototype.querySelector.call(scope, css);
  const all = (css) => (css ? Document.prototype.querySelectorAll.call(document, css) : []);

  const list = (part) => (parts[part] || []).join(", ");
  const AREA = list("area");
  const CITE = list("cite");
  const FURNITURE = [list("furniture"), list("answer")].filter(Boolean).join(", ");
  const TITLES = list("heading");
  const HEADINGS = parts.scope.length ? `:is(${list("scope")}) :is(${TITLES})` : TITLES;
  const OWN = new RegExp(links.own);
  const NEVER = links.never.map((pattern) => new RegExp(pattern));

  // ---- text -------------------------------------------------------------------------------------------------------
  // By a walk over text nodes, not by innerText: that needs layout, and a background tab may have none.

  const BLOCK = new Set(
    ("address article aside blockquote br dd details div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 " +
      "header hr li main nav ol p pre section summary table td th tr ul").split(" "),
  );
  const SILENT = new Set("script style noscript template svg math-annotation select textarea".split(" "));

  const hiddenOnItsOwn = (element) =>
    attribute(element, "hidden") !== null || /(?:^|;)\s*display\s*:\s*none/i.test(attribute(element, "style") || "");

  // The lines of a node: text between block boundaries, spaces collapsed. `skip` drops elements.
  function lines(root, skip) {
    const out = [];
    let line = "";
    const end = () => {
      const text = collapse(line);
      if (text) out.push(text);
      line = "";
    };
    (function walk(node) {
      for (let child = firstOf(node); child; child = nextOf(child)) {
        const type = typeOf(child);
        if (type === 3) line += dataOf(child);
        if (type !== 1) continue;
        const name = nameOf(child);
        if (SILENT.has(name) || hiddenOnItsOwn(child) || (skip && skip(child))) continue;
        const block = BLOCK.has(name);
        if (block) end();
        walk(child);
        if (block) end();
      }
    })(root);
    end();
    return out;
  }

  const collapse = (text) => text.replace(/[\s\u200b\u200e\u200f]+/g, " ").trim();
  const textIn = (root, skip) => lines(root, skip).join(" ");

  // ---- links ------------------------------------------------------------------------------------------------------

  const DECODE = {
    percent: (value) => decodeURIComponent(value),
    base64url: (value) => {
      const plain = atob(value.replace(/-/g, "+").replace(/_/g, "/"));
      return new TextDecoder("utf-8", { fatal: true }).decode(Uint8Array.from(plain, (c) => c.charCodeAt(0)));
    },
  };

  const parse = (address, base) => {
    try {
      return new URL(address, base);
    } catch {
      return null;
    }
  };
  const isWeb = (url) => url !== null && (url.protocol === "https:" || url.protocol === "http:");
  const isNever = (url) => NEVER.some((pattern) => pattern.test(url.host + url.pathname));

  // Where a link leads: {url, link, link_form, fragment, own}, or null where it can not be a result's.
  function follow(anchor) {
    const served = parse(attribute(anchor, "href"), baseOf(anchor));
    if (!isWeb(served)) return null;
    const link = served.href;
    const form = OWN.test(served.host) ? links.forms.find((each) => each.path === served.pathname) : undefined;
    if (form === undefined) return isNever(served) ? null : { ...target(served), link, link_form: "direct", own: OWN.test(served.host) };
    if (form.form === "encrypted") return { url: null, fragment: null, link, link_form: "encrypted", own: false };
    const found = unwrap(served, form);
    // Undecodable: the link as served is all there is; a shown address is shortened, and no address at all.
    if (found === undefined) return { url: null, fragment: null, link, link_form: "redirect", own: false };
    return found && isWeb(found) && !isNever(found) ? { ...target(found), link, link_form: "redirect", own: false } : null;
  }

  // The target named in a wrapped link: a URL; null when none is named; undefined when it can not be decoded.
  // The query is cut up here rather than by URLSearchParams, which turns a target's own "+" into a space.
  function unwrap(served, form) {
    const pairs = served.search.slice(1).split("&").map((pair) => pair.split(/=(.*)/s));
    for (const name of form.params) {
      const pair = pairs.find(([key, value]) => key === name && value);
      if (!pair) continue;
      try {
        return parse(DECODE[form.decode](pair[1].slice(form.prefix)), served.origin);
      } catch {
        return undefined;
      }
    }
    return null;
  }

  // A text fragment points into the page and is no part of its address; an ordinary #anchor is.
  function target(url) {
    const [, before, fragment] = /^(.*?)#?:~:(?:text=)?(.*)$/s.exec(url.hash) || [null, url.hash, null];
    return { url: url.href.slice(0, url.href.length - url.hash.length) + before, fragment };
  }

  // ---- rows -------------------------------------------------------------------------------------------------------

  // The results area may lie inside something that later holds the answer (field notes 2026-08-04: #m-x-content
  // briefly wraps the whole page). Furniture is what does not contain the area.
  function inFurniture(element, areas) {
    if (!FURNITURE) return false;
    for (let region = closest(element, FURNITURE); region; ) {
      const found = region;
      if (!areas.some((area) => contains(found, area))) return true;
      const above = parentOf(region);
      region = above && closest(above, FURNITURE);
    }
    return false;
  }

  const linkOf = (heading) => closest(heading, "a[href]") || first(heading, "a[href]");

  // Folded rows are no rows. But where one fold holds more of them than the page shows, it is the column itself that
  // still waits for its scripts.
  function shown(found) {
    const hidden = found.filter((each) => !displayed(each.heading));
    if (!hidden.length) return found;
    const folds = new Map();
    for (const each of hidden) {
      let fold = each.heading;
      for (let above = parentOf(fold); above && !displayed(above); above = parentOf(above)) fold = above;
      each.fold = fold;
      folds.set(fold, (folds.get(fold) || 0) + 1);
    }
    const open = found.length - hidden.length;
    return found.filter((each) => !each.fold || folds.get(each.fold) > Math.max(1, open));
  }

  const candidates = () => all(HEADINGS).length;

  function headed() {
    const areas = [...all(AREA)];
    if (parts.row.length) {
      const found = [];
      for (const row of all(list("row"))) {
        const heading = first(row, TITLES);
        const anchor = heading && linkOf(heading);
        if (anchor && !inFurniture(row, areas)) found.push({ heading, anchor, block: row });
      }
      return found;
    }
    const found = [];
    for (const heading of all(HEADINGS)) {
      const anchor = linkOf(heading);
      if (anchor && !inFurniture(heading, areas)) found.push({ heading, anchor });
    }
    return found;
  }

  // The lines of a row that are neither its header nor furniture, and the box they were found in: from the header up
  // until the box holds more, but never so far that it holds another heading.
  function body(candidate) {
    const { heading, anchor } = candidate;
    const header = new Set(lines(anchor));
    const skip = (element) => {
      const name = nameOf(element);
      return name === "a" || name === "button" || name === "cite" || element === heading ||
        (CITE && matches(element, CITE)) || attribute(element, "role") === "button" ||
        (FURNITURE && matches(element, FURNITURE));
    };
    const fresh = (box) => lines(box, skip).filter((line) => !header.has(line));
    if (candidate.block) return { box: candidate.block, found: fresh(candidate.block) };
    let box = contains(anchor, heading) ? anchor : heading;
    for (let above = parentOf(box); above && !matches(above, AREA || "body"); above = parentOf(above)) {
      const headings = within(above, TITLES);
      if (headings.length > 1 && [...headings].some((each) => each !== heading && linkOf(each))) break;
      box = above;
      const found = fresh(box);
      if (found.length) return { box, found };
    }
    return { box, found: [] };
  }

  function describe(candidate, lead) {
    const title = textIn(candidate.heading);
    const { box, found } = body(candidate);
    const cite = CITE ? first(box, CITE) : null;
    if (lead.own && !cite) return null; // the engine's own pages are results where their address is shown, else modules
    let text = null;
    for (const css of parts.snippet) {
      const node = first(box, css) || (parentOf(box) && within(parentOf(box), TITLES).length === 1 && first(parentOf(box), css));
      if (node) { text = node; break; }
    }
    const skip = (element) => nameOf(element) === "a" || nameOf(element) === "button";
    let snippet = text ? textIn(text, skip) : found.join(" ");
    let date = null;
    const dated = /^(.{4,40}?) [—–-] /.exec(snippet);
    if (dated && /\p{N}/u.test(dated[1])) { date = dated[1]; snippet = snippet.slice(dated[0].length); }
    return { title, url: lead.url, link: lead.link, link_form: lead.link_form, fragment: lead.fragment, snippet: snippet || null, site: siteOf(lead, cite, candidate), date };
  }

  function siteOf(lead, cite, candidate) {
    const host = lead.url ? new URL(lead.url).host : hostIn(cite ? textIn(cite) : "");
    if (host) return host.replace(/^www\.(?=[^.]+\.)/, "");
    const header = candidate.anchor;
    const name = textIn(header, (element) => element === candidate.heading || (CITE && matches(element, CITE)));
    return name || null;
  }

  // The host in an address as shown: "https://shop.example › widgets", "shop.example › widgets".
  function hostIn(shownAddress) {
    const token = shownAddress.split(/[\s›]/)[0];
    const url = parse(/^https?:\/\//i.test(token) ? token : `https://${token}`);
    return url && /^(?:[^\s.]+\.)+[^\s.\d]{2,}$/u.test(url.host) ? url.host : null;
  }

  function results(limit = Infinity) {
    const rows = [];
    const seen = new Set();
    for (const candidate of shown(headed())) {
      const lead = follow(candidate.anchor);
      if (!lead) continue;
      const row = describe(candidate, lead);
      if (!row || !row.title) continue;
      // One row for one target. The title is part of it: pages whose addresses were blanked list ten rows, not one.
      const key = `${row.url || row.link}\n${row.title}`;
      if (seen.has(key)) continue;
      seen.add(key);
      rows.push(row);
      if (rows.length >= limit) break;
    }
    return rows;
  }

  // ---- state ------------------------------------------------------------------------------------------------------

  const said = (root, skip) => lines(root, skip).length > 0;
  const hasContent = (area) =>
    first(area, "a[href]") !== null || said(area, (element) => /^h[1-6]$/.test(nameOf(element)));

  function holds(rule, areas) {
    if (rule.unless_area && areas.length) return false;
    if (rule.address) return new RegExp(rule.address).test(location.host + location.pathname);
    if (rule.css) return all(rule.css).length > 0;
    return [...all("noscript")].some((node) =>
      (textOf(node) + (attribute(node, "data-inert-src") || "")).includes(rule.noscript));
  }

  // Results first; then the address; then forms and ids; then the engine's own "nothing found". Never a page's words.
  function judge(rows) {
    const loading = document.readyState === "loading";
    const areas = [...all(AREA)];
    const state = (page_state, challenge_kind, conclusive) => ({ page_state, challenge_kind, conclusive });
    if (rows.length) return state("results", null, false);
    const rule = refusals.find((each) => holds(each, areas));
    // While the parser is at work, only the address can not change: results may follow an overlay's form.
    if (rule) return state("challenge", rule.kind, rule.conclusive && (Boolean(rule.address) || !loading));
    if (areas.some(hasContent)) return state("unparseable", null, false);
    const aside = list("aside");
    const skip = (element) => nameOf(element) === "a" || (aside && matches(element, aside));
    if ([...all(list("nothing"))].some((each) => said(each, skip))) return state("no_results", null, !loading);
    return state("suspected_block", null, false);
  }

  function read(limit) {
    const rows = results(limit);
    const warnings = [];
    if (rows.length) {
      for (const rule of refusals) {
        if (rule.css && !rule.unless_area && all(rule.css).length) warnings.push(`a ${rule.kind} dialog lies over the results`);
      }
    }
    return {
      ...judge(rows), results: rows, warnings, url: location.href, title: document.title,
      lang: attribute(document.documentElement, "lang"), ready: document.readyState,
    };
  }

  return { candidates, results, read };
})
