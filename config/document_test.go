package config_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/pronto-lab/openclawd/config"
)

func noVariables(string) string { return "" }

// document reads a file of this text.
func document(t *testing.T, text string) *config.Document {
	t.Helper()
	return config.ReadDocument(files(t, map[string]string{"openclaw.json": text}), noVariables)
}

func rawOf(t *testing.T, d *config.Document) string {
	t.Helper()
	raw, ok := d.Raw()
	if !ok {
		t.Fatal("the text is withheld")
	}
	return raw
}

// spelled writes a text as JSON5 in one of the ways that there are.
func spelled(t *rapid.T, s string) string {
	quote := rapid.SampledFrom([]string{`"`, `'`}).Draw(t, "quote")
	var b strings.Builder
	b.WriteString(quote)
	for _, c := range []byte(s) { // of ASCII
		switch rapid.IntRange(0, 9).Draw(t, "spelling") {
		case 0:
			fmt.Fprintf(&b, `\x%02x`, c)
		case 1:
			fmt.Fprintf(&b, `\u%04X`, c)
		case 2:
			fmt.Fprintf(&b, `\u{%x}`, c)
		case 3:
			b.WriteString("\\\n" + string(c))
		default:
			b.WriteByte(c)
		}
	}
	return b.String() + quote
}

// Whatever is in the file, and however it is written, nothing that a client is shown holds a secret.
func TestDocumentShowsNoSecret(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "openclaw.json")
	more := []string{
		"{gateway: {auth: {token: %s, token: 'the-last-one'}}}", // the one before counts for nothing, and is one nevertheless
		"{gateway: {auth: {token: %s}}, // and %[2]s once more\n x: [1, 2 /* %[2]s */]}",
		"// token: '%[2]s'\n{/* gateway: {auth: {password: %[1]s}} */}",
		"{x: 'see %[2]s', gateway: {auth: {token: %[1]s}}}",
		"{hooks: {tokens: [%s, {deep: [%[1]s]}]}, mcp: {env: {A: %[1]s}, headers: {B: %[1]s}}}",
		"{gateway: {auth: {token: %s}}, x: {$include: 'more.json'}}",
		"{gateway: {conversationSinks: [{id: 'webhook', options: {url: %s, url: 'https://hooks.example'}, options: {url: %[1]s}}]}}",
		"{gateway: {auth: {token: %s, mode: 'nonsense'}, port: %[1]s}, session: {dmScope: %[1]s}}",
	}
	rapid.Check(t, func(t *rapid.T) {
		secret := rapid.StringMatching(`[A-Za-z][A-Za-z0-9_-]{7,40}`).Draw(t, "secret")
		place := rapid.SampledFrom(append(more, secretPlaces...)).Draw(t, "place")
		text := place
		if strings.Contains(place, "%") {
			text = fmt.Sprintf(place+"%.0[2]s", spelled(t, secret), secret)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		d := config.ReadDocument(path, func(string) string { return secret })
		for name, s := range seenOf(t, d, secret) {
			if strings.Contains(s, secret) || strings.Contains(s, fmt.Sprintf("%q", secret)) {
				t.Fatalf("%s shows %q of %s: %s", name, secret, text, s)
			}
		}
	})
}

// seenOf is everything that a client may be told of a file, refusals and what they name included.
func seenOf(t *rapid.T, d *config.Document, secret string) map[string]string {
	issues, err := json.Marshal([][]config.Issue{d.Issues(config.Error), d.Issues(config.Warning)})
	if err != nil {
		t.Fatal(err)
	}
	raw, _ := d.Raw()
	seen := map[string]string{"raw": raw, "parsed": string(d.Parsed()), "resolved": string(d.Resolved()), "issues": string(issues)}
	for name, edit := range map[string]func() (*config.Document, []string, error){
		"patch": func() (*config.Document, []string, error) {
			return d.Patch(`{note: 1, gateway: {port: 1, auth: null}}`)
		},
		"bad":     func() (*config.Document, []string, error) { return d.Patch(`{gateway: {mode: 'nowhere'}}`) },
		"replace": func() (*config.Document, []string, error) { return d.Replace(raw) },
		"new":     func() (*config.Document, []string, error) { return d.Replace(`{agents: 7}`) },
	} {
		next, changed, err := edit()
		seen[name+" error"], seen[name+" changed"] = fmt.Sprint(err), strings.Join(changed, " ")
		if next != nil {
			raw, _ := next.Raw()
			seen[name+" raw"], seen[name+" resolved"] = raw, string(next.Resolved())
		}
	}
	return seen
}

func TestRawKeepsEverythingElse(t *testing.T) {
	t.Parallel()
	const text = "\ufeff// the team\n{\n  gateway: {auth: {token: 'hunter2hunter2'}}, hooks: {password: 1234567}, // not hunter2hunter2\n" +
		"  models: {providers: {x: {apiKey: \"${KEY}\", maxTokens: 5}}},\n  note: 'as hunter2hunter2 said',\n  /* password: 'of-another-time' */\n}\n"
	path := files(t, map[string]string{"openclaw.json": text})
	d := config.ReadDocument(path, func(string) string { return "of-the-environment" })
	want := "\ufeff// the team\n{\n  gateway: {auth: {token: '__OPENCLAW_REDACTED__'}}, hooks: {password: \"__OPENCLAW_REDACTED__\"}, " +
		"// not __OPENCLAW_REDACTED__\n" +
		"  models: {providers: {x: {apiKey: \"${KEY}\", maxTokens: 5}}},\n  note: '__OPENCLAW_REDACTED__',\n  /* password: '***' */\n}\n"
	raw := rawOf(t, d)
	if diff := cmp.Diff(want, raw); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if got := string(d.Parsed()); !strings.Contains(got, `"apiKey":"${KEY}"`) || strings.Contains(got, "hunter2") {
		t.Errorf("parsed %s", got)
	}
	if got := string(d.Resolved()); !strings.Contains(got, `"apiKey":"__OPENCLAW_REDACTED__"`) {
		t.Errorf("resolved %s", got)
	}

	// Sent back as it was shown, it is what it was, to the byte.
	next, changed, err := d.Replace(raw)
	if err != nil || next.Hash() != d.Hash() || next.Changed() || len(changed) > 0 {
		t.Errorf("%v, changed %q", err, changed)
	}
	next, changed, err = d.Replace(strings.Replace(raw, "maxTokens: 5", "maxTokens: 6", 1))
	if err != nil || next.Config().Gateway.Auth.Token != "hunter2hunter2" || !slices.Equal(changed, []string{"models.providers.x.maxTokens"}) {
		t.Errorf("%v, changed %q", err, changed)
	}
}

// What a client was shown and sends back changes nothing, wherever secrets stand.
func TestReplaceWithRawIsTheFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "openclaw.json")
	rapid.Check(t, func(t *rapid.T) {
		secret := rapid.StringMatching(`[A-Za-z][A-Za-z0-9_-]{7,40}`).Draw(t, "secret")
		text := fmt.Sprintf("{gateway: {auth: {token: %s}}, // %[2]s\n/*a*/ hooks: {list: [{token: %[1]s, x: 1}, "+
			"{token: %[3]s, x: 2}, %[1]s]}, // %[2]s\n z: 1}",
			spelled(t, secret), secret, spelled(t, secret+"2"))
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		d := config.ReadDocument(path, noVariables)
		raw, ok := d.Raw()
		if !ok {
			return // something of it is a secret across what the reader takes apart
		}
		next, changed, err := d.Replace(raw)
		if err != nil || next.Hash() != d.Hash() || len(changed) > 0 {
			t.Fatalf("%v, changed %q, of %s shown as %s", err, changed, text, raw)
		}
	})
}

func TestPlaceholderIsTheStoredSecret(t *testing.T) {
	t.Parallel()
	const file = `{gateway: {auth: {token: 'hunter2hunter2'}}, hooks: {tokens: ['first-token', 'second-token'],
		list: [{url: 'a', token: 'token-of-a'}, {url: 'b', token: 'token-of-b'}]},
		agents: {list: [{id: 'eden', secret: 'of-eden-1'}, {id: 'seum', secret: 'of-seum-1'}]}}`
	const p = config.Redacted
	for _, tt := range []struct{ name, patch, text, refused string }{
		{"kept", `{gateway: {auth: {token: '` + p + `', mode: 'token'}}}`, `token: 'hunter2hunter2', mode: 'token'`, ""},
		{"of an entry with an id", `{agents: {list: [{id: 'seum', secret: '` + p + `', name: 'S'}]}}`, `secret: 'of-seum-1', name: 'S'`, ""},
		{"of entries that changed places", `{hooks: {list: [{url: 'b', token: '` + p + `'}, {url: 'a', token: '` + p + `'}]}}`,
			`[{url: 'b', token: 'token-of-b'}, {url: 'a', token: 'token-of-a'}]`, ""},
		{"of one that is left", `{hooks: {list: [{url: 'b', token: '` + p + `'}]}}`, `list: [{url: 'b', token: 'token-of-b'}]`, ""},
		{"of the same places", `{hooks: {tokens: ['` + p + `', 'third-token']}}`, "tokens: ['first-token', 'third-token']", ""},
		{"of fewer", `{hooks: {tokens: ['` + p + `']}}`, "", "hooks.tokens[0]: it is unknown which entry"},
		{"of nothing", `{gateway: {auth: {password: '` + p + `'}}}`, "", "gateway.auth.password: there is no stored value"},
		{"of an object", `{gateway: {auth: '` + p + `'}}`, "", "gateway.auth: there is no stored value"},
		{"within a text", `{gateway: {auth: {token: 'x` + p + `'}}}`, "", "gateway.auth.token: " + p + " is a part"},
		{"a key", `{'` + p + `': 1}`, "", "a key is " + p},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := document(t, file)
			next, _, err := d.Patch(tt.patch)
			var edit *config.EditError
			switch {
			case tt.refused != "":
				if !errors.As(err, &edit) || !strings.HasPrefix(err.Error(), tt.refused) {
					t.Errorf("%v", err)
				}
				return
			case err != nil:
				t.Fatal(err)
			}
			text := written(t, next)
			if !strings.Contains(text, tt.text) || strings.Contains(text, p) {
				t.Errorf("%s", text)
			}
		})
	}
}

// written puts a document in its place and reads the file.
func written(t *testing.T, d *config.Document) string {
	t.Helper()
	if err := errors.Join(d.Write([]byte("{}")), config.Settle(d.Path())); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(d.Path())
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestPatchLeavesIncludedFilesAlone(t *testing.T) {
	t.Parallel()
	content := map[string]string{
		"openclaw.json": `{$include: 'base.json5', gateway: {port: 3}, agents: {list: {$include: 'agents.json'}, defaults: {$include: 'defaults.json'}}}`,
		"base.json5":    `{gateway: {bind: 'lan', auth: {token: 'of-the-base-file'}}, tools: {agentToAgent: {enabled: true}}}`,
		"agents.json":   `[{id: 'eden'}]`, "defaults.json": `{maxConcurrent: 2}`,
	}
	for _, tt := range []struct{ patch, refused string }{
		{`{gateway: {port: 4, mode: 'local'}}`, ""},
		{`{session: {}}`, ""},
		{`{tools: {agentToAgent: {enabled: true}}}`, ""}, // it says so already
		{`{gateway: {auth: {token: '` + config.Redacted + `'}, port: 5}}`, ""},
		{`{tools: {agentToAgent: {enabled: false}}}`, "tools.agentToAgent.enabled: this is set in "},
		{`{gateway: {bind: null}}`, "gateway.bind: this is set in "},
		{`{gateway: null}`, "gateway.bind: an included file sets this too"},
		{`{agents: {list: [{id: 'eden', name: 'E'}]}}`, "agents.list: this is set in "},
		{`{agents: {defaults: {maxConcurrent: 3}}}`, "agents.defaults.maxConcurrent: this is set in "},
		{`{agents: {defaults: {timeoutSeconds: 3}}}`, ""},
		{`{x: {$include: 'base.json5'}}`, "x.$include: a patch cannot include"},
		{`{$include: null}`, "$include: a patch cannot include"},
	} {
		path := files(t, content)
		before := config.ReadDocument(path, noVariables)
		next, _, err := before.Patch(tt.patch)
		if tt.refused != "" {
			if err == nil || !strings.HasPrefix(err.Error(), tt.refused) {
				t.Errorf("%s: %v", tt.patch, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", tt.patch, err)
			continue
		}
		text := written(t, next)
		if !strings.HasPrefix(text, `{$include: 'base.json5', gateway: {port: `) || strings.Contains(text, "of-the-base-file") ||
			strings.Contains(text, config.Redacted) {
			t.Errorf("%s: %s", tt.patch, text)
		}
	}
}

func TestPatchIsNotWrittenUnlessItLoads(t *testing.T) {
	t.Parallel()
	d := document(t, `{gateway: {port: 3}}`)
	_, _, err := d.Patch(`{gateway: {port: 'x', mode: 'y'}, nope: 1}`)
	var invalid *config.InvalidError
	if !errors.As(err, &invalid) || len(invalid.Issues) != 2 || invalid.Issues[0].Path != "gateway.port" || invalid.Issues[1].Path != "gateway.mode" {
		t.Errorf("%v", err)
	}
	for raw, refused := range map[string]string{
		`[]`: "must be an object", `'x'`: "must be an object", `{`: "not JSON5: 1:2: ", ``: "not JSON5: 1:1: ",
		`{a: hunter2}`:                    "not JSON5: 1:5: found a word",
		strings.Repeat(" ", 4<<20) + "{}": "the text is larger than 4 MiB",
		strings.Repeat("{a:", 201) + "1" + strings.Repeat("}", 201):             "not JSON5: ",
		`{agents: {list: [{id: 'a'}, {id: 'a'}]}}`:                              "invalid config",
		`{a: {b: ` + strings.Repeat("[", 199) + strings.Repeat("]", 199) + `}}`: "not JSON5: ",
	} {
		if _, _, err := d.Patch(raw); err == nil || !strings.HasPrefix(err.Error(), refused) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%.40s: %v", raw, err)
		}
	}
	big := document(t, `{x: '`+strings.Repeat("x", 4<<20-20)+`'}`)
	if _, _, err := big.Patch(`{y: '` + strings.Repeat("y", 100) + `'}`); err == nil {
		t.Error("a file of more than 4 MiB was made")
	}
}

func TestPatchRepairsAnInvalidFile(t *testing.T) {
	t.Parallel()
	d := document(t, "{\n  gateway: {port: 'x', auth: {token: 'hunter2hunter2'}}, // a slip\n}")
	if issues := d.Issues(config.Error); len(issues) != 1 || issues[0].Path != "gateway.port" {
		t.Errorf("%+v", issues)
	}
	next, changed, err := d.Patch(`{gateway: {port: 1}}`)
	if err != nil || !slices.Equal(changed, []string{"gateway.port"}) {
		t.Fatalf("%q, %v", changed, err)
	}
	if got := written(t, next); got != "{\n  gateway: {port: 1, auth: {token: 'hunter2hunter2'}}, // a slip\n}" {
		t.Errorf("%s", got)
	}

	broken := document(t, `{gateway: {auth: {token: 'hunter2hunter2'`)
	if raw, ok := broken.Raw(); ok || string(broken.Parsed()) != "{}" || len(broken.Issues(config.Error)) != 1 {
		t.Errorf("of what is not JSON5 this is shown: %q, %s", raw, broken.Parsed())
	}
	var edit *config.EditError
	if _, _, err := broken.Patch(`{gateway: {port: 1}}`); !errors.As(err, &edit) {
		t.Errorf("merged into what is not JSON5: %v", err)
	}
	if next, _, err := broken.Replace("{}"); err != nil || written(t, next) != "{}" {
		t.Errorf("it cannot be replaced: %v", err)
	}
}

func TestPatchMakesAFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "openclaw.json")
	d := config.ReadDocument(path, noVariables)
	if _, ok := d.Raw(); ok || d.Exists() || d.Hash() != "" || string(d.Resolved()) != "{}" {
		t.Errorf("there is something where nothing is: %+v", d)
	}
	next, changed, err := d.Patch(`{gateway: {port: 1}}`)
	if err != nil || !slices.Equal(changed, []string{"gateway.port"}) || next.BaseHash() != "" {
		t.Fatalf("%q, %v", changed, err)
	}
	if got := written(t, next); got != "{\n  \"gateway\": {\n    \"port\": 1\n  }\n}\n" {
		t.Errorf("%s", got)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

func TestWriteReplacesTheFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	target, link := filepath.Join(dir, "real", "team.json"), filepath.Join(dir, "openclaw.json")
	if err := errors.Join(os.Mkdir(filepath.Dir(target), 0o700), os.WriteFile(target, []byte("{a: 1}"), 0o640), os.Chmod(target, 0o640),
		os.Symlink("real/team.json", link)); err != nil {
		t.Fatal(err)
	}
	next, _, err := config.ReadDocument(link, noVariables).Patch("{a: 2}")
	if err != nil {
		t.Fatal(err)
	}
	if got := written(t, next); got != "{a: 2}" {
		t.Error(got)
	}
	info, err := os.Stat(target)
	if isLink, _ := os.Lstat(link); err != nil || isLink.Mode()&fs.ModeSymlink == 0 || info.Mode().Perm() != 0o640 {
		t.Errorf("%v, the link is %v, %v", info.Mode(), isLink.Mode(), err)
	}
	wantFiles(t, filepath.Dir(target), "team.json", "team.json.bak")
	before, err := os.ReadFile(target + ".bak")
	if info, statErr := os.Stat(target + ".bak"); string(before) != "{a: 1}" || info.Mode().Perm() != 0o600 {
		t.Errorf("%s %v %v", before, info.Mode(), errors.Join(err, statErr))
	}

	// It is written once: the file is another one now.
	if err := next.Write(nil); !errors.Is(err, config.ErrChanged) {
		t.Errorf("%v", err)
	}
	wantFiles(t, filepath.Dir(target), "team.json", "team.json.bak")
	if err := os.Remove(target); err != nil {
		t.Fatal(err)
	}
	if err := next.Write(nil); err == nil {
		t.Error("a link that leads nowhere was written")
	}
}

func wantFiles(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if !slices.Equal(names, want) {
		t.Errorf("there are %q", names)
	}
}

func TestWriteRefusesAFileThatChanged(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(path string) error{
		"other text": func(path string) error { return os.WriteFile(path, []byte("{a: 3}"), 0o600) },
		"gone":       os.Remove,
		"a directory": func(path string) error {
			return errors.Join(os.Remove(path), os.Mkdir(path, 0o700))
		},
	} {
		d := document(t, "{a: 1}")
		next, _, err := d.Patch("{a: 2}")
		if err := errors.Join(err, change(d.Path())); err != nil {
			t.Fatal(err)
		}
		if err := next.Write([]byte("{}")); err == nil {
			t.Errorf("%s: written", name)
		}
		if note, _, err := config.Unsettled(d.Path()); note != nil || err != nil {
			t.Errorf("%s: %s is left, %v", name, note, err)
		}
	}
	absent := config.ReadDocument(filepath.Join(t.TempDir(), "openclaw.json"), noVariables)
	next, _, err := absent.Patch("{a: 2}")
	if err := errors.Join(err, os.WriteFile(absent.Path(), []byte("{}"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := next.Write(nil); !errors.Is(err, config.ErrChanged) {
		t.Errorf("a file that came meanwhile: %v", err)
	}
}

// After a crash it is known whether the change was made, whatever happened to the file since.
func TestUnsettledReportsWhatWasDone(t *testing.T) {
	t.Parallel()
	d := document(t, "{a: 1}")
	next, _, err := d.Patch("{a: 2}")
	if err != nil {
		t.Fatal(err)
	}
	if err := next.Write([]byte("what happened")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(d.Path(), []byte("{a: 3}"), 0o600); err != nil {
		t.Fatal(err)
	}
	note, done, err := config.Unsettled(d.Path())
	if string(note) != "what happened" || !done || err != nil {
		t.Errorf("after the rename: %q %t %v", note, done, err)
	}
	again, _, err := config.ReadDocument(d.Path(), noVariables).Patch("{a: 4}")
	if err := errors.Join(err, again.Write(nil)); !errors.Is(err, config.ErrUnsettled) {
		t.Errorf("the next change would have lost it: %v", err)
	}
	if err := config.Settle(d.Path()); err != nil {
		t.Fatal(err)
	}

	// As it is between the note and the rename.
	dir := filepath.Dir(d.Path())
	for name, text := range map[string]string{".openclaw.json.note": "what did not happen", ".openclaw.json.new": "{a: 5}"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	note, done, err = config.Unsettled(d.Path())
	if string(note) != "what did not happen" || done || err != nil {
		t.Errorf("before the rename: %q %t %v", note, done, err)
	}
	if err := config.Settle(d.Path()); err != nil {
		t.Fatal(err)
	}
	wantFiles(t, dir, "openclaw.json", "openclaw.json.bak")
	if note, done, err = config.Unsettled(d.Path()); note != nil || done || err != nil {
		t.Errorf("settled: %q %t %v", note, done, err)
	}
}

// What a Write leaves that is killed before there is a note holds secrets, and goes.
func TestSettleRemovesWhatWasCutOff(t *testing.T) {
	t.Parallel()
	path := files(t, map[string]string{"openclaw.json": "{a: 1}", ".openclaw.json.new": "{a:", ".openclaw.json.bak.new": ""})
	if note, _, err := config.Unsettled(path); note != nil || err != nil {
		t.Errorf("%q, %v", note, err)
	}
	if err := config.Settle(path); err != nil {
		t.Error(err)
	}
	wantFiles(t, filepath.Dir(path), "openclaw.json")

	nowhere := filepath.Join(t.TempDir(), "openclaw.json")
	if err := os.Symlink("nothing", nowhere); err != nil {
		t.Fatal(err)
	}
	for range 2 { // a link that leads nowhere, then not even that
		note, _, err := config.Unsettled(nowhere)
		if err = errors.Join(err, config.Settle(nowhere)); note != nil || err != nil {
			t.Errorf("%q, %v", note, err)
		}
		_ = os.Remove(nowhere)
	}
}

// What cannot be written leaves the file, and nothing else, as it was.
func TestWriteThatFailsChangesNothing(t *testing.T) {
	t.Parallel()
	for _, inTheWay := range []string{".openclaw.json.bak.new", ".openclaw.json.new", "openclaw.json.bak"} {
		d := document(t, "{a: 1}")
		dir := filepath.Dir(d.Path())
		if err := os.MkdirAll(filepath.Join(dir, inTheWay, "x"), 0o700); err != nil {
			t.Fatal(err)
		}
		next, _, err := d.Patch("{a: 2}")
		if err != nil {
			t.Fatal(err)
		}
		if err := next.Write([]byte("{}")); err == nil {
			t.Errorf("%s: written", inTheWay)
		}
		if note, _, err := config.Unsettled(d.Path()); note != nil || err != nil || config.ReadDocument(d.Path(), noVariables).Hash() != d.Hash() {
			t.Errorf("%s: %s is left, %v", inTheWay, note, err)
		}
		if inTheWay != ".openclaw.json.new" {
			wantFiles(t, dir, slices.Sorted(slices.Values([]string{inTheWay, "openclaw.json"}))...)
		}
	}
}

// How files begin, end and are spelled is kept by a patch, and what is told of it can be read.
func TestPatchTakesFilesAsTheyAre(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ before, patch, after, changed string }{
		{"\ufeff{\r\n\t'a': 0x10,\r\n}", "\ufeff{b: 'x'}", "\ufeff{\r\n\t'a': 0x10,\r\n\t'b': \"x\",\r\n}", "b"},
		{"// one\n/* two */ { // three\n} // four", "{a: 1}", "// one\n/* two */ { // three\n  \"a\": 1\n} // four", "a"},
		{"{x: {'a.b': 1, '이름': 2}}", `{x: {'a.b': 3, "이름": 4}}`, "{x: {'a.b': 3, '이름': 4}}", `x["a.b"] x.이름`},
		{"{__proto__: {a: 1}}", `{"__proto__": {a: 2}, constructor: null}`, "{__proto__: {a: 2}}", "__proto__.a"},
		{"{l: [{id: 'a', x: 1}, {id: 'a', x: 2}]}", "{l: [{id: 'a', x: 3}]}", "{l: [{id: 'a', x: 3}, {id: 'a', x: 2}]}", "l[0].x"},
		{"{a: .5, b: +1000}", "{a: 0.5, b: 0x3e8}", "{a: .5, b: +1000}", ""},
	} {
		next, changed, err := document(t, tt.before).Patch(tt.patch)
		if err != nil {
			t.Errorf("%q with %q: %v", tt.before, tt.patch, err)
			continue
		}
		if got := written(t, next); got != tt.after || strings.Join(changed, " ") != tt.changed {
			t.Errorf("%q with %q became %q, changed %q", tt.before, tt.patch, got, changed)
		}
	}
	for _, text := range []string{"", " \n", "// nothing but this\n", "\ufeff", "[]"} {
		d := document(t, text)
		var edit *config.EditError
		if _, _, err := d.Patch("{a: 1}"); !errors.As(err, &edit) || edit.Hint != "replace all of it" {
			t.Errorf("%q: %v", text, err)
		}
		if next, _, err := d.Replace("{a: 1}"); err != nil || written(t, next) != "{a: 1}" {
			t.Errorf("%q cannot be replaced: %v", text, err)
		}
	}
}

// However many and long the keys of a patch are, what is told of them stays short.
func TestChangedPathsAreBounded(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("{'"+strings.Repeat("\u2028k", 50)+"':", 150)
	_, changed, err := document(t, "{}").Patch(deep + "1" + strings.Repeat("}", 150))
	if err != nil || len(changed) != 1 || len(changed[0]) > 1300 {
		t.Errorf("%d, %v", len(changed[0]), err)
	}
}
