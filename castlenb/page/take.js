// Takes the page for a capture, as JSON text: {html, answer, frames, url, redacted}.
//
// The page is written out once and not touched: it is a copy, parsed from that text, which is made inert (inert.js) and
// redacted (redact.js). A copy parsed so has no window: nothing of it loads, no element of the page's own making comes to
// life in it, as it would in a clone. `answer` is where the answer stands in `html`, [from, to], or null; `frames` are its
// own mark-up at each of its changes, [t, html], where they were kept.
(function (spec, places, reading, inert, redactor, { answers, growth }) {
  const MOST = 16e6; // characters: a page of that size is no results page
  const getter = (type, name) => Function.prototype.call.bind(Object.getOwnPropertyDescriptor(type.prototype, name).get);
  const method = (type, name) => Function.prototype.call.bind(type.prototype[name]);
  const root = getter(Document, "documentElement");
  const outer = getter(Element, "outerHTML");
  const select = method(Document, "querySelectorAll");
  const set = method(Element, "setAttribute");
  const serialise = (node) => new XMLSerializer().serializeToString(node);
  const parse = (text) => new DOMParser().parseFromString(text, "text/html");

  const type = getter(Document, "doctype")(document);
  const source = (type ? `${serialise(type)}\n` : "") + outer(root(document));
  if (source.length > MOST) throw new Error(`the page has ${source.length} characters, more than a capture holds`);
  const place = answers?.place() ?? null;
  const { redact, address, list } = redactor(spec, places);
  let { html } = inert(source, (copy) => redact(copy, reading));
  const answer = place && span();
  const scripts = select(document, "script").length;
  const gone = scripts ? [{ what: "inline data", where: "script", count: scripts }] : [];
  const url = address(location.href);
  return JSON.stringify({ html, answer, frames: frames(), url, redacted: [...gone, ...list()] });

  // Its element is marked, the page written out, and the mark taken out of the text again.
  function span() {
    const MARK = "data-castlenb-answer";
    const copy = parse(html);
    const element = select(copy, place.css)[place.n];
    if (!element) return null;
    const { length } = outer(element);
    set(element, MARK, "");
    const head = getter(Document, "doctype")(copy);
    const marked = (head ? `${serialise(head)}\n` : "") + outer(root(copy));
    const at = marked.indexOf(` ${MARK}=""`);
    html = marked.replace(` ${MARK}=""`, "");
    const from = marked.lastIndexOf("<", at);
    return [from, from + length];
  }

  function frames() {
    return (growth?.frames() ?? []).map(([t, text]) => {
      if (!text) return [t, ""];
      return [t, inert(text, (piece) => redact(piece, reading, true)).body];
    });
  }
})
