package rest_test

import (
	"encoding/json"
	"strings"
	"testing"
)

const accounts = "/api/v1/namespaces/default/serviceaccounts"

// TestLimits of bodies, of what etcd takes and of fields, in the words of a real
// server.
func TestLimits(t *testing.T) {
	h := newHandler()
	x := func(n int) string { return strings.Repeat("x", n) }
	for _, c := range []struct {
		method, path, contentType, body string
		code                            int
		message                         string
	}{
		{"POST", maps, "", `{"metadata":{"name":"a","annotations":{"a":"` + x(262143) + `"}}}`, 201, ""},
		{"POST", maps, "", `{"metadata":{"name":"b","annotations":{"a":"` + x(262144) + `"}}}`, 422,
			`ConfigMap "b" is invalid: metadata.annotations: Too long: may not be more than 262144 bytes`},
		{"PATCH", maps + "/a", merge, `{"metadata":{"annotations":{"b":"y"}}}`, 422,
			`ConfigMap "a" is invalid: metadata.annotations: Too long: may not be more than 262144 bytes`},
		{"POST", maps, "", `{"metadata":{"name":"c"},"data":{"k":"` + x(1048576) + `"}}`, 201, ""},
		{"POST", maps, "", `{"metadata":{"name":"d"},"data":{"k":"` + x(1048577) + `"}}`, 422,
			`ConfigMap "d" is invalid: []: Too long: may not be more than 1048576 bytes`},
		{"POST", maps, "", `{"metadata":{"name":"e"},"data":{"k":"` + x(3145728) + `"}}`, 413, "Request entity too large: limit is 3145728"},
		{"POST", "/api/v1/namespaces/default/secrets", "", `{"metadata":{"name":"s"},"type":"x","stringData":{"k":"` + x(1048577) + `"}}`, 422,
			`Secret "s" is invalid: data: Too long: may not be more than 1048576 bytes`},
		{"POST", accounts, "", `{"metadata":{"name":"big"},"imagePullSecrets":[{"name":"` + x(1600000) + `"}]}`, 500, "etcdserver: request is too large"},
		{"POST", accounts, "", `{"metadata":{"name":"huge"},"imagePullSecrets":[{"name":"` + x(2200000) + `"}]}`, 500, tooLargeToSend},
		{"POST", accounts, "", `{"metadata":{"name":"m"},"imagePullSecrets":[{"name":"` + x(800000) + `"}]}`, 201, ""},
		{"PATCH", accounts + "/m", merge, `{"imagePullSecrets":[{"name":"` + x(800000) + `"},{"name":"y` + x(800000) + `"}]}`, 500, "etcdserver: request is too large"},
		{"PATCH", accounts + "/m", jsonPatch, `[{"op":"add","path":"/imagePullSecrets/-","value":{"name":"` + x(800001) + `"}}]`, 500, "etcdserver: request is too large"},
		{"PATCH", accounts + "/m", jsonPatch, `[{"op":"copy","from":"/imagePullSecrets/0","path":"/imagePullSecrets/-"}]`, 500, "etcdserver: request is too large"},
		{"PATCH", accounts + "/m", jsonPatch, `[` + strings.Repeat(`{"op":"copy","from":"/imagePullSecrets/0","path":"/imagePullSecrets/-"},`, 2) + `{"op":"test","path":"/metadata/name","value":"m"}]`,
			500, tooLargeToSend},
		{"PATCH", accounts + "/m", jsonPatch, `[` + strings.Repeat(`{"op":"test","path":"/metadata/name","value":"m"},`, 10000) + `{"op":"test","path":"/metadata/name","value":"m"}]`,
			413, "Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001"},
		{"PATCH", accounts + "/m", merge, `{"metadata":{"annotations":{"a":"` + x(3145728) + `"}}}`, 413, "Request entity too large: limit is 3145728"},
		{"PUT", accounts + "/m", "", `{"metadata":{"name":"m"},"x":"` + x(3145728) + `"}`, 413, "Request entity too large: limit is 3145728"},
		{"DELETE", accounts + "/m", "", `{"kind":"DeleteOptions","x":"` + x(3145728) + `"}`, 413, "Request entity too large: limit is 3145728"},
		{"POST", accounts + "/m/token", "", `{"kind":"TokenRequest","x":"` + x(3145728) + `"}`, 413, "Request entity too large: limit is 3145728"},
	} {
		code, _, body := do(t, h, c.method, c.path, "", c.contentType, c.body)
		var status struct{ Message string }
		if code != 201 {
			must(t, json.Unmarshal([]byte(body), &status))
		}
		if code != c.code || !strings.HasPrefix(status.Message, c.message) || c.message == "" != (status.Message == "") {
			t.Errorf("%s %s %.80s: %d %.300s\nwant %d %s", c.method, c.path, c.body, code, status.Message, c.code, c.message)
		}
	}
}

const (
	merge     = "application/merge-patch+json"
	jsonPatch = "application/json-patch+json"

	// tooLargeToSend is followed by the size of the message.
	tooLargeToSend = "rpc error: code = ResourceExhausted desc = trying to send message larger than max ("
)
