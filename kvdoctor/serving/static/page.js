// What the page does beside the terminal (textual.js): the clipboard, downloads, files dropped on
// it, the keyboard, and the end.
"use strict";

(() => {
  const MOST = 48 * 1024 * 1024; // bytes of a dropped file: the server takes messages of 64 MiB
  const ENDS = { 1006: "The connection to the server is lost.", 1009: "That paste is too long." };
  let socket = null;

  const one = (selector) => document.querySelector(selector);
  const send = (...message) => {
    if (socket && socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message));
  };
  const focusTerminal = () => {
    if (!one("dialog[open]")) one(".xterm-helper-textarea")?.focus();
  };

  // A page that was opened with the token must not keep it in its address.
  if (location.search.includes("token=")) {
    const kept = new URLSearchParams(location.search);
    kept.delete("token");
    history.replaceState(null, "", kept.size ? `/?${kept}` : "/");
  }

  // textual.js opens the socket; this is the place to hear and say more over it.
  window.WebSocket = class extends WebSocket {
    constructor(...given) {
      super(...given);
      socket = this;
      let drawn = false;
      this.addEventListener("message", (event) => {
        if (typeof event.data !== "string") {
          if (!drawn) setTimeout(focusTerminal, 0);
          drawn = true;
          return;
        }
        const [kind, what] = JSON.parse(event.data);
        if (kind === "copy") take(what);
      });
      this.addEventListener("close", (event) => {
        const why = event.reason || ENDS[event.code] || "This kvdoctor has ended.";
        one("#why").textContent = why[0].toUpperCase() + why.slice(1);
        one("#ended").showModal();
      });
    }
  };

  // -- the clipboard: first the browser's interface (only there on https and loopback), then the
  // command of old; what neither takes is shown, to be copied by hand.

  async function written(text) {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      return commanded(text);
    }
  }

  function commanded(text) {
    let taken = false;
    const fill = (event) => {
      event.stopImmediatePropagation();
      event.preventDefault();
      event.clipboardData.setData("text/plain", text);
      taken = true;
    };
    document.addEventListener("copy", fill, true);
    try {
      return document.execCommand("copy") && taken;
    } catch {
      return false;
    } finally {
      document.removeEventListener("copy", fill, true);
    }
  }

  async function take({ key, text }) {
    if (await written(text)) {
      send("copied", { key, outcome: "copied" });
      return;
    }
    const box = one("#by-hand");
    const area = one("#by-hand textarea");
    area.value = text;
    one("#outcome").textContent = "";
    if (!box.open) box.showModal();
    area.focus();
    area.select();
    send("copied", { key, outcome: "shown" });
  }

  // -- a file that is dropped on the page is a paste; .gz is unpacked on the way

  async function dropped(file) {
    const packed = file.name.endsWith(".gz");
    const stream = file.stream();
    const text = await new Response(
      packed ? stream.pipeThrough(new DecompressionStream("gzip")) : stream,
    ).text();
    if (text.length > MOST) throw new Error("too long");
    send("stdin", `\x1b[200~${text.replaceAll("\x1b[201~", "")}\x1b[201~`);
  }

  // -- the rest

  window.addEventListener("DOMContentLoaded", () => {
    const terminal = one("#terminal");
    const size = Number(new URLSearchParams(location.search).get("fontsize"));
    terminal.dataset.fontSize = size >= 8 && size <= 40 ? size : 16;
    terminal.dataset.sessionWebsocketUrl = `${location.origin.replace(/^http/, "ws")}/ws`;
    one("#again").addEventListener("click", () => location.reload());
    one("#ended").addEventListener("cancel", (event) => event.preventDefault());
    one("#close").addEventListener("click", () => one("#by-hand").close());
    one("#by-hand").addEventListener("close", focusTerminal);
    one("#try").addEventListener("click", async () => {
      const area = one("#by-hand textarea");
      const done = await written(area.value);
      if (!done) area.select();
      one("#outcome").textContent = done ? "copied" : "refused; the text is marked: ctrl+c";
    });
    window.addEventListener("focus", () => setTimeout(focusTerminal, 0));
    // The terminal would take ctrl+v for a control character; the browser pastes.
    const pastes = (event) => event.ctrlKey && !event.altKey && event.key.toLowerCase() === "v";
    window.addEventListener("keydown", (e) => pastes(e) && e.stopImmediatePropagation(), true);
    document.addEventListener("dragover", (event) => event.preventDefault());
    document.addEventListener("drop", async (event) => {
      event.preventDefault();
      const file = event.dataTransfer.files[0];
      if (!file) return;
      try {
        if (file.size > MOST) throw new Error("too long");
        await dropped(file);
      } catch (error) {
        alert(`${file.name} cannot be taken: ${error.message}. Name it to kvdoctor serve instead.`);
      }
    });
  });

  // A file that kvdoctor hands over: a link, where a new window could be blocked.
  const open = window.open.bind(window);
  window.open = (url, ...rest) => {
    const target = new URL(url, location.href);
    if (target.origin !== location.origin || !target.pathname.startsWith("/download/")) {
      return open(url, ...rest);
    }
    const link = document.createElement("a");
    link.href = target.href;
    link.download = "";
    link.click();
    return null;
  };
})();
