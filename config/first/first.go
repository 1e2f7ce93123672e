// Package first writes the first configuration of a state directory, from the answers to a few questions.
package first

import (
	_ "embed"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/pronto-lab/openclawd/config"
)

// Default values of the answers.
const (
	DefaultAgent       = "Main"
	DefaultGatewayPort = 18789
	DefaultAPIPort     = 3847
)

// Limits of the answers.
const (
	maxPort  = 65535
	maxAgent = 64  // characters
	maxModel = 200 // bytes
)

// Answers are what a first configuration depends on.
type Answers struct {
	Agent                string // name of the first agent
	Model                string // provider/model; "" for the script that is part of the program
	GatewayPort, APIPort int
}

// Check returns the first wrong answer as a *config.SettingError, which names the flag that gives it.
func (a *Answers) Check() error {
	for _, err := range []error{checkAgent(a.Agent), checkModel(a.Model), checkPort("--port", a.GatewayPort), checkPort("--api-port", a.APIPort)} {
		if err != nil {
			return err
		}
	}
	if a.GatewayPort == a.APIPort {
		return &config.SettingError{Setting: "--api-port", Value: strconv.Itoa(a.APIPort), Err: errors.New("the gateway uses that port"), HintText: "give each its own port"}
	}
	return nil
}

func checkAgent(name string) error {
	if strings.TrimSpace(name) == "" || utf8.RuneCountInString(name) > maxAgent || strings.ContainsFunc(name, unicode.IsControl) {
		return &config.SettingError{Setting: "--agent", Value: name, HintText: "give a name of 1 to 64 printable characters"}
	}
	return nil
}

func checkModel(model string) error {
	provider, name, whole := strings.Cut(model, "/")
	odd := func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }
	if model != "" && (!whole || provider == "" || name == "" || len(model) > maxModel || strings.ContainsFunc(model, odd)) {
		return &config.SettingError{Setting: "--model", Value: model, HintText: "give provider/model, e.g. anthropic/claude-sonnet-4-5, or leave it out: a built-in script answers"}
	}
	return nil
}

func checkPort(flag string, port int) error {
	if port < 1 || port > maxPort {
		return wrongPort(flag, strconv.Itoa(port))
	}
	return nil
}

func wrongPort(flag, value string) error {
	return &config.SettingError{Setting: flag, Value: value, HintText: "give a port from 1 to 65535"}
}

// source is the openclaw.json of a new state directory. Lines that begin with // and no space are settings to be enabled.
//
//go:embed openclaw.json5
var source string

// Text is the configuration for answers that Check accepts.
func (a *Answers) Text() (string, error) {
	agent, err := json.Marshal(a.Agent)
	if err != nil {
		return "", err
	}
	model, err := json.Marshal(a.Model)
	if err != nil {
		return "", err
	}
	comment, line := "", "model: { primary: "+string(model)+" },"
	if a.Model == "" {
		comment, line = "//", `//model: { primary: "anthropic/claude-sonnet-4-5", fallbacks: ["openai/gpt-5-mini"] },`
	}
	return strings.NewReplacer("@agent@", string(agent), "@comment@", comment, "@model@", line,
		"@port@", strconv.Itoa(a.GatewayPort), "@api-port@", strconv.Itoa(a.APIPort)).Replace(source), nil
}
