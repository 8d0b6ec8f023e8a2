// What an AI answer cites: the cards of its sources, and the links in its prose; which claim names which of them.
//
//   read(wrapper, bodies, chips)   {citations, claims}
(function (spec, dom, prose, document) {
  const { parts } = spec;
  const { contains, closest, first, within, attribute, textOf, parentOf, nameOf, lines, textIn, collapse, says } = dom;

  const SKIP = parts.answer_skip.join(", ");
  const CHIP = parts.answer_chip.join(", ");
  const CARD = parts.answer_card.join(", ");
  const TITLE = parts.answer_title.join(", ");
  const SNIPPET = parts.answer_snippet.join(", ");
  const SITE = parts.answer_site.join(", ");
  const NEVER = (spec.answer?.never || []).map((pattern) => new RegExp(pattern));

  const isNever = (url) => NEVER.some((pattern) => pattern.test(url.host + url.pathname));
  const isControl = (element) => nameOf(element) === "button" || attribute(element, "role") === "button";
  const ADDRESSES = spec.answer?.addresses || ["href"];
  const ADDRESSED = ADDRESSES.map((name) => (name === "href" ? "a[href]" : `[${name}]`)).join(", ");
  const addressOf = (element) => ADDRESSES.map((name) => attribute(element, name)).find(Boolean);
  const LENGTH = /^[\d:]+\s?\p{L}{0,3}$/u; // of a video: "4:21", "12m"
  const bare = (host) => host.replace(/^www\.(?=[^.]+\.)/, "");

  // ---- cards ------------------------------------------------------------------------------------------------------

  // {box, anchor}: marked by the engine, or known by their shape: a link without words over neighbours that have some.
  function cardsIn(wrapper) {
    const found = new Map();
    for (const box of CARD ? within(wrapper, CARD) : []) {
      const anchor = addressOf(box) ? box : first(box, ADDRESSED);
      if (anchor && !found.has(anchor)) found.set(anchor, box);
    }
    for (const anchor of within(wrapper, "a[href][aria-label], a[href][aria-labelledby]")) {
      const box = parentOf(anchor);
      if (found.has(anchor) || says(textOf(anchor)) || !says(textOf(box)) || (CHIP && closest(anchor, CHIP))) continue;
      if (CHIP && first(box, CHIP)) continue;
      found.set(anchor, box);
    }
    const cards = [...found].map(([anchor, box]) => ({ anchor, box, seen: dom.displayed(box) }));
    return cards.sort((a, b) => b.seen - a.seen || dom.before(a.box, b.box));
  }

  function cite({ anchor, box }, endings, numbered) {
    const lead = dom.follow(anchor, addressOf(anchor));
    if (!lead || (lead.target && (dom.isOwn(lead.target) || isNever(lead.target)))) return null;
    const said = lines(box, isControl).filter(says);
    const host = lead.target ? bare(lead.target.host) : null;
    // "3 - site.example": the number that the prose refers to, and the site.
    const [, number, naming] = said.length === 1 ? /^(\d{1,3})\s*[-–.]\s*(.+)$/.exec(said[0]) || [] : [];
    if (number) return row(lead, numbered.get(number) || null, naming, null, number);
    const title = titleOf(anchor, box, said, endings);
    const [name, text] = aroundTitle(said, said.indexOf(title));
    return row(lead, title, partOf(box, SITE) || name || host, partOf(box, SNIPPET) || text, null);
  }

  // Under the title stand a piece of the text, where there is one, and last the site; or the site stands above it.
  // There can be how long a video is, too.
  function aroundTitle(said, at) {
    const above = said.slice(0, Math.max(at, 0)).filter((line) => !LENGTH.test(line));
    const under = said.slice(at + 1);
    const [only] = under.length === 1 ? under : [null];
    const leads = above.length > 0 && (under.length === 0 || (only !== null && only.length > 40));
    const site = leads ? above[0] : under.length > 1 || (only !== null && only.length <= 80) ? under.pop() : null;
    const longest = under.sort((a, b) => b.length - a.length)[0] || "";
    return [site, /\S\s\S/.test(longest) && longest.length > 15 ? longest : null];
  }

  const row = (lead, title, site, snippet, number) => ({
    title: title || null,
    ...dom.split(lead.target),
    link: lead.link,
    link_form: lead.form,
    site: site ? site.replace(/[\s·•|]+$/, "") : lead.target ? bare(lead.target.host) : null,
    snippet,
    number,
  });

  const partOf = (box, css) => {
    const node = css ? first(box, css) : null;
    return (node && textIn(node, isControl)) || null;
  };

  // A card's title stands in it, and once more in its link's label, which a sentence about tabs can end.
  function titleOf(anchor, box, said, endings) {
    const marked = partOf(box, TITLE);
    if (marked) return marked;
    const named = (attribute(anchor, "aria-labelledby") || "").split(/\s+/).filter(Boolean);
    const pointed = named.map((id) => dom.byId(document, id)).filter(Boolean).map((node) => textIn(node)).join(" ");
    if (says(pointed)) return pointed;
    const label = collapse(attribute(anchor, "aria-label") || "");
    if (label) {
      const shown = said.filter((line) => label.startsWith(line) && line.length * 2 > label.length - 60);
      return shown.sort((a, b) => b.length - a.length)[0] || withoutEnding(label, endings);
    }
    return (box !== anchor && textIn(anchor, isControl)) || said[0] || null;
  }

  // The last sentence that labels of different links share, in whatever language it says "opens in a new tab".
  function endingsOf(wrapper) {
    const counts = new Map();
    const labels = new Set([...within(wrapper, "a[href][aria-label]")].map((each) => collapse(attribute(each, "aria-label"))));
    for (const label of labels) {
      const ending = /[.。]\s*[^.。]{3,60}[.。]?$/u.exec(label.slice(1))?.[0];
      if (ending) counts.set(ending, (counts.get(ending) || 0) + 1);
    }
    return [...counts].filter(([, count]) => count > 1).map(([ending]) => ending);
  }

  function withoutEnding(label, endings) {
    const ending = endings.find((each) => label.endsWith(each));
    return ending ? label.slice(0, -ending.length) : label;
  }

  // ---- links in the prose, and titles alone -----------------------------------------------------------------------

  function linksIn(bodies, cards, endings) {
    const found = [];
    for (const body of bodies) {
      for (const anchor of within(body, "a[href]")) {
        if (cards.some(({ box, anchor: its }) => its === anchor || contains(box, anchor))) continue;
        const left = SKIP && closest(anchor, SKIP);
        if (left && contains(body, left)) continue;
        const lead = dom.follow(anchor);
        if (!lead || (lead.target && (dom.isOwn(lead.target) || isNever(lead.target)))) continue;
        const chip = chipOf(anchor);
        if (chip) found.push(chipped(lead, anchor, chip, endings));
        else if (prose.isMedia(anchor)) found.push(mediaOf(lead, anchor));
        else found.push(row(lead, textIn(anchor), null, null, null));
      }
    }
    return found;
  }

  // The link of a mark is the mark, lies in it, or beside it without words of its own.
  const beside = (element, css) => [...within(parentOf(element), css)].filter((each) => parentOf(each) === parentOf(element));

  function chipOf(anchor) {
    if (!CHIP) return null;
    return closest(anchor, CHIP) || (!says(textOf(anchor)) && beside(anchor, CHIP)[0]) || null;
  }

  const linkOf = (chip) =>
    nameOf(chip) === "a"
      ? chip
      : first(chip, "a[href]") || beside(chip, "a[href]").find((each) => !says(textOf(each))) || null;

  // "Site (+2) – Title. Related results": a title only where it is told from the words that all labels end in.
  function chipped(lead, anchor, chip, endings) {
    const { publisher } = publisherOf(chip);
    const label = collapse(attribute(anchor, "aria-label") || "");
    const whole = withoutEnding(label, endings);
    const named = publisher && whole !== label && whole.startsWith(publisher) ? whole.slice(publisher.length) : "";
    const title = named.replace(/^\s*(?:\(\s*\+\s*\d+\s*\)\s*)?[–—-]\s+/, "");
    return row(lead, says(title) ? title : null, publisher, null, null);
  }

  // A picture's or video's card: who made it, and where it is shown; its title is in the picture.
  function mediaOf(lead, anchor) {
    const said = lines(anchor).filter((line) => says(line) && !LENGTH.test(line));
    return row(lead, said[0], (said.at(-1) || "").split(/\s[•·|]\s/)[0], null, null);
  }

  // Titles and nothing else, joined by commas, beside as many logos and "+4". Cut up only where the count comes out.
  function titlesIn(wrapper) {
    for (const css of parts.answer_titles) {
      const node = first(wrapper, css);
      const listed = node && collapse(attribute(node, "title") || "");
      if (!listed) continue;
      const more = Number(/\+\s*(\d+)/.exec(textOf(node))?.[1] || 0);
      const parts = listed.split(/,\s+/);
      const titles = parts.length === within(node, "img").length + more ? parts : [listed];
      return titles.map((title) => ({
        title, url: null, fragment: null, link: null, link_form: null, site: null, snippet: null, number: null,
      }));
    }
    return [];
  }

  // ---- claims -----------------------------------------------------------------------------------------------------

  // What a mark in the prose says of its source: a publisher, how many more there are, a number.
  function publisherOf(chip) {
    const words = textIn(chip);
    const label = collapse(attribute(chip, "aria-label") || attribute(first(chip, "[aria-label]") || chip, "aria-label") || "");
    const [, publisher, extra] = /^(.*?)\s*\+\s*(\d+)$/.exec(words) || /^(.+?)\s*\(\+\s*(\d+)\)/.exec(label) || [null, words, ""];
    const number = /^\W*(\d{1,3})\W*$/.exec(words)?.[1] || null;
    return { publisher: number ? null : publisher || null, extra: extra ? Number(extra) : null, number, label };
  }

  const idOf = (chip) => {
    for (const name of spec.answer.marks) {
      const marked = attribute(chip, name) !== null ? chip : first(chip, `[${name}]`);
      if (marked) return attribute(marked, name);
    }
    return null;
  };

  function claimsOf(wrapper, chips, citations) {
    const ids = chips.map(({ element }) => idOf(element));
    const notes = notesOf(wrapper, ids);
    return chips.map(({ element, text }, at) => {
      const { publisher, extra, number } = publisherOf(element);
      const id = ids[at];
      const anchor = linkOf(element);
      const lead = anchor && addressOf(anchor) ? dom.follow(anchor) : null;
      const noted = (id || "").split(",").flatMap((each) => notes.get(each) || []);
      const own = lead ? [[lead.link, dom.split(lead.target).url].filter(Boolean)] : [];
      let named = [...new Set([...own, ...noted].map((words) => citationIn(words, citations)).filter(Boolean))];
      if (!named.length && number) named = citations.filter((each) => each.number === number);
      if (!named.length && publisher) {
        named = citations.filter((each) => each.site === publisher);
        if (named.length > 1) named = [];
      }
      return { text, id, publisher, extra, citations: named.map(({ n }) => n) };
    });
  }

  // What the page notes of a mark out of sight: data in comments, where the list that holds the mark's id tells one
  // source. {id: [the words of one such list, …]}
  function notesOf(wrapper, ids) {
    const known = new Set(ids.filter(Boolean).flatMap((id) => id.split(",")));
    const notes = new Map([...known].map((id) => [id, []]));
    if (!known.size) return notes;
    const walker = Document.prototype.createTreeWalker.call(document, wrapper, NodeFilter.SHOW_COMMENT);
    while (walker.nextNode()) {
      const comment = textOf(walker.currentNode);
      if (![...known].some((id) => comment.includes(id))) continue;
      for (const list of listsIn(dataIn(comment))) {
        const id = list.find((each) => known.has(each));
        if (id !== undefined) notes.get(id).push(wordsIn(list));
      }
    }
    return notes;
  }

  const ESCAPES = { quot: '"', apos: "'", "#39": "'", lt: "<", gt: ">", amp: "&" };

  function dataIn(comment) {
    const text = comment.slice(comment.indexOf("[")).replace(/&(quot|apos|#39|lt|gt|amp);/g, (_, name) => ESCAPES[name]);
    try {
      return JSON.parse(text);
    } catch {
      return null;
    }
  }

  // Everything in it, itself first. Not recursive: how deep it goes is the page's to choose.
  function inside(data) {
    const found = [data];
    for (let n = 0; n < found.length; n++) {
      if (found[n] && typeof found[n] === "object") for (const each of Object.values(found[n])) found.push(each);
    }
    return found;
  }

  const listsIn = (data) => inside(data).filter(Array.isArray);
  const wordsIn = (data) => inside(data).filter((each) => typeof each === "string");

  // The one that these words tell of: a site's front page can stand beside the page itself.
  function citationIn(words, citations) {
    const urls = words.map((word) => (/^https?:/.test(word) ? dom.split(dom.parse(word)).url : null));
    const named = citations.filter((each) =>
      each.url ? urls.includes(each.url) : words.includes(each.link) || (each.title && words.includes(each.title)),
    );
    return named.sort((a, b) => (b.url || "").length - (a.url || "").length)[0];
  }

  // The title that a numbered mark gives its source: "Title - https://…".
  function numberedTitles(chips) {
    const titles = new Map();
    for (const { element } of chips) {
      const { number, label } = publisherOf(element);
      const title = label.replace(/\s+[-–|]\s+https?:\/\/\S*$/, "");
      if (number && title !== label) titles.set(number, title);
    }
    return titles;
  }

  // One source is one target. An encrypted link is another one each time, so there its name tells; titles without a
  // link can be the same and mean two pages.
  const keyOf = (each, nth) =>
    each.url || (each.link_form === "encrypted" && each.title ? `${each.title}\n${each.site}` : each.link) || `${nth}`;

  function read(wrapper, bodies, chips) {
    const endings = endingsOf(wrapper);
    const numbered = numberedTitles(chips);
    const cards = cardsIn(wrapper);
    const rows = cards.map((card) => cite(card, endings, numbered)).filter(Boolean);
    if (!rows.length) rows.push(...titlesIn(wrapper));
    // An encrypted link in the prose can not be told from the card of the same source, which is there as well.
    rows.push(...linksIn(bodies, cards, endings).filter((each) => !rows.length || each.link_form !== "encrypted"));
    const found = new Map();
    for (const each of rows) {
      const key = keyOf(each, found.size);
      const known = found.get(key);
      if (!known) found.set(key, each);
      else for (const name of ["title", "snippet", "fragment"]) known[name] = known[name] || each[name];
    }
    const citations = [...found.values()].map((each, at) => ({ n: at + 1, ...each }));
    const claims = claimsOf(wrapper, chips, citations);
    for (const each of citations) delete each.number;
    return { citations, claims };
  }

  return { read };
})
