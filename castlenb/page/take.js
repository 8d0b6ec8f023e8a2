// Takes the page for a capture, as JSON text: {html, place, frames, url, scripts}.
//
// The page is written out and not touched. Nothing is parsed here: a page can forbid that (require-trusted-types-for holds
// in isolated worlds as well, Chromium 156), and would be told that it was tried. `place` says where its answer is
// (answer.js), `frames` are the answer's mark-up at each of its changes, [t, html], where they were kept.
(function ({ answers, growth }) {
  const MOST = 16e6; // characters: a page of that size is no results page
  const getter = (type, name) => Function.prototype.call.bind(Object.getOwnPropertyDescriptor(type.prototype, name).get);
  const type = getter(Document, "doctype")(document);
  const root = getter(Document, "documentElement")(document);
  const html = (type ? `${new XMLSerializer().serializeToString(type)}\n` : "") + getter(Element, "outerHTML")(root);
  if (html.length > MOST) throw new Error(`the page has ${html.length} characters, more than a capture holds`);
  const scripts = Document.prototype.getElementsByTagName.call(document, "script").length;
  return JSON.stringify({
    html, scripts, place: answers?.place() ?? null, frames: growth?.frames() ?? [], url: location.href,
  });
})
