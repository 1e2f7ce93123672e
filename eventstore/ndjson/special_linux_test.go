package ndjson_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/ndjson"
	"github.com/pronto-lab/openclawd/internal/testscale"
)

// A special file under the name of the live log blocks nothing: the mirror reports it, can be stopped, and goes on when it is gone.
func TestMirrorWaitsForNoPipeAndFollowsNoLink(t *testing.T) {
	t.Parallel()
	for what, put := range map[string]func(path string) error{
		"pipe": func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"link": func(path string) error { return os.Symlink(path+".elsewhere", path) },
		"link to a log": func(path string) error {
			if err := os.WriteFile(path+".elsewhere", nil, 0o600); err != nil {
				return err
			}
			return os.Symlink(path+".elsewhere", path)
		},
		"directory": func(path string) error { return os.Mkdir(path, 0o700) },
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			m := newMirrored(t)
			if err := os.Mkdir(filepath.Dir(m.live()), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := put(m.live()); err != nil {
				t.Fatal(err)
			}
			m.happens(t, "a2a.send", "one", eventstore.ActorAgent)
			mirror := ndjson.NewMirror(ndjson.MirrorOptions{Log: m, StateDir: m.dir, Retry: time.Millisecond})
			ctx, stop := context.WithTimeout(t.Context(), testscale.Patience)
			defer stop()
			ended := make(chan error, 1)
			go func() { ended <- mirror.Run(ctx) }()
			status, err := mirror.Wait(ctx, func(s ndjson.MirrorStatus) bool { return s.Error != "" || s.Seq > 0 })
			if err != nil || status.Seq > 0 {
				t.Fatalf("the mirror took it for a log, or does not say what is wrong: %+v, %v", status, err)
			}
			if text := status.Error; !strings.Contains(text, "regular file") || !strings.Contains(text, m.live()) {
				t.Error(text)
			}
			if err := os.Remove(m.live()); err != nil {
				t.Fatal(err)
			}
			<-m.idle
			stop()
			if err := <-ended; err != nil {
				t.Fatal(err)
			}
			wantLines(t, what, m.files(t), m.want(t))
		})
	}
}

// A follower that reads nothing because the log is none says so for as long as that is so.
func TestFollowReportsNotALog(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	d.must(os.MkdirAll(filepath.Dir(d.live()), 0o700))
	for what, put := range map[string]func() error{
		"pipe":      func() error { return syscall.Mkfifo(d.live(), 0o600) },
		"link":      func() error { return os.Symlink(d.path("elsewhere"), d.live()) },
		"directory": func() error { return os.Mkdir(d.live(), 0o700) },
	} {
		d.must(put())
		d.appendTo(d.archive(), event(what)+"\n")
		if r := d.look(); r.New != 1 {
			t.Errorf("%s: %d lines of an archive were read", what, r.New)
		}
		if text := d.follower.Status().LastError; !strings.Contains(text, "regular file") {
			t.Errorf("%s: last error %q", what, text)
		}
		d.must(os.Remove(d.live()))
		if d.look(); d.follower.Status().LastError != "" {
			t.Errorf("%s: last error stays %q", what, d.follower.Status().LastError)
		}
	}
}
