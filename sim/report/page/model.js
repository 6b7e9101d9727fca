'use strict';
// The run as the page holds it: what Go's payload says, with times as microseconds
// from the start and strings in place of their numbers.

const $ = (id) => document.getElementById(id);

async function loadRun() {
	const bytes = Uint8Array.from(atob($('data').textContent.trim()), (c) => c.charCodeAt(0));
	const text = await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'))).text();
	return decode(JSON.parse(text));
}

function decode(p) {
	const word = (i) => p.strings[i];
	const run = p.run;
	return {
		run, verdict: p.verdict, steps: p.steps, left: p.left || [], lanes: p.lanes,
		brokenAt: run.property ? (run.at || 0) / 1000 : run.error ? run.elapsed / 1000 : null,
		elapsed: run.elapsed / 1000,
		events: {
			n: p.events.at.length, at: sums(p.events.at), lane: p.events.lane, bad: p.events.bad,
			kind: p.events.kind.map(word), text: p.events.text.map(word), object: p.events.object.map(word),
		},
		arrows: {
			n: p.arrows.at.length, from: p.arrows.from, to: p.arrows.to, at: sums(p.arrows.at), took: p.arrows.took,
			kind: p.arrows.kind.map(word), what: p.arrows.what.map(word), object: p.arrows.object.map(word), bad: p.arrows.bad,
			slowest: p.arrows.took.reduce((a, b) => Math.max(a, b), 0),
		},
		bands: p.bands.from.map((from, i) => ({
			from, to: p.bands.to[i], lane: p.bands.lane[i], label: word(p.bands.label[i]), kind: word(p.bands.kind[i]),
		})),
		states: {
			n: p.states.at.length, at: sums(p.states.at), object: p.states.object.map(word), revision: p.states.revision,
			by: p.states.by.map(word), deleted: p.states.deleted, json: p.states.json.map(word),
		},
	};
}

function sums(differences) {
	let last = 0;
	return differences.map((d) => (last += d));
}

// after is the index of the first element of a sorted list that is above x.
function after(sorted, x) {
	let low = 0, high = sorted.length;
	while (low < high) {
		const mid = (low + high) >> 1;
		if (sorted[mid] <= x) low = mid + 1; else high = mid;
	}
	return low;
}

function clockText(us) {
	const ms = Math.floor(us / 1000), two = (n) => String(n).padStart(2, '0');
	const tail = two(Math.floor(ms / 1000) % 60) + '.' + String(ms % 1000).padStart(3, '0');
	const hours = Math.floor(ms / 3600000);
	return hours ? hours + ':' + two(Math.floor(ms / 60000) % 60) + ':' + tail : Math.floor(ms / 60000) + ':' + tail;
}
