//go:build !race

package main

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
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
	// called is the begin of a command line of openclawd in a block of code.
	called = regexp.MustCompile(`(?m)^(?:    |\s*)(?:\$ )?(?:[A-Z_]+=\S+ )*(?:sudo )?(?:-u \S+ |docker compose exec \S+ |docker exec \S+ )?(?:npx )?(?:\./bin/)?openclawd `)
	// blocks are indented or fenced.
	blocks = regexp.MustCompile("(?m)(?:^```(?:sh|console|bash)?\n(?s:.*?)^```$)|(?:^    .*\n?)+")
)

// commandsIn returns the arguments of the command lines of openclawd that a page shows.
func commandsIn(page string) (lines [][]string) {
	for _, block := range blocks.FindAllString(page, -1) {
		for _, at := range called.FindAllStringIndex(block, -1) {
			lines = append(lines, shellWords(block[at[1]:]))
		}
	}
	return lines
}

// requested is a command line of curl in an indented block.
var requested = regexp.MustCompile(`(?m)^    (curl (?:.*\\\n)*.*)$`)

// runScript is where the commands of the documents are run.
const runScript = "testdata/script/documents.txtar"

// Every command line in the documents is one that the program takes: the command exists, and so do its flags. runScript runs it; those of
// guide, which need a home of OpenClaw, have a test of their own.
func TestDocumentedCommandsExist(t *testing.T) {
	t.Parallel()
	script, err := os.ReadFile(runScript)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for page, text := range documents(t) {
		lines := commandsIn(text)
		found += len(lines)
		name := strings.TrimPrefix(filepath.ToSlash(page), "../../")
		shows := len(lines) > 0 || requested.MatchString(text)
		if run := regexp.MustCompile(`(?m)^page ` + regexp.QuoteMeta(name) + `$`); shows && page != filepath.FromSlash(guide) && !run.Match(script) {
			t.Errorf("%s shows commands and %s does not run it: add a line \"page %s\"", name, runScript, name)
		}
		for _, words := range lines {
			root := newRoot(&process{stdout: io.Discard, stderr: io.Discard, getenv: func(string) string { return "" }, now: time.Now})
			cmd, rest, err := root.Find(words)
			if err == nil {
				err = cmd.ParseFlags(rest)
			}
			if err == nil && !cmd.Flags().Changed("help") {
				err = cmd.ValidateArgs(cmd.Flags().Args())
			}
			if err != nil {
				t.Errorf("%s: openclawd %s: %v", page, strings.Join(words, " "), err)
			}
		}
	}
	const least = 100
	if found < least {
		t.Errorf("found only %d command lines in the documents, want at least %d", found, least)
	}
}

// shellWords splits a command line as a shell does, up to its end, a comment, a pipe or a redirection.
func shellWords(text string) (words []string) {
	var word strings.Builder
	quote, open := rune(0), false
	end := func() {
		if open {
			words = append(words, word.String())
		}
		word.Reset()
		open = false
	}
	for _, r := range strings.ReplaceAll(text, "\\\n", " ") {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			quote, open = r, true
		case r == '#' && !open, strings.ContainsRune("|<>&;\n", r):
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

// runPage runs the command lines of a page, in order. Those that begin with a line of the script's file exceptions/PAGE, with slashes
// as they are, are to end with the code there; with "-" they are not run, and the line says why. Words such as RUN stand for variables
// of the script, and patterns of files for what they match.
func runPage(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: page PATH, from the root of the repository")
	}
	text, err := os.ReadFile(filepath.Join(repository, filepath.FromSlash(args[0])))
	ts.Check(err)
	exceptions, wrong := exceptionsOf(ts, args[0]), []string{}
	for _, words := range commandsIn(string(text)) {
		line := strings.Join(words, " ")
		code := codeOf(exceptions, line)
		if code == "-" {
			continue
		}
		end := openclawd(ts, expandWords(ts, words))
		if strconv.Itoa(end.Code) != code {
			wrong = append(wrong, fmt.Sprintf("openclawd %s: code %d, want %s\n%s", line, end.Code, code, end.Stderr))
		}
	}
	for _, m := range requested.FindAllStringSubmatch(string(text), -1) {
		if code := codeOf(exceptions, m[1]); code == "0" {
			if err := ts.Exec("sh", "-c", toServer(ts).Replace(m[1])); err != nil {
				wrong = append(wrong, fmt.Sprintf("%s: %v", m[1], err))
			}
		}
	}
	for begin, e := range exceptions {
		if !e.met {
			wrong = append(wrong, fmt.Sprintf("no command begins with %q", begin))
		}
	}
	if len(wrong) > 0 {
		ts.Fatalf("%s: %s", args[0], strings.Join(wrong, "\n"))
	}
}

// toServer lets curl use the addresses of the script's server, and fail if it is refused.
func toServer(ts *testscript.TestScript) *strings.Replacer {
	api, gateway := ts.Getenv("API"), strings.Replace(ts.Getenv("GATEWAY"), "ws://", "http://", 1)
	return strings.NewReplacer("http://127.0.0.1:3847", api, "127.0.0.1:3847", api, "127.0.0.1:18789", gateway, "curl -s", "curl -sS --fail-with-body")
}

// codeOf is how a line is to end: what the longest of the exceptions says that it begins with.
func codeOf(exceptions map[string]*exception, line string) string {
	code, longest := "0", -1
	for begin, e := range exceptions {
		if strings.HasPrefix(line, begin) {
			e.met = true
			if len(begin) > longest {
				code, longest = e.code, len(begin)
			}
		}
	}
	return code
}

// repository is the root of the repository, absolute because scripts have directories of their own.
var repository = func() string {
	dir, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		panic(err)
	}
	return dir
}()

// exception is how a documented command ends that does not succeed where it is tested.
type exception struct {
	code string
	met  bool
}

// exceptionsOf reads lines "CODE COMMAND # why" of a page, by command.
func exceptionsOf(ts *testscript.TestScript, page string) map[string]*exception {
	found := map[string]*exception{}
	text, err := os.ReadFile(ts.MkAbs(filepath.Join(ts.Getenv("WORK"), "exceptions", filepath.FromSlash(page))))
	if os.IsNotExist(err) {
		return found
	}
	ts.Check(err)
	for line := range strings.Lines(string(text)) {
		command, why, _ := strings.Cut(strings.TrimSpace(line), " # ")
		code, command, _ := strings.Cut(command, " ")
		if command == "" || why == "" {
			ts.Fatalf("%s: %q is not \"CODE COMMAND # why\"", page, line)
		}
		found[strings.TrimSpace(command)] = &exception{code: code}
	}
	return found
}

// placeholder is a word that stands for what a reader has before him.
var placeholder = regexp.MustCompile(`^[A-Z]+$`)

func expandWords(ts *testscript.TestScript, words []string) (expanded []string) {
	for _, word := range words {
		if value := ts.Getenv(word); placeholder.MatchString(word) && value != "" {
			word = value
		}
		if strings.HasSuffix(word, ".ndjson") && strings.Contains(word, "*") {
			files, err := filepath.Glob(ts.MkAbs(word))
			ts.Check(err)
			expanded = append(expanded, files...)
			continue
		}
		expanded = append(expanded, word)
	}
	return expanded
}

// answeredBy has, for each question of the cookbook, the golden log that has an answer.
var answeredBy = map[string][]int{
	"1-imported": {2, 3, 4, 5, 6, 7, 8, 9, 26, 29, 30}, "2-sessions": {24}, "3-runs": {13, 14, 20, 21, 22, 23}, "4-flows": {25},
	"5-tasks": {10, 11, 15, 16, 17, 18, 19}, "6-continuation": {12}, "7-discord": {1, 27}, "14-schedules": {28},
}

// entry is a question of the cookbook: its number, its statement, and the answer that the page shows.
var entry = regexp.MustCompile("(?s)(### (\\d+)\\. [^\n]+\n\n```sql\n(.*?)```\n)(\n```text\n.*?```\n)?")

// Each question of the cookbook has an answer in a golden log, and the page shows its first rows.
func TestCookbookAnswers(t *testing.T) {
	t.Parallel()
	path := filepath.Join(repository, "docs", "sql-cookbook.md")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	databases, dir := map[int]string{}, t.TempDir()
	t.Run("import", func(t *testing.T) {
		for log, numbers := range answeredBy {
			db := filepath.Join(dir, log+".db")
			for _, number := range numbers {
				databases[number] = db
			}
			t.Run(log, func(t *testing.T) {
				t.Parallel()
				say(t, "import", "--db", db, filepath.Join(repository, "testdata", "golden", log+".ndjson"))
			})
		}
	})
	const shownRows = "4"
	questions := 0
	want := entry.ReplaceAllStringFunc(string(text), func(found string) string {
		m := entry.FindStringSubmatch(found)
		questions++
		if m[2] != strconv.Itoa(questions) || databases[questions] == "" {
			t.Fatalf("question %s is at place %d, with the log %q of answeredBy", m[2], questions, databases[questions])
		}
		answer := say(t, "sql", "--db", databases[questions], "--format", "table", "--limit", shownRows, m[3])
		if strings.HasSuffix(answer, "\n0 rows\n") {
			t.Errorf("question %d has no answer", questions)
		}
		return m[1] + fmt.Sprintf("\n```text\n%s```\n", withoutTrailingSpace(answer))
	})
	if questions != len(databases) {
		t.Errorf("%d questions, want %d", questions, len(databases))
	}
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if want != string(text) {
		t.Errorf("%s shows other answers (go test ./cmd/openclawd -run TestCookbook -update):\n%s", path, want)
	}
}

func withoutTrailingSpace(text string) string {
	return regexp.MustCompile(`(?m)[ \t]+$`).ReplaceAllString(strings.ToValidUTF8(text, "\uFFFD"), "")
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
