// Shows an answer's frames in a replayed page, each at its time on the page clock. Such a page is ours: it is inert, it
// stands in a tab of ours, and nobody else looks at it, so here it is written to.
//
// frames: [t, head, tail, middle]: of the frame before it so many characters stay at the start and at the end. `place` is
// the name of the element that stands in the answer's place while there is none. `castlenb.late` is how much later all of
// them come: for a page that has been parsed only after the first of them was due.
(function (frames, place) {
  let next = 0;
  let html = "";
  let shown = null;
  let late = 0;

  const due = () => frames[next][0] + late;

  function turn() {
    if (due() <= performance.now()) {
      const [, head, tail, middle] = frames[next++];
      html = html.slice(0, head) + middle + html.slice(html.length - tail);
      show(); // one a turn: two that stand in one turn are one change to whoever watches
    }
    if (next < frames.length) setTimeout(turn, Math.max(0, due() - performance.now()));
  }

  function show() {
    const old = shown ?? document.querySelector(place);
    if (!old) return;
    old.insertAdjacentHTML("beforebegin", html || `<${place} hidden></${place}>`);
    shown = old.previousElementSibling;
    old.remove();
  }

  document.addEventListener("DOMContentLoaded", () => {
    late = Math.max(0, performance.now() - frames[0][0]);
    globalThis.castlenb.late = late;
    turn();
  });
})
