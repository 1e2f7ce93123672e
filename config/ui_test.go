package config_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/config"
)

// Viewers of Task-Hub have a name and a token of their own, that cannot be guessed.
func TestViewers(t *testing.T) {
	t.Parallel()
	const one, two = "0123456789abcdef", "fedcba9876543210"
	many := strings.Builder{}
	for n := range 101 {
		fmt.Fprintf(&many, "{name: 'v%d', token: '%s%d'},", n, one, n)
	}
	for name, c := range map[string]struct {
		text  string
		names []string
		found []string // severity, setting and message of the findings
	}{
		"none":                 {`{}`, nil, nil},
		"two":                  {`{viewers: [{name: ' 민수 ', token: '` + one + `'}, {name: 'b', token: '${TWO}'}]}`, []string{"민수", "b"}, nil},
		"no name":              {`{viewers: [{token: '` + one + `'}]}`, nil, []string{"error ui.viewers[0].name this is required"}},
		"empty name":           {`{viewers: [{name: '', token: '` + one + `'}]}`, nil, []string{"error ui.viewers[0].name this is required"}},
		"no token":             {`{viewers: [{name: 'a'}]}`, nil, []string{"error ui.viewers[0].token this is required"}},
		"short token":          {`{viewers: [{name: 'a', token: '0123456789abcde'}]}`, nil, []string{"error ui.viewers[0].token *** is shorter than 16 characters"}},
		"token in a store":     {`{viewers: [{name: 'a', token: {source: 'env', id: 'x'}}]}`, nil, []string{"error ui.viewers[0].token openclawd cannot resolve a reference to a secret store"}},
		"control character":    {`{viewers: [{name: 'a\nb', token: '` + one + `'}]}`, nil, []string{`error ui.viewers[0].name "a\nb" is no name of a viewer`}},
		"long name":            {`{viewers: [{name: '` + strings.Repeat("가", 64) + `', token: '` + one + `'}]}`, []string{strings.Repeat("가", 64)}, nil},
		"same name":            {`{viewers: [{name: 'a', token: '` + one + `'}, {name: 'A', token: '` + two + `'}]}`, []string{"a"}, []string{`error ui.viewers[1].name "A" is the name of another viewer`}},
		"same token":           {`{viewers: [{name: 'a', token: '` + one + `'}, {name: 'b', token: '` + one + `'}]}`, []string{"a"}, []string{"error ui.viewers[1].token *** is the token of a"}},
		"no list":              {`{viewers: {name: 'a'}}`, nil, []string{"error ui.viewers a list was expected, not an object"}},
		"unknown key":          {`{viewers: [{name: 'a', token: '` + one + `', role: 'admin'}], viewer: 1}`, []string{"a"}, []string{"warning ui.viewers[0].role unknown key; it has no effect", "warning ui.viewer unknown key; it has no effect"}},
		"too many":             {`{viewers: [` + many.String() + `]}`, nil, []string{`error ui.viewers[100].name "v100" is one viewer too many: at most 100`}},
		"the page of OpenClaw": {`{seamColor: '#fff', assistant: {name: 'x'}, prefs: {}}`, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "openclaw.json")
			if err := os.WriteFile(path, []byte(`{ui: `+c.text+`}`), 0o600); err != nil {
				t.Fatal(err)
			}
			loaded, findings := config.Load(path, func(name string) string { return map[string]string{"TWO": two}[name] })
			var found, names []string
			for _, f := range findings {
				found = append(found, fmt.Sprint(f.Severity, " ", f.Path, " ", f.Message))
				if strings.Contains(fmt.Sprint(f), one) {
					t.Errorf("a token is shown: %v", f)
				}
			}
			for _, v := range loaded.UI.Viewers {
				names = append(names, v.Name)
			}
			if diff := cmp.Diff(c.found, found); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if name != "too many" && !cmp.Equal(c.names, names) {
				t.Errorf("viewers %q, want %q", names, c.names)
			}
			if strings.Contains(fmt.Sprintf("%v %+v %#v", loaded.UI, loaded.UI, loaded.UI), one) {
				t.Error("a token is printed")
			}
		})
	}
}
