package monitor_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/monitor"
)

const goroutines = "/debug/pprof/goroutine?debug=1"

func TestWhoMayTakeProfiles(t *testing.T) {
	t.Parallel()
	with := func(change func(*monitor.Options)) *testBundle { return setup(t, change) }
	open := setup(t)
	written := with(func(o *monitor.Options) { o.Token = writeToken })
	read := with(func(o *monitor.Options) { o.ReadToken = readToken })
	sealed := with(func(o *monitor.Options) { o.Sealed = true })
	admin := with(func(o *monitor.Options) { o.Token, o.ReadToken, o.AdminToken = writeToken, readToken, adminToken })
	bearer := []string{"Authorization", "Bearer " + adminToken}
	for what, c := range map[string]struct {
		server *testBundle
		peer   string
		header []string
		status int
		code   string
	}{
		"no token is set":                          {open, nearPeer, nil, 200, ""},
		"no token is set, from another machine":    {open, farPeer, nil, 404, "profiles_off"},
		"no token is set, forwarded by a proxy":    {open, nearPeer, []string{"X-Forwarded-For", "192.0.2.7"}, 404, "profiles_off"},
		"no token is set, for a page of elsewhere": {open, nearPeer, []string{"Origin", "https://evil.example"}, 404, "profiles_off"},
		"no token is set, and one is shown":        {open, farPeer, bearer, 404, "profiles_off"},
		"a write token alone":                      {written, nearPeer, []string{"X-Task-Monitor-Token", writeToken}, 404, "profiles_off"},
		"a write token alone, none shown":          {written, nearPeer, nil, 404, "profiles_off"},
		"a token for reading alone":                {read, nearPeer, []string{"X-Task-Monitor-Token", readToken}, 404, "profiles_off"},
		"no configuration":                         {sealed, nearPeer, nil, 404, "profiles_off"},
		"the administrator":                        {admin, farPeer, bearer, 200, ""},
		"the administrator, on a page of another":  {admin, nearPeer, append([]string{"Origin", "https://evil.example"}, bearer...), 403, "cross_origin"},
		"a reader":                            {admin, nearPeer, []string{"X-Task-Monitor-Token", readToken}, 401, "unauthorized"},
		"a writer":                            {admin, nearPeer, []string{"X-Task-Monitor-Token", writeToken}, 401, "unauthorized"},
		"the administrator's token elsewhere": {admin, nearPeer, []string{"X-Task-Monitor-Token", adminToken}, 401, "unauthorized"},
		"no token":                            {admin, nearPeer, nil, 401, "unauthorized"},
	} {
		response := c.server.from(c.peer, http.MethodGet, goroutines, "", c.header...)
		var r refusal
		_ = json.Unmarshal(response.Body.Bytes(), &r)
		if response.Code != c.status || r.Code != c.code || c.code != "" && r.Hint == "" {
			t.Errorf("%s: %d %.200s, want %d %s", what, response.Code, response.Body, c.status, c.code)
		}
		if is := strings.HasPrefix(response.Body.String(), "goroutine profile:"); is != (c.status == 200) {
			t.Errorf("%s: %.200s", what, response.Body)
		}
	}
	for role, status := range map[monitor.Grant]int{{}: 403, {Write: true}: 403, {Write: true, Admin: true}: 200} {
		request := httptest.NewRequestWithContext(monitor.WithGrant(t.Context(), role), http.MethodGet, "http://127.0.0.1:3847"+goroutines, nil)
		response := httptest.NewRecorder()
		admin.monitor.Handler().ServeHTTP(response, request)
		if response.Code != status {
			t.Errorf("a session with %+v: %d %.200s, want %d", role, response.Code, response.Body, status)
		}
	}
}

// A profile that covers a time has an end, and the next one waits for it.
func TestProfilesAreBounded(t *testing.T) {
	t.Parallel()
	started := make(chan struct{}, 10)
	b := setup(t, func(o *monitor.Options) { o.Logger = slog.New(profileLog{slog.DiscardHandler, started}) })
	for _, seconds := range []string{"61", "0", "-1", "1.5", "x", "9223372036854775807"} {
		for _, name := range []string{"profile", "trace", "heap"} {
			if response := b.from(nearPeer, http.MethodGet, "/debug/pprof/"+name+"?seconds="+seconds, ""); response.Code != 400 ||
				!strings.Contains(response.Body.String(), "from 1 to 60") {
				t.Errorf("%s for %s seconds: %d %s", name, seconds, response.Code, response.Body)
			}
		}
	}
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		request := httptest.NewRequestWithContext(ctx, http.MethodGet, "http://127.0.0.1:3847/debug/pprof/heap?seconds=60", nil)
		request.RemoteAddr = nearPeer
		b.monitor.Handler().ServeHTTP(httptest.NewRecorder(), request)
	}()
	<-started
	for _, path := range []string{"profile", "profile?seconds=1", "trace", "heap?seconds=1"} {
		response := b.from(nearPeer, http.MethodGet, "/debug/pprof/"+path, "")
		if response.Code != 503 || !strings.Contains(response.Body.String(), `"code":"profile_busy"`) || response.Header().Get("Retry-After") == "" {
			t.Errorf("%s beside another: %d %s", path, response.Code, response.Body)
		}
	}
	if response := b.from(nearPeer, http.MethodGet, "/debug/pprof/heap", ""); response.Code != 200 {
		t.Errorf("a profile of now beside another: %d", response.Code)
	}
	leave()
	<-ended
	if response := b.from(nearPeer, http.MethodGet, "/debug/pprof/heap?seconds=1", ""); response.Code != 200 {
		t.Errorf("the next one: %d %s", response.Code, response.Body)
	}
}

// profileLog tells when a profile begins.
type profileLog struct {
	slog.Handler
	started chan<- struct{}
}

func (l profileLog) Enabled(context.Context, slog.Level) bool { return true }

func (l profileLog) Handle(_ context.Context, r slog.Record) error { //nolint:gocritic // the interface's
	if r.Message == "profile" {
		l.started <- struct{}{}
	}
	return nil
}
