// Croft's dashboard: live updates and keys. Every page works without it.
(() => {
  'use strict';
  const $ = (s, el = document) => el.querySelector(s);
  const $$ = (s, el = document) => [...el.querySelectorAll(s)];
  const root = document.documentElement;

  // Theme. The server sets data-theme from a cookie; here only without a reload.
  const setTheme = (name) => {
    if (name === 'auto') delete root.dataset.theme; else root.dataset.theme = name;
    $$('.theme button').forEach(b => b.setAttribute('aria-pressed', String(b.value === name)));
    document.cookie = `theme=${name}; path=/; max-age=31536000; samesite=strict`;
  };
  const theme = () => root.dataset.theme || 'auto';
  const saved = document.cookie.match(/(?:^|; )theme=(light|dark)/);
  if (saved) setTheme(saved[1]);
  document.addEventListener('submit', (ev) => {
    if (!ev.target.matches('.theme')) return;
    ev.preventDefault();
    setTheme(ev.submitter.value);
  });

  // Menus close on a click elsewhere, and on Escape.
  document.addEventListener('click', (ev) => {
    $$('details.menu[open]').forEach(d => { if (!d.contains(ev.target)) d.open = false; });
    const copy = ev.target.closest('[data-copy]');
    if (copy && navigator.clipboard) {
      navigator.clipboard.writeText(copy.dataset.copy).then(() => say('Copied.'));
    }
    if (ev.target.closest('a[data-keys]')) { ev.preventDefault(); $('#keys').showModal(); }
    const all = ev.target.closest('[data-all]');
    if (all) $$('tbody input[type=checkbox]', all.form).forEach(c => { c.checked = all.checked; });
  });

  // A long file of a diff is fetched when it is opened. Without the script there is a link.
  document.addEventListener('toggle', (ev) => {
    const file = ev.target;
    if (!file.matches?.('details.file[data-src]') || !file.open) return;
    const src = file.dataset.src;
    delete file.dataset.src;
    fetch(src).then(r => r.ok ? r.text() : Promise.reject()).then(html => {
      const t = document.createElement('template');
      t.innerHTML = html;
      $('.note', file)?.remove();
      file.append(t.content);
      file.dispatchEvent(new Event('change', { bubbles: true }));
    }).catch(() => { file.dataset.src = src; });
  }, true);

  // How many are selected.
  document.addEventListener('change', (ev) => {
    const bulk = ev.target.form && $('.bulk', ev.target.form);
    if (bulk) $('.chosen', bulk).textContent = `${$$('tbody input:checked', ev.target.form).length} selected`;
  });

  const say = (text) => {
    let el = $('#said');
    if (!el) {
      el = document.createElement('div');
      el.id = 'said'; el.className = 'sr'; el.setAttribute('role', 'status');
      document.body.append(el);
    }
    el.textContent = text;
  };

  // Review: a file's box stands for all of its hunks.
  const pick = $('form.review');
  if (pick) {
    const count = () => {
      const hunks = $$('input[name=hunk]', pick), on = hunks.filter(h => h.checked);
      const whole = $$('input[name=path]', pick).filter(p => p.checked);
      const files = new Set([...whole.map(p => p.value), ...on.map(h => h.value.replace(/:\d+$/, ''))]);
      $('#chosen').textContent = `${files.size} of ${$$('.pick', pick).length} files, ${on.length} of ${hunks.length} hunks`;
      $('#apply').disabled = files.size === 0;
      $$('.pick', pick).forEach(f => {
        const whole = $('input[name=path]', f), tick = $(`.tick[data-for="${CSS.escape(whole.value)}"]`, pick);
        if (tick) tick.dataset.state = whole.checked ? 'all' : $('input[name=hunk]:checked', f) ? 'some' : 'none';
      });
    };
    pick.addEventListener('change', (ev) => {
      const file = ev.target.closest('.pick');
      if (file) {
        const whole = $('input[name=path]', file), hunks = $$('input[name=hunk]', file);
        if (ev.target === whole || ev.target.matches('details') && whole.checked) hunks.forEach(h => { h.checked = whole.checked; });
        else if ('partial' in file.dataset) {
          // Not all hunks are here: they never stand for the file.
          whole.checked = false;
          whole.indeterminate = hunks.some(h => h.checked);
        } else if (hunks.length) {
          const on = hunks.filter(h => h.checked).length;
          whole.checked = on === hunks.length;
          whole.indeterminate = on > 0 && on < hunks.length;
        }
      }
      count();
    });
    $$('.pick', pick).forEach(f => {
      const whole = $('input[name=path]', f), hunks = $$('input[name=hunk]', f), on = hunks.filter(h => h.checked).length;
      if (hunks.length && on === hunks.length && !('partial' in f.dataset)) whole.checked = true;
      whole.indeterminate = on > 0 && !whole.checked;
    });
    count();
  }

  // Keys. data-keys="off" on the document turns the single letters off.
  let at = -1, chord = '';
  const rows = () => $$('[data-row]');
  const move = (by) => {
    const list = rows();
    if (!list.length) return;
    list[at]?.classList.remove('at');
    at = Math.max(0, Math.min(list.length - 1, at + by));
    list[at].classList.add('at');
    const to = $('.name, th a', list[at]);
    (to || list[at]).focus({ preventScroll: true });
    list[at].scrollIntoView({ block: 'nearest' });
  };
  const file = (by) => {
    const heads = $$('.file > summary, .file > .file-head');
    const i = heads.indexOf(document.activeElement?.closest('.file > summary, .file > .file-head'));
    const to = heads[Math.max(0, Math.min(heads.length - 1, i + by))];
    if (to) { ($('input', to) || to).focus(); to.scrollIntoView({ block: 'start' }); }
  };
  document.addEventListener('keydown', (ev) => {
    if (ev.key === 'Escape') {
      $$('details.menu[open]').forEach(d => { d.open = false; $('summary', d).focus(); });
      if (ev.target.matches?.('input, textarea')) ev.target.blur();
      return;
    }
    if (ev.ctrlKey || ev.metaKey || ev.altKey || root.dataset.keys === 'off') return;
    if (ev.target.matches?.('input:not([type=checkbox], [type=radio]), textarea, select') || $('dialog[open]')) return;
    if (chord === 'g') {
      chord = '';
      const to = $(`[data-go="${CSS.escape(ev.key)}"]`);
      if (to) { ev.preventDefault(); to.click(); }
      return;
    }
    const act = {
      '?': () => $('#keys')?.showModal(),
      '/': () => $('input[type=search]')?.focus(),
      'j': () => move(1), 'k': () => move(-1),
      'x': () => $('input[type=checkbox]', rows()[at] || document.createElement('i'))?.click(),
      'g': () => { chord = 'g'; setTimeout(() => { chord = ''; }, 1200); },
      'n': () => file(1), 'p': () => file(-1),
      'o': () => { const d = document.activeElement?.closest('details.file'); if (d) d.open = !d.open; },
      'm': () => $('[data-main]')?.focus(),
      't': () => setTheme({ auto: 'light', light: 'dark', dark: 'auto' }[theme()]),
    }[ev.key];
    if (act) { ev.preventDefault(); act(); return; }
    const tab = /^[1-9]$/.test(ev.key) && $$('.tabs a')[ev.key - 1];
    if (tab) tab.click();
  });

  // Times: "3m" grows older without a reload.
  const short = (s) => s < 60 ? `${s}s` : s < 3600 ? `${s / 60 | 0}m` : s < 86400 ? `${s / 3600 | 0}h ${s % 3600 / 60 | 0}m` : `${s / 86400 | 0}d`;
  const tick = () => $$('time[data-age]').forEach(t => {
    t.textContent = short(Math.max(0, (Date.now() - Date.parse(t.dateTime)) / 1000 | 0));
  });
  setInterval(tick, 15000);

  // Live updates. The server sends elements, each with an id that is in the
  // page: the new one takes the old one's place, unless somebody is in it.
  const url = document.body.dataset.events;
  if (url) {
    const banner = $('#banner'), live = $('#live');
    let lost, stale, retry;
    // Load the page again, but not under the hands of somebody who writes or chooses.
    const again = () => {
      stale = true;
      clearTimeout(retry);
      const at = document.activeElement;
      if (at?.matches('input, textarea, select') || $('main :checked, main details.menu[open], main details.confirm[open]')) retry = setTimeout(again, 1000);
      else fetch('/healthz').then(() => location.reload(), later);
    };
    // While the server is away the page stays: a browser's own page would take its place.
    const later = () => { retry = setTimeout(again, 2000); };
    // The same, but neither under the eyes of somebody who reads further down, or has marked something, nor again and
    // again: that page says that it is old.
    const againIfUnread = () => {
      stale = true;
      clearTimeout(retry);
      const isRead = scrollY > 100 || !!String(getSelection());
      if (isRead) $('#old').hidden = false;
      if (isRead || performance.now() < 3000) retry = setTimeout(againIfUnread, 500); else again();
    };
    const es = new EventSource(url);
    es.addEventListener('open', () => {
      clearTimeout(lost); lost = 0;
      banner.hidden = true; live.textContent = 'live'; live.classList.remove('off');
    });
    es.addEventListener('error', () => {
      live.textContent = 'offline'; live.classList.add('off');
      lost ||= setTimeout(() => { banner.hidden = false; }, 3000);
      if (es.readyState === EventSource.CLOSED) back();
    });
    // The server refused the stream: the session has ended, or the page is gone. Once the
    // server answers, it says so itself.
    const back = () => setTimeout(() => fetch('/healthz').then((r) => r.ok ? again() : back(), back), 2000);
    // Elements that could not be shown yet because somebody is in the old ones, by id.
    const waiting = new Map();
    const inUse = (el) => el.contains(document.activeElement) || el.matches('details[open]') || $(':checked, details[open]', el);
    // Every form has a key of its own, which makes no difference.
    const isSame = (old, el) => {
      const keys = $$('input[name=key]', old);
      const copy = el.cloneNode(true);
      $$('input[name=key]', copy).forEach((k, i) => { if (keys[i]) k.setAttribute('value', keys[i].getAttribute('value')); });
      return old.isEqualNode(copy);
    };
    const put = (el) => {
      const old = document.getElementById(el.id);
      waiting.delete(el.id);
      if (!old || isSame(old, el)) return;
      if (inUse(old)) waiting.set(el.id, el); else old.replaceWith(el);
    };
    const putWaiting = () => setTimeout(() => { if (!stale) [...waiting.values()].forEach(put); });
    for (const type of ['focusout', 'change', 'toggle']) document.addEventListener(type, putWaiting, true);
    es.addEventListener('element', (ev) => {
      if (stale) return;
      const t = document.createElement('template');
      t.innerHTML = ev.data;
      [...t.content.children].forEach(put);
      tick();
    });
    // What the page shows is another thing now, but it stays until the reader wants that.
    es.addEventListener('old', () => { $('#old').hidden = false; });
    es.addEventListener('append', (ev) => {
      const { id, text } = JSON.parse(ev.data), pre = document.getElementById(id);
      if (!pre) return;
      const end = pre.scrollHeight - pre.scrollTop - pre.clientHeight < 40;
      pre.append(text);
      if (end) pre.scrollTop = pre.scrollHeight;
    });
    es.addEventListener('reload', againIfUnread);
    addEventListener('pagehide', () => es.close());
    // A browser has six connections to a server: pages that nobody looks at give theirs back.
    let hidden;
    addEventListener('visibilitychange', () => {
      clearTimeout(hidden);
      if (document.hidden) hidden = setTimeout(() => es.close(), 5000);
      else if (es.readyState === EventSource.CLOSED) again();
    });
  }
  $$('.nav [aria-current], .tabs [aria-current]').forEach(a => {
    const bar = a.parentElement, b = bar.getBoundingClientRect(), r = a.getBoundingClientRect();
    bar.scrollLeft += r.left + r.width / 2 - b.left - b.width / 2;
  });
  $$('.term[data-follow]').forEach(p => { p.scrollTop = p.scrollHeight; });
})();
