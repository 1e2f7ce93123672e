package main

import (
	"bytes"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// documents are the pages that show commands, by their paths from the root.
func documents(t *testing.T) map[string]string {
	t.Helper()
	root := filepath.Join("..", "..")
	pages := map[string]string{}
	err := filepath.WalkDir(filepath.Join(root, "docs"), func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && entry.Name() == "node_modules" {
			return filepath.SkipDir
		}
		if err == nil && filepath.Ext(path) == ".md" {
			pages[path] = ""
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	pages[filepath.Join(root, "README.md")], pages[filepath.Join(root, "packaging", "npm", "README.md")] = "", ""
	for path := range pages {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		pages[path] = string(text)
	}
	return pages
}

var (
	// called is a command line of openclawd in a block of code, after what may stand before it.
	called = regexp.MustCompile(`(?m)^(?:    |\s*)(?:\$ )?(?:[A-Z_]+=\S+ )*(?:sudo )?(?:-u \S+ |docker compose exec \S+ |docker exec \S+ )?(?:npx )?(?:\./bin/)?openclawd (.*)$`)
	// indented and fenced are blocks of code.
	blocks = regexp.MustCompile("(?m)(?:^```(?:sh|console|bash)?\n(?s:.*?)^```$)|(?:^    .*\n?)+")
)

// Every command line in the documents is one that the program takes: the command exists, and so do its flags.
func TestDocumentedCommandsExist(t *testing.T) {
	t.Parallel()
	found := 0
	for page, text := range documents(t) {
		for _, block := range blocks.FindAllString(text, -1) {
			for _, m := range called.FindAllStringSubmatch(block, -1) {
				found++
				words := shellWords(m[1])
				root := newRoot(&process{stdout: io.Discard, stderr: io.Discard, getenv: func(string) string { return "" }, now: time.Now})
				cmd, rest, err := root.Find(words)
				if err == nil {
					err = cmd.ParseFlags(rest)
				}
				if err == nil && !cmd.Flags().Changed("help") {
					err = cmd.ValidateArgs(cmd.Flags().Args())
				}
				if err != nil {
					t.Errorf("%s: openclawd %s: %v", page, m[1], err)
				}
			}
		}
	}
	const least = 100
	if found < least {
		t.Errorf("found only %d command lines in the documents, want at least %d", found, least)
	}
}

// shellWords splits a command line as a shell does, up to a comment, a pipe or a redirection.
func shellWords(line string) (words []string) {
	var word strings.Builder
	quote, open := rune(0), false
	end := func() {
		if open {
			words = append(words, word.String())
		}
		word.Reset()
		open = false
	}
	for _, r := range line {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			quote, open = r, true
		case r == '#' && !open, strings.ContainsRune("|<>&;\\", r):
			end()
			return words
		case r == ' ' || r == '\t':
			end()
		default:
			open = true
			word.WriteRune(r)
		}
	}
	end()
	return words
}

// The statements of the cookbook answer on the sample team, as a person would ask them.
func TestCookbookAnswers(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "sql-cookbook.md"))
	if err != nil {
		t.Fatal(err)
	}
	db := filepath.Join(t.TempDir(), "team.db")
	logs, err := filepath.Glob(filepath.Join("..", "..", "testdata", "sample", "logs", "*.ndjson"))
	if err != nil || len(logs) == 0 {
		t.Fatalf("the sample has the logs %v, %v", logs, err)
	}
	say(t, append([]string{"import", "--db", db}, logs...)...)
	statements := regexp.MustCompile("(?s)### (\\d+)\\. ([^\n]+)\n\n```sql\n(.*?)```").FindAllStringSubmatch(string(text), -1)
	const questions, answered = 30, 11 // the sample has no runs or schedules
	rows := 0
	for _, m := range statements {
		if lines := strings.Count(say(t, "sql", "--db", db, "--format", "csv", m[3]), "\n"); lines > 1 {
			rows++
		}
	}
	if len(statements) != questions || rows < answered {
		t.Errorf("%d questions, %d with rows, want %d and at least %d", len(statements), rows, questions, answered)
	}
}

// say runs a command in this process and returns what it prints.
func say(t *testing.T, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	p := &process{name: "openclawd", args: args, stdout: &out, stderr: &errs, getenv: func(string) string { return "" }, now: time.Now}
	if code := execute(t.Context(), p); code != exitOK {
		t.Fatalf("openclawd %s: code %d: %s", strings.Join(args, " "), code, &errs)
	}
	return out.String()
}
