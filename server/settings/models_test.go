package settings_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/server/settings"
)

// A key that changes nothing is said, with what would make use of it.
func TestKeyWithoutAModelIsSaid(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, key, want string }{
		"no model":           {`{agents: {entries: {main: {default: true}}}}`, "GEMINI_API_KEY", "google/MODEL"},
		"no configuration":   {`{}`, "ANTHROPIC_API_KEY", "anthropic/MODEL"},
		"no key":             {`{}`, "HOME", ""},
		"a model":            {`{agents: {defaults: {model: {primary: 'anthropic/claude'}}}}`, "ANTHROPIC_API_KEY", ""},
		"a model of one":     {`{agents: {entries: {main: {default: true}, eden: {model: 'openai/gpt'}}}}`, "ANTHROPIC_API_KEY", ""},
		"the script, chosen": {`{agents: {defaults: {model: {primary: 'scripted/scripted'}}}}`, "ANTHROPIC_API_KEY", ""},
	} {
		path := filepath.Join(t.TempDir(), settings.FileName)
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		loaded, _ := config.Load(path, func(string) string { return "" })
		found := settings.CheckKeys(loaded, func(variable string) string { return map[string]string{c.key: "value"}[variable] })
		if (len(found) > 0) != (c.want != "") || len(found) > 0 && (!strings.Contains(found[0].Hint, c.want) || !strings.HasPrefix(found[0].Message, c.key+" is set")) {
			t.Errorf("%s: found %+v, want %q", name, found, c.want)
		}
	}
}
