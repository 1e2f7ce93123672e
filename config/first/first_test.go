package first_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/config/first"
)

func standard() first.Answers {
	return first.Answers{Agent: first.DefaultAgent, GatewayPort: first.DefaultGatewayPort, APIPort: first.DefaultAPIPort}
}

func noFlag(string) bool { return false }

// written writes a configuration and reads it as the server does.
func written(t *testing.T, a first.Answers) *config.Config {
	t.Helper()
	text, err := a.Text()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "team", "openclaw.json")
	if kept, err := first.Write(path, text, false); err != nil || kept != "" {
		t.Fatalf("kept %q, %v", kept, err)
	}
	loaded, findings := config.Load(path, func(string) string { return "" })
	if len(findings) > 0 {
		t.Errorf("findings: %+v\n%s", findings, text)
	}
	return loaded
}

func TestConfigurationSaysTheAnswers(t *testing.T) {
	t.Parallel()
	a := first.Answers{Agent: `Eden "the" @port@`, Model: "openai/gpt-5-mini", GatewayPort: 1234, APIPort: 1235}
	got := written(t, a)
	if len(got.Agents) != 1 || got.Agents[0].Name != a.Agent || got.ModelFor("main").Primary != a.Model || got.Gateway.Port != 1234 {
		t.Errorf("it says %+v, model %v, port %d", got.Agents, got.ModelFor("main"), got.Gateway.Port)
	}
	if got := written(t, standard()); got.Defaults.Model.Primary != "" {
		t.Errorf("without an answer the model is %v", got.Defaults.Model)
	}
}

func TestQuestionsAreRepeatedUntilTheAnswerCanBeUsed(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	got, err := first.Ask(t.Context(), strings.NewReader("Eden\nclaude\nanthropic/claude\n0\nabc\n\n18789\n4000\n"), &out, standard(), noFlag)
	want := first.Answers{Agent: "Eden", Model: "anthropic/claude", GatewayPort: first.DefaultGatewayPort, APIPort: 4000}
	if err != nil || got != want {
		t.Errorf("got %+v, %v, want %+v; it said\n%s", got, err, want, &out)
	}
	for _, part := range []string{`--model: bad value "claude"; give provider/model`, `--port: bad value "0"`, `--port: bad value "abc"; give a port from 1 to 65535`, "the gateway uses that port", "Port of the gateway [18789]: "} {
		if !strings.Contains(out.String(), part) {
			t.Errorf("it did not say %q:\n%s", part, &out)
		}
	}
}

func TestFlagsAnswerQuestions(t *testing.T) {
	t.Parallel()
	a := standard()
	a.Model = "ollama/qwen3"
	got, err := first.Ask(t.Context(), strings.NewReader("\n\n\n"), io.Discard, a, func(flag string) bool { return flag == "model" })
	if err != nil || got != a {
		t.Errorf("got %+v, %v, want %+v", got, err, a)
	}
	if _, err := first.Ask(t.Context(), strings.NewReader("Eden\n"), io.Discard, a, noFlag); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("at the end of the input the error is %v", err)
	}
}

// Ctrl-C ends a question that no one answers.
func TestQuestionEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	in, typing := io.Pipe()
	defer typing.Close()
	asked, ended := make(chan struct{}, 1), make(chan error, 1)
	go func() {
		_, err := first.Ask(ctx, in, writer(func(p []byte) (int, error) { asked <- struct{}{}; return len(p), nil }), standard(), noFlag)
		ended <- err
	}()
	<-asked
	stop()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("it ended with %v", err)
	}
}

type writer func(p []byte) (int, error)

func (w writer) Write(p []byte) (int, error) { return w(p) }

func TestWrongAnswers(t *testing.T) {
	t.Parallel()
	for flag, change := range map[string]func(*first.Answers){
		"--agent": func(a *first.Answers) { a.Agent = " " }, "--model": func(a *first.Answers) { a.Model = "a b/c" },
		"--port": func(a *first.Answers) { a.GatewayPort = 70000 }, "--api-port": func(a *first.Answers) { a.APIPort = a.GatewayPort },
	} {
		a := standard()
		change(&a)
		if wrong := (*config.SettingError)(nil); !errors.As(a.Check(), &wrong) || wrong.Setting != flag || wrong.HintText == "" {
			t.Errorf("%s: the error is %v", flag, a.Check())
		}
	}
}

func TestConfigurationIsNeverLost(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "openclaw.json")
	if err := os.WriteFile(path, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := first.Write(path, "new", false); !errors.Is(err, fs.ErrExist) {
		t.Errorf("the error is %v", err)
	}
	kept, err := first.Write(path, "new", true)
	if err != nil || kept != path+".bak" {
		t.Fatalf("kept %q, %v", kept, err)
	}
	for file, want := range map[string]string{path: "new", kept: "mine"} {
		if got, err := os.ReadFile(file); err != nil || string(got) != want {
			t.Errorf("%s holds %q, %v, want %q", file, got, err, want)
		}
	}
}
