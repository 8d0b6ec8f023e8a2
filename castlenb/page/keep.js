// Makes of a page that was taken (take.js) what a capture keeps, as JSON text: {html, answer, frames, url, redacted}.
//
// Runs where the page is not. Its text is parsed into a copy, which is made inert (inert.js) and redacted (redact.js). Such
// a copy has no window: nothing of it loads, and no element of the page's own making comes to life in it. `answer` is where
// the answer stands in `html`, [from, to], or null.
(function ({ html: source, place, frames, url, scripts }, reading, inert, redactor) {
  const getter = (type, name) => Function.prototype.call.bind(Object.getOwnPropertyDescriptor(type.prototype, name).get);
  const method = (type, name) => Function.prototype.call.bind(type.prototype[name]);
  const root = getter(Document, "documentElement");
  const doctype = getter(Document, "doctype");
  const outer = getter(Element, "outerHTML");
  const select = method(Document, "querySelectorAll");
  const set = method(Element, "setAttribute");

  const { redact, address, list } = redactor;
  let { html } = inert(source, (copy) => redact(copy, reading));
  const answer = place && span();
  const pieces = frames.map(([t, text]) => [t, text && inert(text, (piece) => redact(piece, reading, true)).body]);
  const kept = address(url);
  const gone = scripts ? [{ what: "inline data", where: "script", count: scripts }] : [];
  return JSON.stringify({ html, answer, frames: pieces, url: kept, redacted: [...gone, ...list()] });

  // Its element is marked, the page written out, and the mark taken out of the text again.
  function span() {
    const MARK = "data-castlenb-answer";
    const copy = new DOMParser().parseFromString(html, "text/html");
    const element = select(copy, place.css)[place.n];
    if (!element) return null;
    const { length } = outer(element);
    set(element, MARK, "");
    const type = doctype(copy);
    const marked = (type ? `${new XMLSerializer().serializeToString(type)}\n` : "") + outer(root(copy));
    const at = marked.indexOf(` ${MARK}=""`);
    html = marked.replace(` ${MARK}=""`, "");
    const from = marked.lastIndexOf("<", at);
    return [from, from + length];
  }
})
