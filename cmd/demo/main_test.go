package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/pronto-lab/openclawd/cmd/openclawd/apiclient"
	"github.com/pronto-lab/openclawd/internal/testscale"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 5 && os.Args[1] == "why" && os.Args[3] == "--state-dir" {
		os.Exit(standIn(os.Args[2], os.Args[4]))
	}
	goleak.VerifyTestMain(m)
}

// standIn answers in the place of openclawd why: it tells the text of the message.
func standIn(messageID, stateDir string) int {
	place := apiclient.PlaceOf(stateDir, "", "", true, func(string) string { return "" })
	r, err := place.Routing(context.Background(), messageID)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Printf("message %s is told of: %s\n", messageID, r.Message.Text)
	return 0
}

var patience = testscale.Patience.String()

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
		{"a flag that is none", []string{"-fast"}, 2, "usage: demo"},
		{"a channel that is none", []string{"-channel", "irc"}, 1, `there is no channel "irc"`},
		{"an argument", []string{"fast"}, 2, "usage: demo"},
	} {
		var out, errs bytes.Buffer
		if code := run(t.Context(), tt.args, &out, &errs); code != tt.code || !strings.Contains(errs.String(), tt.says) {
			t.Errorf("%s: exit code %d and %q, want %d and %q in it", tt.name, code, errs.String(), tt.code, tt.says)
		}
	}
}
