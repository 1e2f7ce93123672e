package main

import (
	"bufio"
	"bytes"
	"context"
	_ "embed"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/internal/testscale"
)

var patience = testscale.Patience.String()

// played is what the demo prints.
//
//go:embed testdata/played.txt
var played string

// The example of the seed comes out as the seed has it, and leaves nothing behind.
func TestDemo(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	var out, errs bytes.Buffer
	if code := run(t.Context(), []string{"-patience", patience}, &out, &errs); code != 0 || errs.Len() > 0 {
		t.Errorf("exit code %d, want 0: %s", code, errs.String())
	}
	if diff := cmp.Diff(played, out.String()); diff != "" {
		t.Errorf("the play (-want +got):\n%s", diff)
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("it leaves %v behind (%v), want nothing", left, err)
	}
}

// At the end openclawd itself is asked why the third agent has answered. The test binary stands in for it: see TestMain.
func TestDemoAsksWhy(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	if code := run(t.Context(), []string{"-patience", patience, "-openclawd", self}, &out, &errs); code != 0 {
		t.Fatalf("exit code %d, want 0: %s", code, errs.String())
	}
	_, answer, _ := strings.Cut(out.String(), "$ openclawd why ")
	if !strings.HasSuffix(answer, " is told of: @세움 도 확인해봐\n") {
		t.Errorf("the answer is %q, want that of the message which mentions 세움", answer)
	}
}

// With -keep the page and the API can be looked at after the play, until the demo is interrupted; then it ends well.
func TestDemoIsKept(t *testing.T) {
	t.Parallel()
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	read, write := io.Pipe()
	code := make(chan int, 1)
	var errs bytes.Buffer
	go func() {
		code <- run(ctx, []string{"-patience", patience, "-keep"}, write, &errs)
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
	if got := <-code; got != 0 {
		t.Errorf("exit code %d after it is interrupted, want 0: %s", got, errs.String())
	}
}

func TestDemoSaysWhatWentWrong(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		args []string
		code int
		says string
	}{
		{"it takes too long", []string{"-patience", "1ms"}, 1, "not finished after 1ms"},
		{"no openclawd to ask", []string{"-patience", patience, "-openclawd", filepath.Join(t.TempDir(), "none")}, 1, "error: openclawd why "},
		{"a flag that is none", []string{"-fast"}, 2, "usage: demo-discord"},
		{"an argument", []string{"fast"}, 2, "usage: demo-discord"},
	} {
		var out, errs bytes.Buffer
		if code := run(t.Context(), tt.args, &out, &errs); code != tt.code || !strings.Contains(errs.String(), tt.says) {
			t.Errorf("%s: exit code %d and %q, want %d and %q in it", tt.name, code, errs.String(), tt.code, tt.says)
		}
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
			s, err := openStage(t.Context(), "127.0.0.1:0")
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
