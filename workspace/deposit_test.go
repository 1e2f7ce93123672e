package workspace_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/workspace"
)

var someID = strings.Repeat("0123456789abcdef", 4)

func TestDepositedNamesLeadNowhere(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "workspace")
	for name, want := range map[string]string{
		"report.pdf": "report.pdf", "보고서 1.pdf": "보고서_1.pdf", "../../etc/passwd": "_.._etc_passwd", "": "file", "...": "file", "a\x00b\n$(rm).sh": "a_b___rm_.sh",
		strings.Repeat("x", 300) + ".tar.gz": strings.Repeat("x", 73) + ".tar.gz",
	} {
		path, err := workspace.Deposit(dir, nil, someID, name, strings.NewReader("content of "+name))
		if err != nil || path != "media/inbound/0123456789abcdef-"+want {
			t.Errorf("%q lies at %s, %v, want %s", name, path, err, want)
			continue
		}
		if content, err := os.ReadFile(filepath.Join(dir, path)); err != nil || string(content) != "content of "+name {
			t.Errorf("%q has %q, %v", name, content, err)
		}
	}
	if err := workspace.Withdraw(dir, someID); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(filepath.Join(dir, "media/inbound")); err != nil || len(left) > 0 {
		t.Errorf("%v, %v, want no copy left", left, err)
	}
	if err := workspace.Withdraw(filepath.Join(dir, "missing"), someID); err != nil {
		t.Error(err)
	}
}

// Neither a link in the workspace nor a workspace with the program's own files is written through.
func TestDepositsStayInTheWorkspace(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	dir, outside := filepath.Join(top, "workspace"), filepath.Join(top, "outside")
	for _, made := range []string{dir, outside} {
		if err := os.Mkdir(made, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(outside, filepath.Join(dir, "media")); err != nil {
		t.Fatal(err)
	}
	if path, err := workspace.Deposit(dir, nil, someID, "x", strings.NewReader("x")); err == nil {
		t.Errorf("a link out of the workspace is followed to %s", path)
	}
	if path, err := workspace.Deposit(top, []string{outside}, someID, "x", strings.NewReader("x")); err == nil {
		t.Errorf("a workspace with a protected directory gets %s", path)
	}
	if left, err := os.ReadDir(outside); err != nil || len(left) > 0 {
		t.Errorf("outside lies %v, %v", left, err)
	}
}
