// What an engine's next build could do to the target of a hook: the ids, attributes and classes that the hook holds on to
// are gone from the page, or its elements have other names. Undone again, so that the next hook meets the page as it was.
(function (checker, hooks) {
  function tokens(css) {
    const bare = css.replace(/"[^"]*"|'[^']*'/g, "_");
    return {
      ids: [...bare.matchAll(/#([\w-]+)/g)].map((each) => each[1]),
      classes: [...bare.matchAll(/\.([A-Za-z_][\w-]*)/g)].map((each) => each[1]),
      attributes: [...css.matchAll(/\[([\w-]+)[^\]]*\]/g)],
    };
  }

  function without(n, act) {
    const undo = [];
    const { ids, classes, attributes } = tokens(hooks[n].css);
    const before = checker.look(hooks, n).taking[n];
    const all = (css) => [...document.querySelectorAll(css)];
    const drop = (element, name) => {
      const value = element.getAttribute(name);
      element.removeAttribute(name);
      undo.push(() => element.setAttribute(name, value));
    };
    for (const id of ids) for (const each of all(`[id="${id}"]`)) drop(each, "id");
    for (const [css, name] of attributes) for (const each of all(css)) if (name !== "href") drop(each, name);
    for (const name of classes) for (const each of all(`.${CSS.escape(name)}`)) {
      each.classList.remove(name);
      undo.push(() => each.classList.add(name));
    }
    const now = new Map(before.map((each) => [each, each]));
    // A link stays one: it is what it stands in that has another name then.
    const named = (each) => (each.localName === "a" ? each.closest(hooks[n].css.split(/[\s>]+a\b/)[0]) || each : each);
    for (const each of new Set(checker.look(hooks, n).hits[n].map(named))) {
      const other = document.createElement("x-other");
      for (const { name, value } of each.attributes) if (/^[\w-]+$/.test(name)) other.setAttribute(name, value);
      other.append(...each.childNodes);
      each.replaceWith(other);
      if (now.has(each)) now.set(each, other);
      undo.push(() => {
        each.append(...other.childNodes);
        other.replaceWith(each);
      });
    }
    const result = act([...now.values()]);
    for (const each of undo.reverse()) each();
    return result;
  }

  return { without };
})
