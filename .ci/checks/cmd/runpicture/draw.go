package main

import (
	"bufio"
	"fmt"
	"html"
	"io"
	"math"
	"slices"
)

const (
	width      = 920
	left       = 84  // of the lanes
	right      = 900 // of the lanes
	laneHeight = 26
	barHeight  = 16
	head       = 66 // of a panel: title and what the operator does
	foot       = 46 // of a panel: the axis and the verdict
	afterwards = 1  // virtual seconds drawn of what a violation left behind
)

var colours = map[string]string{"K1": "#2f7f79", "K2": "#e08e2b"}

// canvas collects the SVG; y is where the current panel begins.
type canvas struct {
	*bufio.Writer
	y float64
}

func draw(to io.Writer, runs []*run) error {
	height := 8.0
	for _, r := range runs {
		height += r.height()
	}
	height += 26
	c := &canvas{Writer: bufio.NewWriter(to), y: 8}
	fmt.Fprintf(c, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %.0f" font-family="ui-sans-serif, system-ui, sans-serif" font-size="12">`+"\n",
		width, height)
	fmt.Fprintf(c, `<rect width="%d" height="%.0f" rx="8" fill="#ffffff"/>`+"\n", width, height)
	for _, r := range runs {
		c.panel(r)
		c.y += r.height()
	}
	c.legend()
	fmt.Fprintln(c, "</svg>")
	return c.Flush()
}

func (r *run) height() float64 { return head + foot + float64(len(r.nodes))*laneHeight }

func (r *run) x(at float64) float64 {
	return left + (min(max(at, r.from), r.to)-r.from)/(r.to-r.from)*(right-left)
}

func (c *canvas) text(x, y float64, attributes, s string) {
	fmt.Fprintf(c, `<text x="%.1f" y="%.1f" %s>%s</text>`+"\n", x, y, attributes, html.EscapeString(s))
}

func (c *canvas) line(x1, y1, x2, y2 float64, attributes string) {
	fmt.Fprintf(c, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" %s/>`+"\n", x1, y1, x2, y2, attributes)
}

func (c *canvas) panel(r *run) {
	c.text(14, c.y+18, `font-size="14" font-weight="600" fill="#1c2530"`, r.title)
	bottom := c.y + head + float64(len(r.nodes))*laneHeight
	lane := func(node string) float64 {
		return c.y + head + (float64(slices.Index(r.nodes, node))+0.5)*laneHeight
	}
	for i, m := range r.marks {
		y := c.y + 36 + float64(i%2)*14
		c.line(r.x(m.at), y+4, r.x(m.at), bottom, `stroke="#8a94a0" stroke-dasharray="2 3"`)
		c.text(r.x(m.at)+4, y+4, `fill="#56606c"`, m.text)
	}
	for _, node := range r.nodes {
		c.text(14, lane(node)+4, `fill="#1c2530"`, node)
		c.ring(r, node, lane(node))
	}
	c.axis(r, bottom)
	if r.broken == nil {
		c.text(left, bottom+36, `fill="#2f7f79" font-weight="600"`, "held: at every moment every node could read every other")
		return
	}
	x := r.x(r.broken.at)
	c.line(x, c.y+head-4, x, bottom, `stroke="#c0303b" stroke-width="2"`)
	c.text(r.x(r.broken.at+afterwards)+8, c.y+head+laneHeight/2+4, `fill="#c0303b"`, "the run ends here")
	if r.deaf[0] != "" {
		a, b := lane(r.deaf[0]), lane(r.deaf[1])
		for _, y := range []float64{a, b} {
			fmt.Fprintf(c, `<circle cx="%.1f" cy="%.1f" r="5" fill="#ffffff" stroke="#c0303b" stroke-width="2"/>`+"\n", x, y)
		}
	}
	c.text(left, bottom+36, `fill="#c0303b" font-weight="600"`, "violated: "+r.broken.text)
}

// ring draws a lane: the upper half of the bar is the key a node seals with,
// the lower half the last of those it can open.
func (c *canvas) ring(r *run, node string, middle float64) {
	spans := r.rings[node]
	for i, s := range spans {
		end := r.to
		if r.broken != nil {
			end = r.broken.at + afterwards // the run ends there
		}
		if i+1 < len(spans) {
			end = spans[i+1].from
		}
		x1, x2 := r.x(s.from), r.x(end)
		if x2 <= x1 {
			continue
		}
		for half, key := range []string{s.keys[0], s.keys[len(s.keys)-1]} {
			fmt.Fprintf(c, `<rect x="%.1f" y="%.1f" width="%.1f" height="%d" fill="%s"/>`+"\n",
				x1, middle-barHeight/2+float64(half*barHeight/2), x2-x1, barHeight/2, colours[key])
		}
	}
}

func (c *canvas) axis(r *run, y float64) {
	step := 5.0
	for (r.to-r.from)/step > 12 {
		step *= 2
	}
	for at := math.Ceil(r.from/step) * step; at <= r.to; at += step {
		c.line(r.x(at), y, r.x(at), y+4, `stroke="#8a94a0"`)
		c.text(r.x(at), y+16, `text-anchor="middle" fill="#56606c" font-size="11"`, fmt.Sprintf("%d:%02d", int(at)/60, int(at)%60))
	}
}

func (c *canvas) legend() {
	x := float64(left)
	for _, item := range []struct{ keys [2]string }{{[2]string{"K1", "K1"}}, {[2]string{"K1", "K2"}}, {[2]string{"K2", "K1"}}, {[2]string{"K2", "K2"}}} {
		for half, key := range item.keys {
			fmt.Fprintf(c, `<rect x="%.1f" y="%.1f" width="18" height="6" fill="%s"/>`+"\n", x, c.y+3+float64(half*6), colours[key])
		}
		label := item.keys[0]
		if item.keys[1] != item.keys[0] {
			label += ", also opens " + item.keys[1]
		} else {
			label += " only"
		}
		c.text(x+24, c.y+13, `fill="#56606c"`, label)
		x += 24 + 7*float64(len(label)) + 20
	}
}
