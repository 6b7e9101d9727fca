package report_test

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// chromium is a page in a headless Chromium, driven over a pair of pipes: requests and
// answers are JSON, each ended by a zero byte.
type chromium struct {
	t       *testing.T
	to      *os.File
	from    *bufio.Reader
	session string
	serial  int
	faults  []string // exceptions and failed loads of the page
}

// browsers are the names under which Chromium is installed.
var browsers = []string{"chromium", "chromium-browser", "google-chrome"}

// requireBrowser is the environment variable that makes it an error if there is no
// browser; .ci/run sets it.
const requireBrowser = "SEEDBED_TEST_BROWSER"

// openPage opens a file in a new browser, which ends with the test.
func openPage(t *testing.T, path string) *chromium {
	t.Helper()
	program := ""
	for _, name := range browsers {
		if found, err := exec.LookPath(name); err == nil {
			program = found
			break
		}
	}
	switch {
	case program == "" && os.Getenv(requireBrowser) != "":
		t.Fatalf("%s is set, and none of %v is installed", requireBrowser, browsers)
	case program == "":
		t.Skipf("none of %v is installed; .ci/run installs one and runs this test", browsers)
	}
	// Not the test's own folder: what is left of a browser may still write there for a
	// moment when it is removed.
	profile, err := os.MkdirTemp("", "chromium-") //nolint:usetesting // as said
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--remote-debugging-pipe",
		"--window-size=1600,950", "--user-data-dir="+profile)
	requests, toBrowser := pipe(t)
	fromBrowser, answers := pipe(t)
	cmd.ExtraFiles = []*os.File{requests, answers} // file descriptors 3 and 4
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	requests.Close()
	answers.Close()
	c := &chromium{t: t, to: toBrowser, from: bufio.NewReaderSize(fromBrowser, 1<<20)}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()
		if err := os.RemoveAll(profile); err != nil {
			t.Logf("left behind: %v", err)
		}
	})
	// A browser that does not answer must not hold up the test for ever.
	watchdog := time.AfterFunc(2*time.Minute, func() { _ = cmd.Process.Kill() })
	t.Cleanup(func() { watchdog.Stop() })

	var target struct{ TargetID string }
	c.call("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var attached struct{ SessionID string }
	c.call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
	c.session = attached.SessionID
	c.call("Runtime.enable", nil, nil)
	c.call("Network.enable", nil, nil)
	c.call("Page.navigate", map[string]any{"url": "file://" + path}, nil)
	c.await(`document.documentElement.dataset.ready === 'yes'`)
	return c
}

func pipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	return r, w
}

// call makes one request, which must not fail.
func (c *chromium) call(method string, params, result any) {
	c.t.Helper()
	if err := c.ask(method, params, result); err != nil {
		c.t.Fatal(err)
	}
}

// ask makes one request and reads up to its answer; the error is the browser's.
func (c *chromium) ask(method string, params, result any) error {
	c.t.Helper()
	c.serial++
	request := map[string]any{"id": c.serial, "method": method}
	if params != nil {
		request["params"] = params
	}
	if c.session != "" {
		request["sessionId"] = c.session
	}
	text, err := json.Marshal(request)
	if err != nil {
		c.t.Fatal(err)
	}
	if _, err := c.to.Write(append(text, 0)); err != nil {
		c.t.Fatalf("ask the browser for %s: %v", method, err)
	}
	for {
		text, err := c.from.ReadBytes(0)
		if err != nil {
			c.t.Fatalf("the browser does not answer to %s: %v", method, err)
		}
		var message struct {
			ID     int
			Method string
			Params json.RawMessage
			Result json.RawMessage
			Error  *struct{ Message string }
		}
		if err := json.Unmarshal(text[:len(text)-1], &message); err != nil {
			c.t.Fatal(err)
		}
		c.note(message.Method, message.Params)
		switch {
		case message.ID != c.serial:
			continue
		case message.Error != nil:
			return fmt.Errorf("%s: %s", method, message.Error.Message)
		case result != nil:
			if err := json.Unmarshal(message.Result, result); err != nil {
				c.t.Fatal(err)
			}
		}
		return nil
	}
}

// note keeps what goes wrong in the page, and whatever it loads beside itself.
func (c *chromium) note(event string, params json.RawMessage) {
	switch event {
	case "Runtime.exceptionThrown":
		c.faults = append(c.faults, string(params))
	case "Network.requestWillBeSent":
		var sent struct{ Request struct{ URL string } }
		if json.Unmarshal(params, &sent) == nil && filepath.Ext(sent.Request.URL) != ".html" {
			c.faults = append(c.faults, "the page asks for "+sent.Request.URL)
		}
	}
}

// eval is the value of an expression, as JSON has it.
func (c *chromium) eval(expression string) any {
	c.t.Helper()
	var got struct {
		Result           struct{ Value any }
		ExceptionDetails *struct{ Text string }
	}
	c.call("Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true}, &got)
	if got.ExceptionDetails != nil {
		c.t.Fatalf("%s: %s", expression, got.ExceptionDetails.Text)
	}
	return got.Result.Value
}

// await waits until an expression is true: a page takes real time. A page that is just
// being replaced by another has no answer.
func (c *chromium) await(expression string) {
	c.t.Helper()
	for {
		var got struct{ Result struct{ Value any } }
		err := c.ask("Runtime.evaluate", map[string]any{
			"expression":   fmt.Sprintf(`new Promise((done) => requestAnimationFrame(() => done(Boolean(%s))))`, expression),
			"awaitPromise": true, "returnByValue": true,
		}, &got)
		if err == nil && got.Result.Value == true {
			return
		}
	}
}

// press presses a key, as a user does.
func (c *chromium) press(key string) {
	c.t.Helper()
	down := map[string]any{"type": "keyDown", "key": key}
	if len(key) == 1 {
		down["text"] = key
	}
	c.call("Input.dispatchKeyEvent", down, nil)
	c.call("Input.dispatchKeyEvent", map[string]any{"type": "keyUp", "key": key}, nil)
}

// dark makes the user prefer dark pages, or light ones.
func (c *chromium) dark(on bool) {
	c.t.Helper()
	value := "light"
	if on {
		value = "dark"
	}
	c.call("Emulation.setEmulatedMedia", map[string]any{
		"features": []map[string]string{{"name": "prefers-color-scheme", "value": value}},
	}, nil)
}

// screenshot writes what the page looks like into the folder that SEEDBED_SCREENSHOTS
// names, for a person's eye.
func (c *chromium) screenshot(name string) {
	c.t.Helper()
	folder := os.Getenv("SEEDBED_SCREENSHOTS")
	if folder == "" {
		return
	}
	var got struct{ Data string }
	c.call("Page.captureScreenshot", map[string]any{"format": "png"}, &got)
	picture, err := base64.StdEncoding.DecodeString(got.Data)
	if err != nil {
		c.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, name+".png"), picture, 0o644); err != nil {
		c.t.Fatal(err)
	}
}
