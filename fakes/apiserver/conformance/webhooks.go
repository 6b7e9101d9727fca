package conformance

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// Webhooks is the server that cases configure as admission webhooks; the README
// beside the cases says what its paths answer.
func Webhooks() http.Handler {
	mux := http.NewServeMux()
	for path, respond := range map[string]func(request map[string]any) map[string]any{
		"/allow": func(map[string]any) map[string]any { return allowed(nil) },
		"/deny": func(map[string]any) map[string]any {
			return denied(map[string]any{"message": "denied by test webhook"})
		},
		"/deny-bare":   func(map[string]any) map[string]any { return denied(nil) },
		"/deny-custom": denyCustom,
		"/warn": func(map[string]any) map[string]any {
			return allowed(map[string]any{"warnings": []any{"first warning", "second warning"}})
		},
		"/label": func(map[string]any) map[string]any {
			return patched("/metadata/labels", map[string]any{"webhook": "yes"})
		},
		"/describe": describe,
	} {
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) { review(w, r, respond) })
	}
	mux.HandleFunc("/error", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusInternalServerError)
		fmt.Fprint(w, "boom")
	})
	return mux
}

// review unpacks an AdmissionReview and packs the answer to it.
func review(w http.ResponseWriter, r *http.Request, respond func(map[string]any) map[string]any) {
	var in map[string]any
	if err := decode(r.Body, &in); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	request, _ := in["request"].(map[string]any)
	response := respond(request)
	response["uid"] = request["uid"]
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{
		"apiVersion": in["apiVersion"], "kind": "AdmissionReview", "response": response,
	})
}

func allowed(more map[string]any) map[string]any {
	response := map[string]any{"allowed": true}
	for k, v := range more {
		response[k] = v
	}
	return response
}

func denied(status map[string]any) map[string]any {
	response := map[string]any{"allowed": false}
	if status != nil {
		response["status"] = status
	}
	return response
}

func denyCustom(map[string]any) map[string]any {
	return denied(map[string]any{"code": 422, "reason": "Invalid", "message": "custom refusal"})
}

// patched allows with a JSON patch that sets one member.
func patched(path string, value any) map[string]any {
	patch, _ := json.Marshal([]any{map[string]any{"op": "add", "path": path, "value": value}})
	return allowed(map[string]any{"patchType": "JSONPatch", "patch": patch}) // []byte is base64 in JSON
}

// describe writes what the webhook was shown into an annotation.
func describe(request map[string]any) map[string]any {
	old := "null"
	if request["oldObject"] != nil {
		old = "present"
	}
	user, _ := Lookup(request, "userInfo.username")
	options, _ := Lookup(request, "options.kind")
	parts := []string{
		fmt.Sprintf("op=%v", request["operation"]), fmt.Sprintf("sub=%v", request["subResource"]),
		fmt.Sprintf("dryRun=%v", request["dryRun"]), fmt.Sprintf("name=%v", request["name"]),
		"old=" + old, fmt.Sprintf("user=%v", user),
	}
	for _, member := range [][2]string{
		{"uid", "uid"}, {"rv", "resourceVersion"}, {"managedFields", "managedFields"}, {"generation", "generation"},
	} {
		value, _ := Lookup(request, "object.metadata."+member[1])
		parts = append(parts, fmt.Sprintf("%s=%v", member[0], value != Absent && value != nil))
	}
	parts = append(parts, fmt.Sprintf("options=%v", options))
	return patched("/metadata/annotations", map[string]any{"seen": strings.Join(parts, " ")})
}
