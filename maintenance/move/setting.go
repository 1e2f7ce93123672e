package move

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/pronto-lab/openclawd/config"
)

// Setting is the change of openclaw.json that makes a node use another log.
type Setting struct {
	File    string `json:"config"`
	Text    string `json:"setting"` // without user and password
	Written bool   `json:"written"`

	document *config.Document
	patch    string
}

// NewSetting returns the change for a shared log, or for the file of the node if url is "". token is for nodes, if the
// file has none yet.
func NewSetting(document *config.Document, url string, relaxed bool, token string) *Setting {
	s := &Setting{File: document.Path(), document: document, patch: `{"cluster": null}`, Text: "remove cluster"}
	if url == "" {
		return s
	}
	set := map[string]any{"log": url}
	s.Text = `cluster.log: the URL that was given as --to`
	if relaxed {
		set["durability"] = "relaxed"
		s.Text += "; cluster.durability: relaxed"
	}
	if !document.Config().SharedLog().HasToken {
		set["token"] = token
		s.Text += "; cluster.token: a secret of at least 16 characters, the same on all nodes"
	}
	var patch strings.Builder
	to := json.NewEncoder(&patch)
	to.SetEscapeHTML(false)
	if err := to.Encode(map[string]any{"cluster": set}); err != nil {
		panic(err) // texts can be encoded
	}
	s.patch = patch.String()
	return s
}

// UnwrittenError is returned if the log has moved and the configuration could not be changed.
type UnwrittenError struct {
	Setting *Setting
	Err     error
}

func (e *UnwrittenError) Error() string {
	return fmt.Sprintf("the log was copied, but %s could not be changed: %v", e.Setting.File, e.Err)
}
func (e *UnwrittenError) Unwrap() error { return e.Err }
func (e *UnwrittenError) Code() string  { return "config_not_written" }
func (e *UnwrittenError) Hint() string {
	return "change it by hand before any server starts: " + e.Setting.Text
}

// Write changes the file, unless it says so already.
func (s *Setting) Write(context.Context) error {
	next, _, err := s.document.Patch(s.patch)
	if err == nil && next.Changed() {
		if err = next.Write(nil); err == nil {
			err = config.Settle(s.File)
		}
	}
	if err != nil {
		return &UnwrittenError{s, err}
	}
	s.Written = true
	return nil
}
