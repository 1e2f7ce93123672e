package shell

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/peterh/liner"
)

// HistoryName is the history file in a state directory.
const HistoryName = "openclawd-sql.history"

// Terminal reads lines from the terminal of the process.
type Terminal struct {
	state   *liner.State
	history string
}

// OpenTerminal takes over the terminal until Close. history is a file, "" for none; words are the completions.
func OpenTerminal(history string, words []string) *Terminal {
	t := &Terminal{state: liner.NewLiner(), history: history}
	t.state.SetCtrlCAborts(true)
	t.state.SetTabCompletionStyle(liner.TabPrints)
	t.state.SetWordCompleter(func(line string, pos int) (string, []string, string) { return Complete(words, line, pos) })
	if f, err := os.Open(history); err == nil {
		_, _ = t.state.ReadHistory(f) // an unreadable history is ignored
		_ = f.Close()
	}
	return t
}

// Line implements Lines.
func (t *Terminal) Line(prompt string) (string, error) {
	line, err := t.state.Prompt(prompt)
	if errors.Is(err, liner.ErrPromptAborted) {
		return "", ErrAborted
	}
	if errors.Is(err, io.EOF) {
		fmt.Println()
	}
	return line, err
}

// Remember implements Lines.
func (t *Terminal) Remember(line string) { t.state.AppendHistory(line) }

// Close restores the terminal and saves the history, readable by its owner only.
func (t *Terminal) Close() error {
	err := t.state.Close()
	if t.history == "" {
		return err
	}
	if _, missing := os.Stat(filepath.Dir(t.history)); errors.Is(missing, fs.ErrNotExist) {
		return err // no directory is created just for the history
	}
	f, opening := os.OpenFile(t.history, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if opening != nil {
		return errors.Join(err, fmt.Errorf("save the history: %w", opening))
	}
	_, writing := t.state.WriteHistory(f)
	return errors.Join(err, f.Chmod(0o600), writing, f.Close())
}
