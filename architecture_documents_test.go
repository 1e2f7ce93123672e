package openclawd_test

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

var (
	fenced   = regexp.MustCompile("(?ms)^ *```.*?^ *```")
	spans    = regexp.MustCompile("`[^`\n]*`")
	linkRe   = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	headings = regexp.MustCompile(`(?m)^#{1,6} +(.+?) *$`)
	external = regexp.MustCompile(`^[a-z]+:`)
)

// Every relative link in a Markdown file leads to an existing file, and every anchor to a heading in it.
func TestLinksOfDocumentsResolve(t *testing.T) {
	t.Parallel()
	documents := markdownFiles(t)
	if len(documents) < 10 {
		t.Fatalf("found only %d documents", len(documents))
	}
	for name, text := range documents {
		text = spans.ReplaceAllString(fenced.ReplaceAllString(text, ""), "")
		for _, m := range linkRe.FindAllStringSubmatch(text, -1) {
			if external.MatchString(m[1]) {
				continue
			}
			file, anchor, _ := strings.Cut(m[1], "#")
			target := name
			if file != "" {
				target = path.Join(path.Dir(name), file)
			}
			if _, err := os.Stat(filepath.FromSlash(target)); err != nil {
				t.Errorf("%s links to %s, which does not exist", name, m[1])
				continue
			}
			if linked, is := documents[target]; anchor != "" && is && !anchorsOf(linked)[anchor] {
				t.Errorf("%s links to %s, which has no such heading", name, m[1])
			}
		}
	}
}

// markdownFiles returns the text of all Markdown files except test data, by their paths from the root.
func markdownFiles(t *testing.T) map[string]string {
	t.Helper()
	documents := map[string]string{}
	err := filepath.WalkDir(".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == "testdata" || entry.Name() == ".git" || entry.Name() == "bin" || entry.Name() == "dist" ||
			entry.Name() == "node_modules"):
			return filepath.SkipDir
		case entry.IsDir() || filepath.Ext(name) != ".md":
			return nil
		}
		text, err := os.ReadFile(name)
		documents[filepath.ToSlash(name)] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return documents
}

// anchorsOf returns the anchors that GitHub generates for the headings of a document.
func anchorsOf(text string) map[string]bool {
	anchors := map[string]bool{}
	for _, m := range headings.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
		anchors[strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-', r == '_', unicode.IsLetter(r), unicode.IsDigit(r):
				return unicode.ToLower(r)
			default:
				return -1
			}
		}, m[1])] = true
	}
	return anchors
}

// The README shows the program within its first lines and stays short; the glossary is one page.
func TestFirstPagesStayShort(t *testing.T) {
	t.Parallel()
	documents := markdownFiles(t)
	readme := strings.Split(strings.TrimSuffix(documents["README.md"], "\n"), "\n")
	if len(readme) > 130 {
		t.Errorf("README.md has %d lines, want at most 130: move tables and figures to docs", len(readme))
	}
	if !strings.Contains(strings.Join(readme[:min(20, len(readme))], "\n"), "make run") {
		t.Error("README.md does not say \"make run\" within its first 20 lines")
	}
	if terms := strings.Count(documents["docs/glossary.md"], "\n| ") - 1; terms > 40 {
		t.Errorf("docs/glossary.md has %d terms, want at most 40", terms)
	}
}

// privateWords are words that readers of this field stumble over.
var privateWords = regexp.MustCompile(`(?i)\b(mend(s|ed)?|nobody|somebody|whoever|begun|anew|heed(s|ed)?|untold)\b`)

// generated pages are wrapped as their sources are.
var generated = []string{"docs/schema.md", "docs/promises.md", "docs/api-reference.md", "docs/gateway-methods.md"}

// Prose is in standard English, and wrapped so that diffs are readable.
func TestDocumentsAreWrappedAndPlain(t *testing.T) {
	t.Parallel()
	const columns = 100
	released := "docs/schema.md" // quotes comments of tables, whose migrations are released and never change
	for name, text := range markdownFiles(t) {
		prose := fenced.ReplaceAllStringFunc(text, func(block string) string { return strings.Repeat("\n", strings.Count(block, "\n")) })
		for i, line := range strings.Split(prose, "\n") {
			code := strings.HasPrefix(line, "    ")
			if m := privateWords.FindString(spans.ReplaceAllString(line, "")); m != "" && !code && name != released {
				t.Errorf("%s:%d: %q: use standard English, see docs/glossary.md", name, i+1, m)
			}
			if !code && !strings.HasPrefix(line, "|") && !slices.Contains(generated, name) && utf8.RuneCountInString(line) > columns && strings.Count(line, " ") > 4 {
				t.Errorf("%s:%d has %d columns: wrap prose at %d", name, i+1, utf8.RuneCountInString(line), columns)
			}
		}
	}
}

// Source paths in documents exist: documents are updated when packages move.
func TestDocumentsNamePathsThatExist(t *testing.T) {
	t.Parallel()
	rooms, err := filepath.Glob("[a-z]*")
	if err != nil || len(rooms) == 0 {
		t.Fatal(err)
	}
	named := regexp.MustCompile("`((?:" + strings.Join(rooms, "|") + ")/[a-z0-9_/.{},]+)`")
	// A package of the standard library, streams, what is built, and a directory of a state directory.
	others := []string{"database/sql", "config/openclaw.json", "config/patches", "bin/site", "media/inbound/"}
	for name, text := range markdownFiles(t) {
		if name == "CHANGELOG.md" { // describes earlier versions
			continue
		}
		for _, m := range named.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
			for _, path := range alternatives(m[1]) {
				if _, err := os.Stat(filepath.FromSlash(strings.TrimSuffix(path, "/"))); err != nil && !slices.Contains(others, path) {
					t.Errorf("%s names %s, which does not exist", name, path)
				}
			}
		}
	}
}

// alternatives returns the paths that a text such as replay/{asof,debugger} stands for.
func alternatives(text string) (paths []string) {
	before, rest, has := strings.Cut(text, "{")
	inner, after, closed := strings.Cut(rest, "}")
	if !has || !closed {
		return []string{text}
	}
	for _, one := range strings.Split(inner, ",") {
		paths = append(paths, alternatives(before+one+after)...)
	}
	return paths
}
