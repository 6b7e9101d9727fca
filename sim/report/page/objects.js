// The objects as they are at the cursor, and what the latest write changed.

function newObjects(app) {
	const s = app.model.states;
	const objects = { chosen: '' };
	const byObject = new Map(); // the indices of its states, in order
	for (let i = 0; i < s.n; i++) {
		if (!byObject.has(s.object[i])) byObject.set(s.object[i], []);
		byObject.get(s.object[i]).push(i);
	}

	objects.paint = () => {
		const t = app.cursor();
		$('when').textContent = s.n ? 'at ' + clockText(t) : 'the trace holds no states';
		const upto = after(s.at, t), list = [];
		for (const [name, states] of byObject) {
			const n = after(states, upto - 1);
			if (n && matches(name)) list.push([name, states[n - 1], n > 1 ? states[n - 2] : -1]);
		}
		list.sort((a, b) => s.revision[b[1]] - s.revision[a[1]]);
		const about = app.selected >= 0 ? app.model.events.object[app.selected] : '';
		if (about && byObject.has(about)) objects.chosen = about;
		if (!objects.chosen && list.length) objects.chosen = list[0][0];
		$('list').replaceChildren(...list.map(([name, i]) => item(name, i, t)));
		const found = list.find(([name]) => name === objects.chosen);
		$('diff').replaceChildren(...(found ? difference(found[2], found[1]) : []));
	};

	function matches(name) {
		return !app.query || name.toLowerCase().includes(app.query) || name === objects.chosen;
	}

	function item(name, i, t) {
		const b = element('button', (s.at[i] === t ? 'fresh ' : '') + (s.deleted[i] ? 'gone' : ''), name + ' ');
		b.append(element('small', '', 'revision ' + s.revision[i] + (s.by[i] ? ' by ' + s.by[i] : '') + ' at ' + clockText(s.at[i])));
		b.setAttribute('aria-pressed', name === objects.chosen);
		b.addEventListener('click', () => {
			objects.chosen = name;
			objects.paint();
		});
		return b;
	}

	function difference(before, now) {
		if (s.deleted[now]) return [element('del', '', 'deleted; its last state was\n\n' + plain(s.json[now]))];
		if (before < 0 || s.deleted[before]) return [element('ins', '', plain(s.json[now]))];
		return lineDifference(plain(s.json[before]).split('\n'), plain(s.json[now]).split('\n')).map(([sign, text]) =>
			sign === ' ' ? document.createTextNode('  ' + text + '\n') : element(sign === '+' ? 'ins' : 'del', '', sign + ' ' + text));
	}
	return objects;
}

// plain writes JSON the way YAML looks.
function plain(json) {
	const out = [];
	const write = (value, indent, lead) => {
		const pad = ' '.repeat(indent);
		if (Array.isArray(value) && value.length) {
			if (lead) out.push(lead);
			for (const v of value) {
				const at = out.length;
				write(v, indent + 2, '');
				out[at] = pad + '- ' + (out[at] || '').trimStart();
			}
		} else if (value && typeof value === 'object' && !Array.isArray(value) && Object.keys(value).length) {
			if (lead) out.push(lead);
			for (const key of Object.keys(value)) write(value[key], indent + 2, pad + key + ':');
		} else {
			out.push((lead || pad) + ' ' + (typeof value === 'string' ? value : JSON.stringify(value)));
		}
	};
	write(JSON.parse(json), 0, '');
	return out.join('\n');
}

// lineDifference is a longest common subsequence of lines, in full up to a size that
// does not take long.
function lineDifference(a, b) {
	let head = 0, tail = 0;
	while (head < a.length && head < b.length && a[head] === b[head]) head++;
	while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++;
	const x = a.slice(head, a.length - tail), y = b.slice(head, b.length - tail), out = [];
	for (const l of a.slice(0, head)) out.push([' ', l]);
	if (x.length * y.length > 1e6) {
		for (const l of x) out.push(['-', l]);
		for (const l of y) out.push(['+', l]);
	} else {
		const n = y.length + 1, best = new Uint32Array((x.length + 1) * n);
		for (let i = x.length - 1; i >= 0; i--) {
			for (let j = y.length - 1; j >= 0; j--) {
				best[i * n + j] = x[i] === y[j] ? best[(i + 1) * n + j + 1] + 1 : Math.max(best[(i + 1) * n + j], best[i * n + j + 1]);
			}
		}
		for (let i = 0, j = 0; i < x.length || j < y.length;) {
			if (i < x.length && j < y.length && x[i] === y[j]) out.push([' ', x[i]]), i++, j++;
			else if (i < x.length && (j === y.length || best[(i + 1) * n + j] >= best[i * n + j + 1])) out.push(['-', x[i++]]);
			else out.push(['+', y[j++]]);
		}
	}
	for (const l of a.slice(a.length - tail)) out.push([' ', l]);
	return out;
}
