package monitor_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/monitor"
)

// copies are backups whose making and verification wait for the test.
type copies struct {
	list []monitor.BackupFile
	do   chan error // ends the job in progress
}

func (c *copies) List() ([]monitor.BackupFile, error) { return c.list, nil }
func (c *copies) Has(name string) (bool, error)       { return name == c.list[0].Name, nil }
func (c *copies) Verify(ctx context.Context, _ string) error {
	select {
	case err := <-c.do:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c *copies) make(ctx context.Context) (monitor.Copy, error) {
	return monitor.Copy{File: "/secret/place/" + c.list[0].Name, Seq: 3, Bytes: 4}, c.Verify(ctx, "")
}

const backupName = "openclawd-20260220T120000Z-3.db"

// withBackups serves a list of one backup, and does jobs in the background until the test ends.
func withBackups(t *testing.T) (*testBundle, *copies) {
	t.Helper()
	ms := noon.UnixMilli()
	c := &copies{list: []monitor.BackupFile{{Name: backupName, Seq: 3, Bytes: 4, AtMS: ms, VerifiedMS: &ms}}, do: make(chan error)}
	b := setup(t, func(o *monitor.Options) { o.Backups, o.Backup = c, c.make })
	b.runs(t)
	return b, c
}

// runs does the server's background work until the test ends.
func (b *testBundle) runs(t *testing.T) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- b.monitor.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

type listedBackups struct {
	Backups []monitor.BackupFile
	Total   int
	Job     *monitor.BackupJob
}

// endedJob returns the job in progress once it has ended.
func (b *testBundle) endedJob(t *testing.T) monitor.BackupJob {
	t.Helper()
	for {
		if list := get[listedBackups](t, b, "/api/backups", 200); list.Job.State != "running" {
			return *list.Job
		}
	}
}

func TestBackupsAreListedMadeAndVerified(t *testing.T) {
	t.Parallel()
	b, c := withBackups(t)
	contract := newContract(t, b)
	hold := func(method, path string, status int) string {
		t.Helper()
		response := b.from(nearPeer, method, path, "")
		contract.hold(t, method, path, status, response.Result(), response.Body.Bytes())
		return response.Body.String()
	}
	if text := hold(http.MethodGet, "/api/backups", 200); !strings.Contains(text, `"job":null`) || !strings.Contains(text, backupName) {
		t.Errorf("at first: %s", text)
	}
	verify := "/api/backups/" + backupName + "/verify"
	hold(http.MethodPost, "/api/backups?wait=false", 202)
	for _, path := range []string{"/api/backups?wait=false", "/api/backups", verify} { // one at a time
		if text := hold(http.MethodPost, path, 409); !strings.Contains(text, `"locked"`) {
			t.Errorf("%s meanwhile: %s", path, text)
		}
	}
	if text := hold(http.MethodGet, "/api/backups", 200); !strings.Contains(text, `"kind":"make","state":"running"`) {
		t.Errorf("meanwhile: %s", text)
	}
	c.do <- nil
	if job := b.endedJob(t); job.State != "done" || job.Name != backupName || job.EndedMS == nil {
		t.Errorf("made: %+v", job)
	}
	hold(http.MethodPost, verify, 202)
	c.do <- nil
	if job := b.endedJob(t); job.Kind != "verify" || job.State != "done" {
		t.Errorf("verified: %+v", job)
	}
	for _, failure := range []struct {
		err  error
		code string
	}{
		{&eventstore.CorruptError{Path: "/secret/place", Detail: "secret", Err: errors.New("x")}, "corrupt"},
		{&eventstore.LockedError{}, "locked"}, {errors.New("secret"), "internal"},
	} {
		hold(http.MethodPost, verify, 202)
		c.do <- failure.err
		if job := b.endedJob(t); job.State != "failed" || job.Code != failure.code || strings.Contains(job.Error+job.Hint, "secret") {
			t.Errorf("%v: %+v", failure.err, job)
		}
	}
	hold(http.MethodGet, "/api/backups", 200)
	hold(http.MethodPost, "/api/backups?wait=perhaps", 400)
	hold(http.MethodGet, "/api/backups?as_of=0", 400)
}

// No name leads out of the directory, and each role has its limits.
func TestWhoMayVerifyWhichBackup(t *testing.T) {
	t.Parallel()
	b, _ := withBackups(t)
	for _, name := range append([]string{"openclawd.db", ".openclawd-backup.lock", backupName + "%2f..", "..%2f" + backupName, backupName + "%00"}, hostile...) {
		response := b.from(nearPeer, http.MethodPost, "/api/backups/"+name+"/verify", "")
		if response.Code != http.StatusNotFound && response.Code != http.StatusBadRequest && response.Code != http.StatusMethodNotAllowed {
			t.Errorf("%.80s: %d %s", name, response.Code, response.Body)
		}
	}
	for grant, status := range map[monitor.Grant]int{{}: 403, {Write: true}: 403} {
		for _, path := range []string{"/api/backups", "/api/backups?wait=false", "/api/backups/" + backupName + "/verify"} {
			request := httptest.NewRequestWithContext(monitor.WithGrant(context.Background(), grant), http.MethodPost, "http://127.0.0.1:3847"+path, nil)
			response := httptest.NewRecorder()
			b.monitor.Handler().ServeHTTP(response, request)
			var r refusal
			_ = json.Unmarshal(response.Body.Bytes(), &r)
			if response.Code != status || r.Field != "role" {
				t.Errorf("%s as %+v: %d %s", path, grant, response.Code, response.Body)
			}
		}
	}
	if list := get[listedBackups](t, b, "/api/backups", 200); list.Job != nil {
		t.Errorf("something was started: %+v", list.Job)
	}
}
