const $ = (id) => document.getElementById(id);
const KEPT = 600; // points of a chart

// Charts: a title, a metric, and the statistics that are its number and its second line.
const TILES = [
  ["Requests", "request_throughput", "avg"],
  ["Output tokens", "output_token_throughput", "avg"],
  ["Time to first token", "time_to_first_token", "p50", "p99"],
  ["Inter-token latency", "inter_token_latency", "p50", "p99"],
  ["Request latency", "request_latency", "p50", "p99"],
];

const run = { state: "", phases: {}, metrics: [], verdict: undefined, workers: {}, server: {}, gpus: [], messages: [], inFlight: [] };
const tiles = new Map();
let isStale = false;

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
function number(value) {
  if (value === undefined || value === null) return "–";
  const size = Math.abs(value);
  if (Number.isInteger(value) || size >= 1000) return whole.format(value);
  return value.toFixed(size >= 100 ? 1 : size >= 1 ? 2 : 3);
}

function seconds(value) {
  if (value === undefined || value === null) return "";
  const whole = Math.max(0, Math.round(value));
  return whole < 60 ? `${whole} s` : `${Math.floor(whole / 60)} min ${whole % 60} s`;
}

function cells(row, texts) {
  row.replaceChildren(...texts.map((text) => {
    const cell = document.createElement("td");
    cell.textContent = text;
    return cell;
  }));
  return row;
}

function table(id, card, rows) {
  $(card).hidden = rows.length === 0;
  $(id).replaceChildren(...rows.map((texts) => cells(document.createElement("tr"), texts)));
}

// One of a template's elements for each key, kept from one drawing to the next.
function kept(map, key, template, parent) {
  if (!map.has(key)) {
    const element = $(template).content.firstElementChild.cloneNode(true);
    map.set(key, { element, first: [], second: [] });
    parent.append(element);
  }
  return map.get(key);
}

const drawnPhases = new Map();
function drawPhases() {
  const phases = Object.values(run.phases).sort((one, other) => one.phase_index - other.phase_index);
  $("no-phases").hidden = phases.length > 0;
  for (const phase of phases) {
    const { element } = kept(drawnPhases, phase.phase_name, "phase-row", $("phases"));
    const done = phase.state === "processing" ? phase.records_progress_percent : phase.requests_progress_percent;
    const percent = phase.state === "complete" ? 100 : done ?? 0;
    const words = { sending: "sending", draining: "waiting for the last responses", processing: "computing records", complete: "complete" };
    element.className = `phase ${phase.phase_kind} ${phase.state}`;
    element.querySelector(".name").textContent = phase.phase_name;
    const left = phase.requests_eta_sec ?? phase.records_eta_sec;
    const parts = [words[phase.state], `${percent.toFixed(0)} %`];
    if (left !== undefined && left !== null && phase.state !== "complete") parts.push(`${seconds(left)} left`);
    element.querySelector(".doing").textContent = parts.join(" · ");
    element.querySelector(".bar div").style.width = `${percent}%`;
    const of = phase.total_expected_requests ? ` of ${number(phase.total_expected_requests)}` : "";
    const counts = element.querySelector(".counts");
    counts.textContent = [
      `${number(phase.requests_completed)}${of} requests`,
      `${number(phase.in_flight_requests)} in flight`,
      `${number(phase.requests_per_second)} a second`,
      seconds(phase.requests_elapsed_time),
      phase.request_errors ? "" : "no errors",
    ].filter(Boolean).join(" · ");
    if (phase.request_errors) {
      const failed = document.createElement("span");
      failed.className = "failed";
      failed.textContent = ` · ${number(phase.request_errors)} failed`;
      counts.append(failed);
    }
  }
}

function line(points, low, high) {
  const step = 200 / Math.max(1, points.length - 1);
  const height = (value) => 45 - (42 * (value - low)) / (high - low || 1);
  return points.map((value, at) => `${(at * step).toFixed(1)},${height(value).toFixed(1)}`).join(" ");
}

// Half of the points are let go where there are too many: the curve keeps its whole length.
function add(points, value) {
  points.push(value);
  return points.length > KEPT ? points.filter((_, at) => at % 2 === 1) : points;
}

function drawTile(title, unit, value, tile, names) {
  const { element, first, second } = tile;
  element.querySelector("h3").textContent = title;
  element.querySelector("b").textContent = number(value);
  element.querySelector(".value small").textContent = names[1] ? `${unit} ${names[0]}` : unit;
  const all = [...first, ...second];
  const [low, high] = [Math.min(0, ...all), Math.max(...all, 0)];
  element.querySelector("polyline.first").setAttribute("points", line(first, low, high));
  element.querySelector("polyline.second").setAttribute("points", line(second, low, high));
  const legend = element.querySelector(".legend");
  legend.replaceChildren();
  if (second.length > 0) {
    [[names[0], "first"], [names[1], "second"]].forEach(([name, kind]) => {
      const part = document.createElement("span");
      part.className = kind;
      part.textContent = `${name} ${number(tile[kind].at(-1))}  `;
      legend.append(part);
    });
  }
}

function drawVerdict() {
  const { is, reasons = [] } = run.verdict ?? {};
  $("verdict-card").hidden = !is || (is === "trustworthy" && reasons.length === 0);
  $("verdict").textContent = is ?? "";
  $("verdict").className = is === "trustworthy" ? "" : "failed";
  $("reasons").replaceChildren(...reasons.map(({ text, fix }) => {
    const item = document.createElement("li");
    item.textContent = `${text}. Try: ${fix}`;
    return item;
  }));
}

function drawTiles() {
  for (const [title, tag, ...names] of TILES) {
    const metric = run.metrics.find((metric) => metric.tag === tag);
    if (!metric) continue;
    drawTile(title, metric.unit, metric[names[0]], kept(tiles, tag, "tile", $("tiles")), names);
  }
  if (run.inFlight.length > 0) {
    const tile = kept(tiles, "in flight", "tile", $("tiles"));
    tile.first = run.inFlight;
    drawTile("In flight", "requests", run.inFlight.at(-1), tile, []);
  }
}

function remember(metrics) {
  run.metrics = metrics;
  for (const [, tag, first, second] of TILES) {
    const metric = metrics.find((metric) => metric.tag === tag);
    if (!metric) continue;
    const tile = kept(tiles, tag, "tile", $("tiles"));
    tile.first = add(tile.first, metric[first] ?? 0);
    if (second && metric[second] !== undefined) tile.second = add(tile.second, metric[second]);
  }
  const phases = Object.values(run.phases).filter((phase) => phase.state !== "complete");
  const inFlight = phases.reduce((sum, phase) => sum + phase.in_flight_requests, 0);
  run.inFlight = add(run.inFlight, inFlight);
}

function draw() {
  isStale = false;
  $("state").textContent = run.state;
  drawPhases();
  drawVerdict();
  drawTiles();
  const statistics = ["avg", "min", "p50", "p90", "p99", "max"];
  const shown = run.metrics.filter((metric) => metric.unit !== "ns"); // instants are for machines
  table("metrics", "metrics-card", shown.map((metric) =>
    [metric.header, ...statistics.map((name) => number(metric[name])), metric.unit]));
  table("workers", "workers-card", Object.entries(run.workers).map(([id, worker]) => {
    const { total, completed, failed } = worker.tasks;
    return [id, worker.status.replace("_", " "), ...[total - completed - failed, completed, failed].map(number)];
  }));
  table("server", "server-card", Object.entries(run.server).map(([name, value]) =>
    [name.replaceAll("_", " "), number(value)]));
  table("gpus", "gpus-card", run.gpus.map((metric) =>
    [metric.header, ...["current", "avg", "max"].map((name) => number(metric[name])), metric.unit]));
  $("messages-card").hidden = run.messages.length === 0;
  $("messages").replaceChildren(...run.messages.map((text) => item(text)));
}

// Four frames a second are enough for numbers.
function stale() {
  if (!isStale) {
    isStale = true;
    setTimeout(() => requestAnimationFrame(draw), 250);
  }
}

function item(text, href) {
  const entry = document.createElement("li");
  if (href) {
    const link = document.createElement("a");
    link.href = href;
    link.textContent = text;
    entry.append(link);
  } else {
    entry.textContent = text;
  }
  return entry;
}

function link(text, kind) {
  $("link").textContent = text;
  $("link").className = `pill ${kind}`;
}

async function get(path) {
  const response = await fetch(path);
  if (!response.ok) throw new Error(path);
  return response.json();
}

async function progress() {
  const latest = await get("/api/progress");
  [run.phases, run.state] = [latest.phases, latest.system_state];
  run.messages = latest.messages.map((message) => `${message.level}: ${message.message}`);
}

async function everything() {
  await progress();
  const [metrics, workers, server] = await Promise.all(["/api/metrics", "/api/workers", "/api/server-metrics"].map(get));
  const list = Object.entries(metrics.metrics).map(([tag, metric]) => ({ tag, ...metric }));
  if (list.length > 0) remember(list);
  run.verdict = metrics.verdict;
  run.workers = Object.fromEntries(Object.entries(workers.workers).map(([id, worker]) =>
    [id, { status: worker.status, tasks: worker.task_stats }]));
  run.server = server.snapshot ?? {};
  run.gpus = metrics.telemetry_metrics ?? [];
  const isOver = run.state === "stopping";
  if (isOver) await results();
  stale();
  return isOver;
}

async function results() {
  const [{ status }, list] = await Promise.all([get("/api/results"), get("/api/results/list")]);
  $("results-card").hidden = status === "running";
  $("results-status").textContent = `The run is ${status}.`;
  $("files").replaceChildren(...list.files.map(({ name, size }) =>
    item(`${name} (${whole.format(size)} bytes)`, `/api/results/files/${name.split("/").map(encodeURIComponent).join("/")}`)));
}

function hear(message) {
  switch (message.message_type) {
    case "credit_phase_start":
    case "credit_phase_progress":
    case "credit_phase_sending_complete":
    case "credit_phase_complete":
      run.phases[message.stats.phase_name] = message.stats;
      break;
    case "processing_stats": {
      const phase = message.processing_stats;
      if (phase.records_end_ns) phase.state = "complete";
      run.phases[phase.phase_name] = { ...run.phases[phase.phase_name], ...phase };
      break;
    }
    case "realtime_metrics":
      remember(message.metrics);
      run.verdict = message.verdict;
      break;
    case "realtime_server_metrics":
      run.server = message.snapshot;
      break;
    case "realtime_telemetry_metrics":
      run.gpus = message.metrics;
      break;
    case "worker_group_stats":
      run.workers = Object.fromEntries(Object.entries(message.worker_statuses).map(([id, status]) =>
        [id, { status, tasks: message.worker_task_stats[id] }]));
      break;
    case "system_state_changed":
      run.state = message.state;
      break;
    case "service_error":
      run.messages.push(`${message.error.type}: ${message.error.message}`);
      break;
    case "benchmark_complete":
      everything().catch(() => {});
      break;
  }
  stale();
}

let isStreaming = false;
let isOver = false;

function stream() {
  const socket = new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/ws`);
  socket.onopen = () => {
    isStreaming = true;
    socket.send(JSON.stringify({ type: "subscribe", message_types: ["*"] }));
  };
  socket.onmessage = ({ data }) => {
    const message = JSON.parse(data);
    if (message.message_type) hear(message);
  };
  socket.onclose = () => {
    isStreaming = false;
    setTimeout(() => isOver || stream(), 3000);
  };
}

// Warnings come by no message, and a WebSocket may be kept away by something between.
async function poll() {
  try {
    if (isStreaming) {
      await progress();
      stale();
    } else {
      isOver = await everything();
    }
    link(isStreaming ? "live" : isOver ? "the run is over" : "asking every second", isStreaming || isOver ? "good" : "");
  } catch {
    link("no response", "bad");
  }
  setTimeout(poll, isStreaming ? 2000 : 1000);
}

async function start() {
  try {
    const [about, config] = await Promise.all([get("/api/metrics"), get("/api/config")]);
    const load = about.request_rate ? `${about.request_rate} a second` : about.concurrency ? `concurrency ${about.concurrency}` : "";
    const url = config.endpoint?.urls?.[0];
    $("what").textContent = [about.model, about.endpoint_type + (about.streaming ? ", streaming" : ""), load, url].filter(Boolean).join(" · ");
    document.title = `AIPerf · ${about.model}`;
    await everything();
  } catch {
    link("no response", "bad");
  }
  stream();
  poll();
}

start();
