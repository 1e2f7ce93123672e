package milestone_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
)

// cookie is the value of the cookie that Task-Hub asks for.
const cookie = "hunter2hunter2"

// hub is a Task-Hub: milestones, their items, and all that it was asked for.
type hub struct {
	*httptest.Server

	mu         sync.Mutex
	milestones []map[string]any
	items      map[string][]map[string]any // by milestone
	requests   []request
	misbehave  func(w http.ResponseWriter, r *http.Request) bool // answers a request itself if it says so; nil never does
}

// request is what the hub was asked for.
type request struct{ what, key, body string }

func (r request) String() string { return strings.TrimSpace(r.what + " " + r.body) }

func newHub(t testing.TB) *hub {
	t.Helper()
	h := &hub{items: map[string][]map[string]any{}}
	h.Server = httptest.NewServer(h)
	t.Cleanup(h.Close)
	return h
}

func (h *hub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	h.mu.Lock()
	h.requests = append(h.requests, request{r.Method + " " + r.URL.EscapedPath(), r.Header.Get("Idempotency-Key"), string(body)})
	misbehave := h.misbehave
	h.mu.Unlock()
	if misbehave != nil && misbehave(w, r) {
		return
	}
	status, answer := h.answer(r, body)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(answer)
}

func (h *hub) answer(r *http.Request, body []byte) (status int, answer any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var sent map[string]any
	if r.Header.Get("Cookie") != "session="+cookie {
		return http.StatusUnauthorized, map[string]string{"error": "log in"}
	}
	if r.Method != http.MethodGet && (json.Unmarshal(body, &sent) != nil || r.Header.Get("Content-Type") != "application/json") {
		return http.StatusBadRequest, map[string]string{"error": "not JSON"}
	}
	path := strings.Split(strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/api/milestones"), "/"), "/")
	switch {
	case path[0] == "" && r.Method == http.MethodGet:
		return http.StatusOK, map[string]any{"milestones": h.milestones}
	case path[0] == "" && r.Method == http.MethodPost:
		sent["_id"], sent["status"] = fmt.Sprint("m", len(h.milestones)+1), "planning"
		h.milestones = append(h.milestones, sent)
		return http.StatusCreated, map[string]any{"milestone": sent}
	case !slices.ContainsFunc(h.milestones, func(m map[string]any) bool { return m["_id"] == path[0] }):
		return http.StatusNotFound, map[string]string{"error": "no such milestone"}
	case len(path) == 2 && r.Method == http.MethodGet:
		return http.StatusOK, map[string]any{"items": h.items[path[0]]}
	case len(path) == 2 && r.Method == http.MethodPost:
		sent["_id"], sent["status"] = fmt.Sprint("i", len(h.items[path[0]])+1), "todo"
		h.items[path[0]] = append(h.items[path[0]], sent)
		return http.StatusCreated, map[string]any{"item": sent}
	case len(path) == 3 && r.Method == http.MethodPut:
		for _, i := range h.items[path[0]] {
			if i["_id"] == path[2] {
				for name, value := range sent {
					i[name] = value
				}
				return http.StatusOK, i
			}
		}
		return http.StatusNotFound, map[string]string{"error": "no such item"}
	}
	return http.StatusMethodNotAllowed, map[string]string{"error": "what?"}
}

// with puts a milestone m1 with items i1 to i<n> into the hub.
func (h *hub) with(n int) *hub {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.milestones = []map[string]any{{"_id": "m1", "title": "출시", "status": "active"}}
	for i := range n {
		h.items["m1"] = append(h.items["m1"], map[string]any{"_id": fmt.Sprint("i", i+1), "title": "x", "status": "todo"})
	}
	return h
}

// bad has the hub misbehave from now on; nil ends that.
func (h *hub) bad(how func(w http.ResponseWriter, r *http.Request) bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.misbehave = how
}

// status is how an item of m1 stands.
func (h *hub) status(item string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, i := range h.items["m1"] {
		if i["_id"] == item {
			return i["status"].(string)
		}
	}
	return ""
}

// asked is what the hub was asked for that changes something.
func (h *hub) asked() (list []request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, r := range h.requests {
		if !strings.HasPrefix(r.what, "GET ") {
			list = append(list, r)
		}
	}
	return list
}

// says answers with a status.
func says(status int, header, value, body string) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, _ *http.Request) bool {
		if header != "" {
			w.Header().Set(header, value)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
		return true
	}
}
