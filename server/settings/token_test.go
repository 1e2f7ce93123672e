package settings

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/pronto-lab/openclawd/config"
)

func TestATokenIsMadeOnceAndKept(t *testing.T) {
	t.Parallel()
	path := TokenFile(filepath.Join(t.TempDir(), "not", "there", "yet"))
	chance := bytes.NewReader(bytes.Repeat([]byte{0xff, 0x00}, 32))
	g := GatewayOf(config.Default(), func(string) string { return "" }, "", nil)
	if _, made, err := g.Keep(path, nil); made || err != nil || g.Token.Value != "" {
		t.Fatalf("none was requested: %v %v", made, err)
	}
	for i := range 2 {
		_, made, err := g.Keep(path, chance)
		if err != nil || made != (i == 0) {
			t.Fatalf("time %d: made %v, %v", i, made, err)
		}
		if got, want := g.Token.Value.Reveal(), strings.Repeat("_wD_AP8A", 5)+"_wA"; got != want {
			t.Errorf("time %d: %q, want %q", i, got, want)
		}
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 1 {
		t.Errorf("%d files, %v", len(entries), err)
	}
	first := g.Token.Value
	if second, err := MakeToken(path, strings.NewReader(strings.Repeat("x", 32))); err != nil || second == first {
		t.Errorf("a new one: %v", err)
	}
	if kept, err := ReadToken(path); err != nil || kept.Token == first || kept.Exposed {
		t.Errorf("read again: %v, exposed %v", err, kept.Exposed)
	}
}

// A configured token is never written anywhere.
func TestATokenThatIsSetIsNotKept(t *testing.T) {
	t.Parallel()
	path := TokenFile(t.TempDir())
	for name, getenv := range map[string]func(string) string{
		"token":    func(name string) string { return map[string]string{"OPENCLAW_GATEWAY_TOKEN": "set"}[name] },
		"password": func(name string) string { return map[string]string{"OPENCLAW_GATEWAY_PASSWORD": "set"}[name] },
	} {
		g := GatewayOf(config.Default(), getenv, "", nil)
		if _, made, err := g.Keep(path, strings.NewReader(strings.Repeat("x", 32))); made || err != nil {
			t.Errorf("%s: made %v, %v", name, made, err)
		}
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
}

func TestFilesThatHoldNoToken(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"empty": "", "space": " \n", "two words": "a b\n", "control": "a\x00b", "large": strings.Repeat("x", 4096)} {
		path := TokenFile(t.TempDir())
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		var bad *config.SettingError
		if _, err := ReadToken(path); !errors.As(err, &bad) || bad.Value != path || !strings.Contains(bad.HintText, "openclawd token --new") {
			t.Errorf("%s: %v", name, err)
		}
	}
	dir := t.TempDir()
	if err := os.Mkdir(TokenFile(dir), 0o700); err != nil {
		t.Fatal(err)
	}
	var bad *config.SettingError
	if _, err := ReadToken(TokenFile(dir)); !errors.As(err, &bad) {
		t.Errorf("a directory: %v", err)
	}
	if _, err := ReadToken(TokenFile(t.TempDir())); !errors.Is(err, fs.ErrNotExist) || errors.As(err, &bad) {
		t.Errorf("none: %v", err)
	}
}

func TestATokenThatOthersMayReadIsTold(t *testing.T) {
	t.Parallel()
	path := TokenFile(t.TempDir())
	if err := errors.Join(os.WriteFile(path, []byte("word\n"), 0o600), os.Chmod(path, 0o644)); err != nil {
		t.Fatal(err)
	}
	if kept, err := ReadToken(path); err != nil || !kept.Exposed || kept.Token.Reveal() != "word" {
		t.Errorf("%v, exposed %v", err, kept.Exposed)
	}
}

// Without randomness no token is made, and an existing one stays.
func TestNoTokenWithoutChance(t *testing.T) {
	t.Parallel()
	path := TokenFile(t.TempDir())
	if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, broken := range []*strings.Reader{strings.NewReader(""), strings.NewReader("short")} {
		if token, err := MakeToken(path, broken); err == nil || token != "" {
			t.Errorf("made of %d bytes", broken.Size())
		}
	}
	if _, err := MakeToken(path, iotest.ErrReader(errors.New("no chance"))); err == nil {
		t.Error("made of nothing")
	}
	if kept, err := ReadToken(path); err != nil || kept.Token.Reveal() != "old" {
		t.Errorf("%v", err)
	}
}
