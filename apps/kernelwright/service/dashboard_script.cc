// The script writes what it gets as text alone (textContent): nothing of it becomes markup. What it
// keeps is bounded: lists have a fixed most of rows, and an older answer goes when a newer comes.
#include "kernelwright/service/dashboard_files.h"

namespace kw::front {

const char* const kDashboardScript = R"js('use strict';
const kPollMs = 500, kHiddenPollMs = 5000, kRetryMs = 2000, kCardMs = 1000;
const kMaxRows = 100, kMaxTextBytes = 65536, kMaxDiagnostics = 50;
const kTokenKey = 'kernelwright-token';
const find = id => document.getElementById(id);
const seen = {start: '', after: '', samples: [], timer: 0, is_polling: false, paused: false, token: sessionStorage.getItem(kTokenKey) || ''};
let card = null;  // what the card shows: {kind, name, is_final, at, text, after}

// Characters that hide or turn others around come out as their numbers.
function visible(text) {
  return String(text ?? '').replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g,
    c => '\\u' + c.charCodeAt(0).toString(16).padStart(4, '0'));
}

function bounded(text) {
  const whole = String(text ?? '');
  if (whole.length <= kMaxTextBytes) return visible(whole);
  return visible(whole.slice(0, kMaxTextBytes)) + `\n[${whole.length - kMaxTextBytes} more characters]`;
}

function element(tag, text, name) {
  const out = document.createElement(tag);
  if (text !== undefined) out.textContent = visible(text);
  if (name) out.className = name;
  return out;
}

function show(id, text) {
  const at = find(id);
  if (at.textContent !== text) at.textContent = text;
}

function number(value, digits = 0) {
  return Number(value).toLocaleString('en', {maximumFractionDigits: digits, minimumFractionDigits: digits});
}

function speedup(value) {
  return value ? number(value, 2) + 'x' : '';
}

class ApiError extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

async function api(path) {
  const headers = {Accept: 'application/json'};
  if (seen.token) headers.Authorization = 'Bearer ' + seen.token;
  const answer = await fetch(path, {headers, cache: 'no-store', signal: AbortSignal.timeout(15000)});
  const body = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new ApiError(answer.status, body.error ? body.error.message : 'status ' + answer.status);
  return body;
}

const kBadges = {passed: 5, wrong_value: 3, wrong_shape: 3, wrong_dtype: 3, runtime_error: 2, timeout: 2, memory_limit: 2, output_limit: 2, compile_error: 1, violation: 1, failed: 1, dead: 1};
function badge(outcome) {
  return element('span', outcome, 'badge b' + (kBadges[outcome] ?? 0));
}

function cell(content, tag = 'td', name = '') {
  const out = element(tag, undefined, name);
  out.append(content instanceof Node ? content : visible(content));
  if (tag === 'th') out.scope = 'row';
  return out;
}

function row(...cells) {
  const out = element('tr');
  out.append(...cells);
  return out;
}

function link(kind, name) {
  const out = element('a', name);
  out.href = `#${kind}=${encodeURIComponent(name)}`;
  return out;
}

function fill(id, rows) {
  find(id).replaceChildren(...rows);
}

function show_chart(ends) {
  const most = Math.max(1, ...ends.counts), width = 600 / ends.counts.length;
  const bars = find('bars');
  while (bars.childElementCount < ends.counts.length) {
    const bar = document.createElementNS('http://www.w3.org/2000/svg', 'rect');
    bar.setAttribute('class', 'c0');
    bars.append(bar);
  }
  ends.counts.forEach((count, i) => {
    const bar = bars.children[i], height = 100 * count / most;
    for (const [name, value] of Object.entries({x: i * width, y: 100 - height, width: width * 0.85, height}))
      bar.setAttribute(name, value.toFixed(2));
  });
  show('pace-caption', `Ended tasks a second, at most ${number(most / ends.seconds, 1)}`);
}

function show_ended(tasks, is_fresh) {
  const rows = find('rows');
  if (is_fresh) rows.replaceChildren();
  const now = Date.now();
  const fresh = tasks.slice(0, kMaxRows).map(task => row(
    cell(link('task', task.id), 'th'), cell(new Date(now - 1000 * task.seconds_ago).toLocaleTimeString()),
    cell(badge(task.outcome || task.state)), cell(speedup(task.speedup), 'td', 'number'), cell(task.problem), cell(task.candidate),
    cell([task.language, task.target].filter(Boolean).join(', ')), cell(task.worker ?? ''), cell(task.group ? link('group', task.group) : '')));
  rows.prepend(...fresh);
  while (rows.childElementCount > kMaxRows) rows.lastElementChild.remove();
  show('live-note', rows.childElementCount ? `The newest first, at most ${kMaxRows}.` : 'No task has ended since the server started.');
}

function show_outcomes(outcomes) {
  const list = Object.entries(outcomes).sort((a, b) => b[1] - a[1]);
  const in_all = list.reduce((sum, [, count]) => sum + count, 0);
  fill('outcome-rows', list.map(([name, count]) =>
    row(cell(badge(name), 'th'), cell(number(count), 'td', 'number'), cell(number(100 * count / in_all, 1) + ' %', 'td', 'number'))));
}

function show_workers(workers) {
  find('workers').hidden = find('to-workers').hidden = !workers;
  if (!workers) return;
  show('workers-note', workers.length ? '' : 'No worker has asked for tasks.');
  fill('worker-rows', workers.map(each => row(
    cell(each.name, 'th'), cell(number(each.leased), 'td', 'number'), cell(number(each.answers), 'td', 'number'),
    cell((each.seconds_ago === null ? 'not yet' : number(each.seconds_ago) + ' s ago') +
      (each.unfit ? ', in quarantine: ' + each.unfit : '')))));
}

function pace_of(in_all) {
  const now = performance.now();
  seen.samples.push([now, in_all]);
  while (seen.samples.length > 2 && now - seen.samples[0][0] > 5000) seen.samples.shift();
  const [then, before] = seen.samples[0];
  return now > then ? 1000 * (in_all - before) / (now - then) : 0;
}

function show_overview(data) {
  const start = data.next.split('-')[0], is_fresh = start !== seen.start;
  if (is_fresh) seen.samples = [];
  seen.start = start;
  seen.after = data.next;
  show('waiting', number(data.waiting));
  show('leased', number(data.leased));
  show('pace', number(pace_of(data.in_all), 1));
  show('ended', number(data.ends.counts.reduce((sum, count) => sum + count, 0)));
  show_chart(data.ends);
  if (data.ended.length || is_fresh) {
    show_ended(data.ended, is_fresh);
    show_outcomes(data.outcomes);
  }
  show('tenants-note', data.tenants.length ? '' : 'No task waits or is at a worker.');
  fill('tenant-rows', data.tenants.map(each =>
    row(cell(each.name || 'none', 'th'), cell(number(each.waiting), 'td', 'number'), cell(number(each.leased), 'td', 'number'),
      cell(`${number(each.judged_seconds)} s`, 'td', 'number'),
      cell(data.judged_seconds ? `${number(100 * each.judged_seconds / data.judged_seconds, 1)} %` : '', 'td', 'number'))));
  show_workers(data.workers);
}

function ask_for_token(why) {
  seen.start = seen.after = '';
  find('rows').replaceChildren();
  close_card();
  find('data').hidden = true;
  find('login').hidden = false;
  show('status', why);
  find('token').focus();
}

async function poll() {
  if (seen.is_polling) return;
  seen.is_polling = true;
  clearTimeout(seen.timer);
  let next = document.hidden ? kHiddenPollMs : kPollMs;
  try {
    if (!seen.paused) {
      const data = await api('v1/overview' + (seen.after ? '?after=' + encodeURIComponent(seen.after) : ''));
      const is_first = find('data').hidden;
      find('data').hidden = false;
      find('login').hidden = true;
      show_overview(data);
      show('status', 'Live.');
      if (is_first) route();
    }
    await refresh_card();
  } catch (error) {
    if (error.status === 401 || error.status === 403) return ask_for_token(visible(error.message));
    show('status', error.status ? visible(error.message) : 'The server does not answer. Trying again.');
    next = Math.max(next, kRetryMs);
  } finally {
    seen.is_polling = false;
  }
  seen.timer = setTimeout(poll, next);
}

function close_card() {
  card = null;
  find('card').hidden = true;
}

function open_card(title, parts) {
  show('card-title', visible(title));
  find('card-body').replaceChildren(...parts);
  find('card').hidden = false;
}

function facts(list) {
  const table = element('table'), body = element('tbody'), head = element('thead'), line = element('tr');
  for (const name of ['Fact', 'Value']) {
    const each = element('th', name);
    each.scope = 'col';
    line.append(each);
  }
  head.append(line);
  for (const [name, value] of list)
    if (value !== undefined && value !== null && value !== '') body.append(row(cell(name, 'th'), cell(value)));
  table.append(head, body);
  const out = element('div', undefined, 'scroll');
  out.append(table);
  return out;
}

function text_block(title, text, is_open) {
  const out = element('details'), block = element('pre');
  out.open = is_open;
  block.tabIndex = 0;
  block.textContent = bounded(text);
  out.append(element('summary', title), block);
  return out;
}

function sources_of(candidate) {
  if (!candidate) return [];
  if (typeof candidate.content === 'string') return [[candidate.file, candidate.content]];
  const sources = candidate.solution && Array.isArray(candidate.solution.sources) ? candidate.solution.sources : [];
  return sources.slice(0, 20).map(each => [each.path, each.content]);
}

function verdict_facts(verdict) {
  const ratio = verdict.speedup;
  return [
    ['Outcome', badge(verdict.violation ? `violation: ${verdict.violation}` : verdict.outcome)],
    ['Problem', verdict.problem.name], ['Candidate', verdict.candidate.name],
    ['Language, target', `${verdict.candidate.language}, ${verdict.target}`], ['Evidence level', verdict.evidence_level],
    ['Speedup', ratio ? `${speedup(ratio.median)} (${speedup(ratio.low)} to ${speedup(ratio.high)})` : ''],
    ['Times', verdict.times ? `${number(verdict.times.candidate_ms, 4)} ms, reference ${number(verdict.times.reference_ms, 4)} ms` : ''],
    ['Evidence, on the worker\'s machine', verdict.evidence ? element('code', verdict.evidence) : '']];
}

function task_parts(status, request) {
  const verdict = status.verdict;
  const list = [['State', status.state], ['Attempts', status.attempts], ['Waiting before it', status.position],
    ['Is tried again in', status.retry_in_seconds === undefined ? '' : number(status.retry_in_seconds, 1) + ' s'],
    ['Begins in about', status.estimated_start_seconds === undefined ? '' : number(status.estimated_start_seconds, 1) + ' s'],
    ['Error', status.error ? `${status.error.code}: ${status.error.message}` : ''], ['Kind', request.kind], ['Tenant', request.tenant]];
  const out = [facts(verdict ? [...list, ...verdict_facts(verdict)] : list)];
  for (const [name, text] of sources_of(request.candidate)) out.push(text_block(name || 'Candidate', text, true));
  if (verdict) {
    const all = [...verdict.diagnostics, ...verdict.workloads.flatMap(each => each.diagnostics)];
    out.push(element('h3', all.length ? 'Diagnostics' : 'No diagnostics'));
    for (const each of all.slice(0, kMaxDiagnostics)) out.push(text_block(each.kind, each.message, true));
    if (all.length > kMaxDiagnostics) out.push(element('p', `${all.length - kMaxDiagnostics} more`, 'note'));
  }
  out.push(text_block('Everything, as JSON', JSON.stringify({status, request}, null, 1), false));
  return out;
}

// The end of a task in a group's list, where the whole answer is known.
function outcome_of(task) {
  return task.verdict ? task.verdict.outcome : task.state;
}

function group_parts(name, group) {
  const table = element('table'), head = element('thead'), body = element('tbody'), line = element('tr');
  for (const title of ['Task', 'Outcome', 'Speedup', 'Candidate']) {
    const each = element('th', title, title === 'Speedup' ? 'number' : '');
    each.scope = 'col';
    line.append(each);
  }
  head.append(line);
  for (const task of group.ended)
    body.append(row(cell(link('task', task.id), 'th'), cell(badge(outcome_of(task))),
      cell(task.verdict && task.verdict.speedup ? speedup(task.verdict.speedup.median) : '', 'td', 'number'),
      cell(task.verdict ? task.verdict.candidate.name : '')));
  table.append(head, body);
  const out = element('div', undefined, 'scroll'), more = element('button', 'Next');
  out.append(table);
  more.type = 'button';
  more.hidden = group.ended.length < kMaxRows;
  more.addEventListener('click', () => {
    card.after = group.next;
    load_card(true);
  });
  return [element('p', `${group.open} tasks are under way; ${group.ended.length} that have ended are here.`), out, more];
}

async function load_task(name) {
  const [status, asked] = await Promise.all([api('v1/tasks/' + name), api(`v1/tasks/${name}/request`)]);
  return {kind: 'task', title: 'Task ' + name, is_final: status.is_final, value: [status, asked.request], parts: () => task_parts(status, asked.request)};
}

async function load_group(name, after) {
  const query = `?most=${kMaxRows}` + (after ? '&after=' + encodeURIComponent(after) : '');
  const group = await api('v1/groups/' + encodeURIComponent(name) + query);
  return {kind: 'group', title: 'Group ' + name, is_final: group.open === 0, value: group, parts: () => group_parts(name, group)};
}

async function load(kind, name, after) {
  if (kind !== 'group' && /^[0-9]{1,19}$/.test(name)) {
    try {
      return await load_task(name);
    } catch (error) {
      if (kind === 'task' || error.status !== 404) throw error;
    }
  }
  return load_group(name, after);
}

async function load_card(is_asked) {
  const mine = card;
  mine.at = performance.now();
  try {
    const found = await load(mine.kind, mine.name, mine.after);
    if (mine !== card) return;
    mine.kind = found.kind;
    mine.is_final = found.is_final;
    const text = JSON.stringify(found.value);
    const is_used = find('card-body').contains(document.activeElement);
    if (text !== mine.text && (is_asked || !is_used)) {
      mine.text = text;
      open_card(found.title, found.parts());
    }
    if (!is_asked) return;
    show('find-status', '');
    find('card').focus();
    find('card').scrollIntoView({block: 'nearest'});
  } catch (error) {
    if (mine !== card) return;
    if (error.status === 401) return ask_for_token(visible(error.message));
    if (!is_asked) return;
    close_card();
    show('find-status', visible(error.message));
  }
}

async function refresh_card() {
  if (card && !card.is_final && performance.now() - card.at >= kCardMs) await load_card(false);
}

function route() {
  const parts = /^#(task|group|find)=(.+)$/.exec(location.hash);
  if (!parts || find('data').hidden) return;
  let name = '';
  try {
    name = decodeURIComponent(parts[2]);
  } catch {
    return;
  }
  card = {kind: parts[1], name, is_final: false, at: 0, text: '', after: ''};
  load_card(true);
}

find('search-form').addEventListener('submit', event => {
  event.preventDefault();
  const name = find('search').value.trim();
  if (!name) return;
  const hash = '#find=' + encodeURIComponent(name);
  if (location.hash === hash) return route();
  location.hash = hash;
});
find('login-form').addEventListener('submit', event => {
  event.preventDefault();
  seen.token = find('token').value.trim();
  find('token').value = '';
  sessionStorage.setItem(kTokenKey, seen.token);
  poll();
});
find('pause').addEventListener('click', () => {
  seen.paused = !seen.paused;
  find('pause').setAttribute('aria-pressed', String(seen.paused));
  show('status', seen.paused ? 'Paused.' : 'Live.');
});
find('card-close').addEventListener('click', () => {
  close_card();
  history.replaceState(null, '', location.pathname);
  find('search').focus();
});
addEventListener('hashchange', route);
document.addEventListener('visibilitychange', () => {
  if (!document.hidden && find('login').hidden) poll();
});
poll();
)js";

}  // namespace kw::front
