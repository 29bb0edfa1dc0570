// The frame of `gateval view`: it asks for pages by the token, and writes labels. All texts are
// put in as text; what comes as a page is shown in a frame, under the same policy.

const byId = (id) => document.getElementById(id);
const told = (words) => (byId("told").textContent = words);
const frame = byId("page");
const form = byId("label");

// The token comes once, behind the `#`, which is sent to nobody; then it is taken out of there.
const address = new URLSearchParams(location.hash.slice(1));
const given = address.get("token");
if (given) sessionStorage.setItem("token", given);
const token = sessionStorage.getItem("token");
address.delete("token");
history.replaceState(null, "", `/${[...address].length ? `#${address}` : ""}`);

async function ask(path, body) {
  const headers = { "Content-Type": "application/json", Authorization: `Bearer ${token}` };
  const answer = await fetch(path, { method: "POST", headers, body: JSON.stringify(body), cache: "no-store", credentials: "omit" });
  const text = await answer.text();
  if (!answer.ok) throw new Error(text);
  return { text, more: answer.status === 202 };
}

async function tried(action) {
  try {
    await action();
  } catch (error) {
    told(error instanceof TypeError ? "gateval view has ended. Start it again." : error.message);
  }
}

let shown = { page: "", run: "" };
let url = "";
let turns = 0;

// ---- pages ----

function remember(at) {
  const words = new URLSearchParams({ page: shown.page, ...(at ? { at } : {}) });
  history.replaceState(null, "", `/#${words}`);
}

async function show(page, at = "") {
  told("Reading…");
  const turn = ++turns;
  const first = await ask("/page", { page });
  if (turn !== turns) return;
  await put(page, at, first.text);
  if (!first.more) return;
  // What takes time to be made comes later, unless something else was asked for meanwhile.
  told("Reading all trials; what you see are the scores…");
  const whole = await ask("/page", { page, whole: true });
  if (turn === turns) await put(page, at, whole.text);
}

async function put(page, at, text) {
  URL.revokeObjectURL(url);
  url = URL.createObjectURL(new Blob([text], { type: "text/html;charset=utf-8" }));
  shown = { page, run: page.startsWith("runs/") ? page.slice(5, -5) : "" };
  await new Promise((done) => {
    frame.addEventListener("load", done, { once: true });
    frame.contentWindow.location.replace(url + at);
  });
  const inner = frame.contentWindow;
  frame.title = inner.document.title || page;
  inner.addEventListener("click", followed);
  inner.addEventListener("keydown", pressed);
  inner.addEventListener("hashchange", () => remember(inner.location.hash));
  const place = inner.document.getElementById("fixture");
  if (place) new inner.MutationObserver(looked).observe(place, { attributes: true });
  remember(at);
  looked();
  byId("run").value = shown.run;
  if (document.activeElement !== byId("run")) inner.focus(); // keys are for the page, not for a field above it
  for (const button of document.querySelectorAll("[data-page]")) button.setAttribute("aria-pressed", button.dataset.page === page);
  told("");
}

// A page's links lead to other pages of ours, or to the network, which opens beside it.
function followed(event) {
  const link = event.target.closest?.("a[href]");
  const to = link?.getAttribute("href") ?? "#";
  if (to.startsWith("#") || link.target === "_blank" || link.protocol === "blob:" && link.download) return;
  event.preventDefault();
  const [page, at] = to.split("#");
  tried(() => show(page, at ? `#${at}` : ""));
}

// ---- labels ----

function looked() {
  const place = frame.contentDocument?.getElementById("fixture");
  const open = shown.run && place && !place.hidden && place.dataset.fixture;
  form.hidden = !open;
  if (!open) return;
  const about = `${place.dataset.eval}/${place.dataset.fixture}, repetition ${place.dataset.rep} of head`;
  if (byId("about").textContent !== about) choose(null);
  byId("about").textContent = about;
}

let score = null;

function choose(one) {
  score = one;
  for (const each of [0, 1]) byId(`score-${each}`).setAttribute("aria-pressed", String(each === one));
  if (one === null) return;
  byId("note").focus();
  told(`You give ${one}. Say why, and press Enter; Esc leaves it.`);
}

async function save() {
  if (score === null) return told("Choose 0 or 1 first.");
  const { eval: name, fixture, rep } = frame.contentDocument.getElementById("fixture").dataset;
  const said = { run: shown.run, fixture: `${name}/${fixture}`, repetition: Number(rep), score, reason: byId("reason").value, note: byId("note").value };
  const { text: answer } = await ask("/label", said);
  byId("note").value = "";
  choose(null);
  frame.contentWindow.focus();
  told(answer);
}

function pressed(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || form.hidden) return;
  const typing = event.target.closest?.("input, select:not(#run), textarea");
  if (event.key === "Escape" && typing?.form === form) {
    choose(null);
    told("");
    frame.contentWindow.focus();
  } else if (!typing && (event.key === "0" || event.key === "1")) {
    event.preventDefault();
    choose(Number(event.key));
  }
}

document.addEventListener("keydown", pressed);
byId("score-0").addEventListener("click", () => choose(0));
byId("score-1").addEventListener("click", () => choose(1));
form.addEventListener("submit", (event) => {
  event.preventDefault();
  tried(save);
});

// ---- the bar ----

byId("sides").addEventListener("submit", (event) => {
  event.preventDefault();
  const sides = [byId("a").value.trim(), byId("b").value.trim()];
  if (sides.every(Boolean)) tried(() => show(`compare/${sides.map(encodeURIComponent).join("/")}`));
  else told("Name two runs or revisions.");
});
byId("run").addEventListener("change", () => byId("run").value && tried(() => show(`runs/${byId("run").value}.html`)));
for (const button of document.querySelectorAll("[data-page]")) button.addEventListener("click", () => tried(() => show(button.dataset.page)));

await tried(async () => {
  if (!token) throw new Error("Open the address that gateval view printed: the token is behind its #.");
  const { runs, first } = JSON.parse((await ask("/runs", {})).text);
  byId("run").append(new Option("choose a run", ""));
  for (const { run, said } of runs) {
    byId("run").append(new Option(said, run));
    const known = document.createElement("option");
    known.value = run;
    byId("runs").append(known);
  }
  await show(address.get("page") ?? first, address.get("at") ?? "");
});
