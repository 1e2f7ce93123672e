package attachments_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/channel"
	"github.com/pronto-lab/openclawd/channel/attachments"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/attach"
	"github.com/pronto-lab/openclawd/media"
	"github.com/pronto-lab/openclawd/projections/workqueue"
)

// host is a file host: a file is named by the status with which it answers.
type host struct{ url string }

func newHost(t *testing.T) host {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var status int
		if r.URL.Path == "/slow" {
			<-r.Context().Done()
			return
		}
		if _, err := fmt.Sscan(strings.Trim(r.URL.Path, "/"), &status); err != nil {
			status = http.StatusTeapot
		}
		if status == http.StatusFound {
			w.Header().Set("Location", "/200")
		}
		if status == http.StatusTooManyRequests {
			w.Header().Set("Retry-After", "7")
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, "content")
	}))
	t.Cleanup(s.Close)
	return host{s.URL}
}

func (h host) Fetch(ctx context.Context, account, ref string, w io.Writer) error {
	switch ref {
	case "big":
		return channel.ErrFileTooLarge
	case "foreign":
		return channel.ErrForeignFile
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, h.url+"/"+ref, http.NoBody)
	if err != nil {
		return err
	}
	return channel.Download(http.DefaultTransport, r, "fetch a file", account, w)
}

func do(t *testing.T, attempt int, limit int64, files ...attach.File) (attach.Result, error) {
	t.Helper()
	return within(t, attachments.Options{}, attempt, limit, files...)
}

// within is do with times of its own.
func within(t *testing.T, o attachments.Options, attempt int, limit int64, files ...attach.File) (attach.Result, error) {
	t.Helper()
	store := cmp.Or(o.Store, media.Open(filepath.Join(t.TempDir(), "files"), func() int64 { return 20 }))
	own := newHost(t)
	s := attachments.New(attachments.Options{Bots: func(string) channel.Fetcher { return own }, Store: store, Limit: func(string, string) int64 { return limit },
		Logger: slog.New(slog.DiscardHandler), Attempts: 2, Budget: o.Budget, Cheap: o.Cheap,
		Deposit: func(agent, id, name string, _ io.Reader) (string, error) {
			return agent + "/" + id[:4] + "-" + name, nil
		}})
	order := attach.Order{Channel: "slack", AccountID: "acc", AgentID: "eden", Files: files}
	payload, err := json.Marshal(order)
	if err != nil {
		t.Fatal(err)
	}
	text, err := s.Do(t.Context(), workqueue.Item{Attempt: attempt}, &coordination.WorkScheduled{Payload: payload})
	var result attach.Result
	if err == nil {
		err = json.Unmarshal(text, &result)
	}
	return result, err
}

// A file that cannot be had does not hold up its message: the agent is told why.
func TestWhyAFileIsMissing(t *testing.T) {
	t.Parallel()
	for ref, want := range map[string]string{
		"200": "", "404": "no longer has it", "410": "no longer has it", "403": "refuses it", "302": "refuses it", "400": "refuses it", "big": "of this size",
		"foreign": "does not lie with the service", "": "does not lie with the service",
	} {
		got, err := do(t, 1, 100, attach.File{Name: "a.txt", Type: "text/plain", Ref: ref})
		if err != nil || len(got.Files) != 1 {
			t.Fatalf("%s: %+v, %v", ref, got, err)
		}
		f := got.Files[0]
		if stored := f.SHA256 != "" && f.Path != "" && f.Size == 7; stored != (want == "") || want != "" && !strings.Contains(f.Reason, want) {
			t.Errorf("%q is %+v, want %q", ref, f, want)
		}
	}
	if got, err := do(t, 1, 6, attach.File{Ref: "200"}, attach.File{Ref: "200", Size: 7}); err != nil ||
		!strings.Contains(got.Files[0].Reason, "larger than") || !strings.Contains(got.Files[1].Reason, "larger than") {
		t.Errorf("files over the limit: %+v, %v", got, err)
	}
}

// A failure that may go away is repeated, as late as the host asks for; the last one is told.
func TestFailuresThatGoAway(t *testing.T) {
	t.Parallel()
	for ref, want := range map[string]time.Duration{"500": 0, "429": 7 * time.Second} {
		_, err := do(t, 1, 100, attach.File{Ref: ref})
		var hint interface{ RetryAfter() time.Duration }
		if err == nil || errors.As(err, &hint) != (want > 0) || want > 0 && hint.RetryAfter() != want {
			t.Errorf("%s: %v, want it repeated after %s", ref, err, want)
		}
		if got, err := do(t, 2, 100, attach.File{Ref: ref}); err != nil || got.Files[0].Reason != "the service does not answer" {
			t.Errorf("%s, the last time: %+v, %v", ref, got, err)
		}
	}
}

// Files that take long, and one that fails after others have taken long, do not take those from the agent that were fetched.
func TestFetchedFilesAreKept(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		o     attachments.Options
		files []string
		want  []string
	}{
		{attachments.Options{Budget: time.Second}, []string{"200", "slow", "200", "big"}, []string{"", "took longer than 1s", "took longer than 1s", "of this size"}},
		{attachments.Options{Cheap: time.Nanosecond}, []string{"200", "500", "200"}, []string{"", "does not answer", ""}},
	} {
		var files []attach.File
		for _, ref := range c.files {
			files = append(files, attach.File{Name: "a.txt", Type: "text/plain", Ref: ref})
		}
		got, err := within(t, c.o, 1, 100, files...)
		if err != nil || len(got.Files) != len(c.want) {
			t.Fatalf("%v: %+v, %v", c.files, got, err)
		}
		for i, want := range c.want {
			if f := got.Files[i]; (f.SHA256 != "") != (want == "") || !strings.Contains(f.Reason, want) {
				t.Errorf("%v: file %d is %+v, want %q", c.files, i, f, want)
			}
		}
	}
}

// A file that lies beside the log is not fetched from the service, whatever its size and the limit.
func TestPostedFilesAreTaken(t *testing.T) {
	t.Parallel()
	store := media.Open(filepath.Join(t.TempDir(), "files"), func() int64 { return 1 << 20 })
	kept, err := store.Put(1<<20, func(w io.Writer) error { _, err := io.WriteString(w, "posted"); return err })
	if err != nil {
		t.Fatal(err)
	}
	got, err := within(t, attachments.Options{Store: store}, 1, 1, attach.File{Name: "a.txt", Type: "text/plain", Size: 6, SHA256: kept.SHA256}, attach.File{Name: "gone.txt", SHA256: strings.Repeat("0a", 32)})
	if err != nil {
		t.Fatal(err)
	}
	want := []attach.Stored{{Name: "a.txt", Type: "text/plain", Size: 6, SHA256: kept.SHA256, Path: "eden/" + kept.SHA256[:4] + "-a.txt"},
		{Name: "gone.txt", Reason: "it is no longer kept"}}
	if fmt.Sprint(got.Files) != fmt.Sprint(want) {
		t.Errorf("%+v, want %+v", got.Files, want)
	}
}
