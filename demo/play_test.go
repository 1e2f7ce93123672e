package demo

import (
	"bufio"
	"bytes"
	"context"
	_ "embed"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/internal/testscale"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// played is what the demo prints, in every channel.
//
//go:embed testdata/played.txt
var played string

var channels = []string{coordination.Discord, coordination.Telegram, coordination.Slack}

// The example of the seed comes out as the seed has it in every channel, and leaves nothing behind.
func TestDemo(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	for _, channel := range channels {
		var out bytes.Buffer
		if err := Run(t.Context(), Options{Channel: channel, API: "127.0.0.1:0", Patience: testscale.Patience}, &out); err != nil {
			t.Errorf("%s: %v", channel, err)
		}
		if diff := cmp.Diff(played, out.String()); diff != "" {
			t.Errorf("the play in %s (-want +got):\n%s", channel, diff)
		}
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("it leaves %v behind (%v), want nothing", left, err)
	}
}

// With Keep the page and the API can be looked at after the play, until the demo is interrupted; then it ends well.
func TestDemoIsKept(t *testing.T) {
	t.Parallel()
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	read, write := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- Run(ctx, Options{Channel: coordination.Telegram, API: "127.0.0.1:0", Patience: testscale.Patience, Keep: true}, write)
		write.Close()
	}()
	var why string
	lines := bufio.NewScanner(read)
	for lines.Scan() && lines.Text() != "Ctrl-C ends it." {
		if url, is := strings.CutPrefix(lines.Text(), "why "); is {
			why = url
		}
	}
	for path, says := range map[string]string{
		why: "<title>", strings.Replace(why, "/ui/why/", "/api/routing/", 1): `"reason":"mentioned"`,
	} {
		response, err := http.Get(path) //nolint:noctx
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		if err := errors.Join(err, response.Body.Close()); err != nil || response.StatusCode != http.StatusOK || !strings.Contains(string(body), says) {
			t.Errorf("GET %s: %s, %v: no %q in %.300s", path, response.Status, err, says, body)
		}
	}
	interrupt()
	go io.Copy(io.Discard, read)
	if err := <-ended; err != nil {
		t.Errorf("after it is interrupted: %v", err)
	}
}

// A scene that comes out otherwise is told: the message, what was decided about it, and what should have been.
func TestDemoSeesWhatComesOutOtherwise(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		change func(*act)
		says   string
	}{
		{"another verdict", func(a *act) { a.lines[0].verdict = "처리 이든 (mentioned)" }, `want "처리 이든 (mentioned)"`},
		{"another text", func(a *act) { a.lines[1].text = "리뷰" }, `want 루다: "리뷰"`},
		{"another author", func(a *act) { a.lines[1].who = "세움" }, "want 세움"},
		{"others that take part", func(a *act) { a.present = "다짐" }, `want "다짐"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s, err := openStage(t.Context(), coordination.Discord, "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			first := scene()[0]
			tt.change(&first)
			p := &play{stage: s, out: &bytes.Buffer{}, scene: []act{first}}
			if err := p.perform(t.Context()); err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%v, want %q in it", err, tt.says)
			}
			if err := s.close(); err != nil {
				t.Error(err)
			}
		})
	}
}
