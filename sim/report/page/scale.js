// A scale maps virtual time to places. Spaced by time, places are times. Spaced by
// events, a second of many events has much room and an hour of silence has little:
// the room between two moments grows with the logarithm of the time between them.

function timeScale() {
	return { place: (t) => t, time: (x) => x };
}

function eventScale(model) {
	const moments = new Set([0, model.elapsed]);
	for (const t of model.events.at) moments.add(t);
	for (const t of model.states.at) moments.add(t);
	for (const b of model.bands) moments.add(b.from).add(b.to);
	const times = Float64Array.from(moments).sort();
	const places = new Float64Array(times.length);
	for (let i = 1; i < times.length; i++) {
		places[i] = places[i - 1] + 3 + 7 * Math.log10(1 + (times[i] - times[i - 1]) / 100);
	}
	return { place: (t) => between(times, places, t), time: (x) => between(places, times, x) };
}

// between interpolates: xs is sorted, and ys belongs to it.
function between(xs, ys, x) {
	const last = xs.length - 1;
	if (last < 1 || x <= xs[0]) return ys[0] + (x - xs[0]);
	if (x >= xs[last]) return ys[last] + (x - xs[last]);
	const i = after(xs, x);
	return ys[i - 1] + (ys[i] - ys[i - 1]) * (x - xs[i - 1]) / (xs[i] - xs[i - 1]);
}
