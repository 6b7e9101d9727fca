package issuer

import (
	"net/http"
	"strings"

	"github.com/seedbed-sim/seedbed/core/home/grant"
	"github.com/seedbed-sim/seedbed/core/secret"
)

// answerLimit is more than any answer has.
const answerLimit = 1 << 20

// Handler serves the issuer over HTTP. A redirect leads to elsewhere, a URL.
func (i *Issuer) Handler(elsewhere string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		bearer, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		resp, err := i.Get(r.Context(), grant.Request{URL: i.cfg.URL + r.URL.Path, Bearer: secret.New([]byte(bearer)), Limit: answerLimit})
		if err != nil {
			panic(http.ErrAbortHandler) // the client sees a broken connection
		}
		if resp.RetryAfter != "" {
			w.Header().Set("Retry-After", resp.RetryAfter)
		}
		if resp.Status/100 == 3 {
			w.Header().Set("Location", elsewhere)
		}
		w.WriteHeader(resp.Status)
		_, _ = w.Write(resp.Body) // a client that has gone does not want it
	})
}
