package openclawd_test

import (
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/coordination"
)

// The build of the page is committed, so that building the program needs no Node. This notices sources that were changed without a build, on
// machines without Node too; `make ui-check` compares the bytes.
func TestPageIsBuiltFromItsSources(t *testing.T) {
	names := []string{"index.html", "package-lock.json", "package.json", "svelte.config.js", "vite.config.ts"}
	for _, folder := range []string{"public", "scripts", "src"} {
		root := filepath.Join("web", folder)
		if err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			relative, err := filepath.Rel("web", name)
			names = append(names, filepath.ToSlash(relative))
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(names)
	hash := sha256.New()
	for _, name := range names {
		content, err := os.ReadFile(filepath.Join("web", filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range []string{name, "\x00", string(content), "\x00"} {
			hash.Write([]byte(part))
		}
	}
	recorded, err := os.ReadFile(filepath.Join("web", "dist", "SOURCES.sha256"))
	if err != nil {
		t.Fatal(err)
	}
	if want := hex.EncodeToString(hash.Sum(nil)); strings.TrimSpace(string(recorded)) != want {
		t.Errorf("web/dist was built from other sources (%s, now %s): run `make ui` and commit web/dist", strings.TrimSpace(string(recorded)), want)
	}
}

// Lock files with addresses would bind the project to one registry.
func TestPageLocksNoAddresses(t *testing.T) {
	content, err := os.ReadFile(filepath.Join("web", "package-lock.json"))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(content), `"resolved"`) {
		t.Errorf("web/package-lock.json has download addresses: web/.npmrc should say omit-lockfile-registry-resolved")
	}
}

// Every file of the page that is needed for the build is committed, and nothing of it is ignored.
func TestPageNamesItsFiles(t *testing.T) {
	for _, name := range []string{"index.html", "app.js.gz", "app.css.gz", "LICENSES.txt.gz"} {
		if _, err := os.Stat(filepath.Join("web", "dist", name)); err != nil {
			t.Errorf("web/dist has no %s", name)
		}
	}
	entries, err := os.ReadDir(filepath.Join("web", "dist"))
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if path.Ext(entry.Name()) == ".map" {
			t.Errorf("web/dist has the source map %s", entry.Name())
		}
	}
}

// The log shows what happened in words; a type without words would stand there as it is.
func TestPageHasWordsForEachEventType(t *testing.T) {
	content, err := os.ReadFile(filepath.Join("web", "src", "lib", "i18n", "events.ts"))
	if err != nil {
		t.Fatal(err)
	}
	for _, info := range coordination.Catalogue() {
		if !strings.Contains(string(content), "\n  '"+info.Type+"': {") {
			t.Errorf("web/src/lib/i18n/events.ts has no words for %s", info.Type)
		}
	}
}
