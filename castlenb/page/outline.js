// Draws a frame around what each hook finds, on a copy of the page that nobody else looks at: a replay.
//
// marks: [[n, colour, label]], the nth hook and how its frame looks. Returns how many frames there are, and how tall the
// page is that they stand on.
(function (dom, checker, hooks, marks) {
  const { hits } = checker.look(hooks);
  const root = dom.rootOf(document);
  const create = (name) => Document.prototype.createElement.call(document, name);
  const append = (parent, child) => Node.prototype.appendChild.call(parent, child);
  const boxOf = (element) => Element.prototype.getBoundingClientRect.call(element);
  let frames = 0;
  let lowest = 0;
  for (const [n, colour, label] of marks) {
    for (const each of hits[n]) {
      const { left, top, width, height } = boxOf(each);
      if (width < 2 || height < 2) continue;
      const frame = create("div");
      frame.style.cssText =
        `position:absolute!important;left:${left + scrollX - 2}px;top:${top + scrollY - 2}px;width:${width}px;height:${height}px;` +
        `border:2px solid ${colour};z-index:2147483647;pointer-events:none;font:11px/13px sans-serif;color:${colour};background:none`;
      const name = create("span");
      name.style.cssText = `position:absolute;right:0;top:0;background:#fffd;padding:0 3px;white-space:nowrap`;
      name.textContent = label;
      append(frame, name);
      append(root, frame);
      frames += 1;
      lowest = Math.max(lowest, top + scrollY + height);
    }
  }
  return { frames, height: Math.ceil(lowest) };
})
