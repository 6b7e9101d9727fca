package report

import (
	"bytes"
	"compress/gzip"
	"embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"strings"
)

// PageLimit is how large a page becomes at most, in bytes.
const PageLimit = 2_000_000

//go:embed page
var pageFiles embed.FS

var page = template.Must(template.New("page.html").Funcs(template.FuncMap{
	"style":  func(name string) template.CSS { return template.CSS(asset(name)) },
	"script": func(name string) template.JS { return template.JS(asset(name)) },
}).ParseFS(pageFiles, "page/page.html"))

// asset is a file of the page, which is part of the program.
func asset(name string) string {
	text, err := pageFiles.ReadFile("page/" + name)
	if err != nil {
		panic("report: " + err.Error())
	}
	return string(text)
}

// WriteHTML writes a page that shows the drawing. It needs no network and stays
// below [PageLimit]; what did not fit is left out, which the page says.
func WriteHTML(out io.Writer, d *Drawing) error {
	data, err := fitting(d, PageLimit-len(asset("page.html"))-scriptBytes())
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := page.Execute(&b, struct {
		Title, Verdict string
		Data           template.HTML // base64: nothing in it means anything in HTML
	}{d.Run.Title, verdict(d.Run), template.HTML(data)}); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	if _, err := out.Write(b.Bytes()); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

// scriptBytes is how much the page needs beside its data, with some room for the
// title.
func scriptBytes() int {
	n := 64 << 10
	entries, err := pageFiles.ReadDir("page")
	if err != nil {
		panic("report: " + err.Error())
	}
	for _, e := range entries {
		n += len(asset(e.Name()))
	}
	return n
}

// verdict is what came of a run, in a few words.
func verdict(r *Run) string {
	switch {
	case r.Property != "":
		return "violates " + r.Property
	case r.Error != "":
		return "failed"
	}
	return "held"
}

// fitting returns the data of the page in at most so many bytes: as many of the latest
// states as fit beside all events, or, if these alone are too many, the latest events.
func fitting(d *Drawing, limit int) (string, error) {
	p := newPayload(d)
	data, err := p.pack()
	if err != nil || len(data) <= limit {
		return data, err
	}
	whole := len(data)
	p.keep(0, 1)
	if data, err = p.pack(); err != nil {
		return "", err
	}
	if share := float64(limit-len(data)) / float64(max(1, whole-len(data))); share > 0 {
		bare := data
		p.keep(share*margin, 1)
		if data, err = p.pack(); err == nil && len(data) > limit {
			p.keep(0, 1)
			data = bare
		}
		return data, err
	}
	for share := 1.0; err == nil && len(data) > limit && share > 0.001; {
		share *= margin * float64(limit) / float64(len(data))
		p.keep(0, share)
		data, err = p.pack()
	}
	return data, err
}

// margin leaves room for what does not shrink in proportion.
const margin = 0.9

// pack compresses the payload: gzip, then base64, which is what a script can read.
func (p *payload) pack() (string, error) {
	raw, err := json.Marshal(p)
	if err != nil {
		return "", fmt.Errorf("write report: %w", err)
	}
	var b strings.Builder
	encoder := base64.NewEncoder(base64.StdEncoding, &b)
	zip := gzip.NewWriter(encoder)
	if _, err := zip.Write(raw); err != nil {
		return "", fmt.Errorf("write report: %w", err)
	}
	if err := zip.Close(); err != nil {
		return "", fmt.Errorf("write report: %w", err)
	}
	if err := encoder.Close(); err != nil {
		return "", fmt.Errorf("write report: %w", err)
	}
	return b.String(), nil
}
