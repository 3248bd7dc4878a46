// The overview: parts that changed are replaced when the server says that there is something new.
"use strict";
(() => {
  const live = document.getElementById("live");
  if (!live || !window.EventSource) return;
  const note = document.getElementById("link-state");
  let busy = false;
  let wanted = "";
  async function update(version) {
    wanted = version;
    if (busy || version === live.dataset.version) return;
    busy = true;
    try {
      const reply = await fetch("/admin/live", { credentials: "same-origin", cache: "no-store" });
      if (!reply.ok) return;
      const fresh = new DOMParser().parseFromString(await reply.text(), "text/html");
      const parts = [...fresh.querySelectorAll("[data-part]")];
      const old = new Map([...live.querySelectorAll("[data-part]")].map((part) => [part.dataset.part, part]));
      for (const part of parts) {
        const now = old.get(part.dataset.part);
        if (!now) live.append(part);
        else if (now.innerHTML !== part.innerHTML && !now.contains(document.activeElement)) now.replaceWith(part);
        old.delete(part.dataset.part);
      }
      for (const gone of old.values()) gone.remove();
      live.dataset.version = version;
    } catch { /* tried again with the next event */ } finally { busy = false; }
    if (wanted !== version) update(wanted);
  }
  const events = new EventSource("/admin/events");
  events.addEventListener("update", (event) => { note.textContent = ""; update(event.data); });
  events.addEventListener("error", () => { note.textContent = "No connection to the server; trying again."; });
})();
