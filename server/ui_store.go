package server

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/pronto-lab/openclawd/internal/durable"
	"github.com/pronto-lab/openclawd/ui"
)

// uiStoreName is the file in the state directory with what Task-Hub keeps for all who use it.
const uiStoreName = "openclawd-ui-store.json"

// uiStore is that file.
type uiStore struct{ path string }

func (s uiStore) Read() ([]byte, error) {
	f, err := os.Open(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, ui.MaxStore+1))
	if err == nil && len(text) > ui.MaxStore {
		err = fmt.Errorf("%s has more than %d bytes", s.path, ui.MaxStore)
	}
	return text, err
}

func (s uiStore) Write(text []byte) error { return durable.ReplaceBytes(s.path, 0o600, text) }
