"use strict";
// The pages are whole without this file. It makes times tick, refreshes, opens dialogs, and has keys.

const IDLE_MS = 15 * 60 * 1000;
const SLOW_MS = 2000;
let utc = localStorage.getItem("zone") === "utc";
let live = true;
let chord = "";
let touchedAt = Date.now();
let askedAt = 0;
let tookMs = 0;

const byId = id => document.getElementById(id);
const two = n => String(n).padStart(2, "0");
const zone = () => (utc ? { timeZone: "UTC" } : {});

function span(seconds) {
  const s = Math.max(0, Math.round(seconds));
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} m ${two(s % 60)} s`;
  if (s < 86400) return `${Math.floor(s / 3600)} h ${two(Math.floor((s % 3600) / 60))} m`;
  if (s < 86400 * 60) return `${Math.round(s / 86400)} d`;
  return `${Math.round(s / 2629800)} months`;
}

function full(at) {
  const parts = { weekday: "short", day: "2-digit", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false, timeZoneName: "short" };
  const own = at.toLocaleString(undefined, { ...zone(), ...parts });
  return utc ? own : `${own} (${at.toISOString().slice(0, 19).replace("T", " ")} UTC)`;
}

function told(at, kind, now) {
  const s = (at - now) / 1000;
  if ("rel" in kind) return s > 0 ? `in ${span(s)}` : s > -1.5 ? "now" : `${span(-s)} ago`;
  if ("count" in kind) return s > 0.5 ? `in ${span(s)}` : s > -5 ? "now" : `${span(-s)} ago`;
  const clock = { hour: "2-digit", minute: "2-digit", hour12: false };
  if ("hm" in kind) return at.toLocaleTimeString(undefined, { ...zone(), ...clock });
  return at.toLocaleString(undefined, { ...zone(), ...clock, day: "2-digit", month: "short", second: "2-digit" });
}

function times() {
  const now = Date.now();
  for (const one of document.querySelectorAll("time[datetime]")) {
    const at = new Date(one.dateTime);
    const text = told(at, one.dataset, now);
    if (one.textContent !== text) one.textContent = text;
    one.title = full(at);
  }
}

function say(text) {
  byId("live").textContent = text;
}

function show(isLive, words) {
  live = isLive;
  document.body.classList.toggle("still", !isLive);
  byId("fresh-says").textContent = words;
}

// A refresh would take away what somebody selects or reads in a dialog, and an open tab over a weekend asks for nothing.
function mayRefresh(now) {
  if (!live || document.hidden || document.querySelector("dialog[open]")) return false;
  if (String(getSelection()) !== "") return false;
  if (now - touchedAt > IDLE_MS) {
    show(false, "stopped after 15 minutes: press . to go on");
    return false;
  }
  const every = Number(document.body.dataset.every) * 1000;
  return now - askedAt >= (tookMs > SLOW_MS ? Math.max(every, 10 * tookMs) : every);
}

function refresh() {
  const now = Date.now();
  if (!mayRefresh(now)) return;
  askedAt = now;
  htmx.trigger(document.body, "tick");
}

function row(step) {
  const rows = [...document.querySelectorAll("[data-row] th a, .history summary, .needs a.title")];
  const at = rows.indexOf(document.activeElement);
  const next = rows[Math.min(rows.length - 1, Math.max(0, at + step))];
  if (next) next.focus();
}

function open(id) {
  const found = byId(id);
  if (found) found.showModal();
  return Boolean(found);
}

const PAGES = { a: "/", j: "/jobs", r: "/runs", u: "/upcoming", d: "/dead", o: "/operations", c: "/changes" };
const KEYS = {
  "/": () => { const q = byId("q"); if (q) q.focus(); else location.href = "/jobs"; },
  "j": () => row(1),
  "k": () => row(-1),
  "p": () => open("pause"),
  "c": () => open("cancel"),
  "r": () => { const to = document.querySelector('form[action$="/resume"] button'); if (to) to.focus(); },
  "u": () => { utc = !utc; localStorage.setItem("zone", utc ? "utc" : "local"); times(); say(utc ? "Times in UTC" : "Times in your zone"); },
  ".": () => { show(!live, live ? "not refreshing" : "live"); say(live ? "Refreshing" : "Not refreshing"); },
  "?": () => open("keys"),
};

function pressed(event) {
  touchedAt = Date.now();
  if (event.metaKey || event.ctrlKey || event.altKey || document.querySelector("dialog[open]")) return;
  if (event.target.closest("input, textarea, select")) return;
  if (chord === "g") {
    chord = "";
    if (PAGES[event.key]) { location.href = PAGES[event.key]; return; }
  }
  if (event.key === "g") { chord = "g"; setTimeout(() => { chord = ""; }, 900); return; }
  const act = KEYS[event.key];
  if (act) { event.preventDefault(); act(); }
}

function clicked(event) {
  touchedAt = Date.now();
  const opener = event.target.closest("[data-open]");
  if (opener && open(opener.dataset.open)) event.preventDefault();
  const closer = event.target.closest("[data-close]");
  if (closer) closer.closest("dialog").close();
}

document.addEventListener("keydown", pressed);
document.addEventListener("click", clicked);
document.addEventListener("pointermove", () => { touchedAt = Date.now(); }, { passive: true });
document.addEventListener("change", event => { if (event.target.closest("[data-submits]")) event.target.form.requestSubmit(); });
document.addEventListener("htmx:after:swap", times);
document.addEventListener("htmx:after:request", () => { if (askedAt) tookMs = Date.now() - askedAt; });
setInterval(times, 1000);
setInterval(refresh, 500);
askedAt = Date.now();
document.body.classList.add("scripted");
times();
