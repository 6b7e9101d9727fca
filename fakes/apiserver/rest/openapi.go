package rest

import "net/http"

func (h *Handler) openAPI(r *http.Request, parts []string) (*answer, error) {
	return notFound(), nil
}
